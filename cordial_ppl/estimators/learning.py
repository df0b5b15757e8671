"""Learning a prior: every channel is fitted to all labels of every task and reader."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cordial_ppl.channels import AFFINE_CHANNELS
from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.checks import check_list
from cordial_ppl.data.labelled import Labelled, label_readings
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, count, list_names, naming, warn
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.priors.fits import (
    LearnedChannel,
    Rule,
    TaskFit,
    check_powers,
    reading_spread,
)
from cordial_ppl.inference.priors.learned import LearnedPrior, check_tasks
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.runtime.progress import doing

MOST_LABELS = 2048
"""Labels that a task is fitted to at most: more would hardly make its parameters more certain."""

FEWEST_LABELS = 20
"""Labels below which a task's fit leans too much on the prior in the channel's file."""

STEEPEST = 1e-4
"""Largest component of the whitened gradient at a mode."""

SHOWN = 5
"""Parameters that are described: those whose prior moves most."""


def learn_prior(
    tasks: Mapping[Any, Any] | Iterable[Any],
    *,
    channels: Sequence[str | Path | Channel] = AFFINE_CHANNELS,
    leave_out: Collection[str] = (),
    rule: str = Rule().name,
    vector: bool = Rule().vector,
    units: Mapping[str, float] | None = None,
    seed: int = 0,
) -> LearnedPrior:
    r"""Learn a prior from labelled tasks by empirical Bayes (Section 2.7 of the paper).

    .. math:: \mu = \mu_0 + w^3 (\mathrm{mean}_t\, \hat\phi_t - \mu_0), \quad
       w = \frac{\sigma_0^2}{\sigma_0^2 + v (1 + 1/G)}, \quad
       \sigma = \min(\sigma_0, \sqrt{v + \sigma_0^2 / 4})

    Each channel is fitted to all labels of each task and judge. Fits are compared in units of the
    scale's length K - 1 and, for the temperature, of the readings' spread, so that tasks with
    different K and differently scaled logits can share a prior. Here v is the variance of the fits
    to G tasks; mu_0 and sigma_0 are the mean and scale in the channel's file, for readings of
    typical spread and, with more than five options, also in units of the length. The paper uses the
    plain mean, in units of the length only, and does not learn parameters of single options
    (``rule="paper"``, ``vector=False``). From tasks with more than 2,048 labels, 2,048 labels are
    drawn at random.

    Args:
        tasks: a sequence of tasks, or a mapping by the task's name or by ``(task, reader)``. A task
            is ``(logits, labels)``, ``[n, K]`` and ``[n]`` with labels 0..K-1, or
            ``(logits, labels, covariates)``.
        channels: channels to fit, each a name, the path of a channel file (whose code is run), or a
            ``Channel``.
        leave_out: tasks to exclude, by name.
        rule: "cautious", as above, or "paper".
        vector: also learn parameters of single options, from tasks with the same number of options.
        units: powers of the number of options with which other parameters scale, such as
            ``{"drift": 1}``.
        seed: seed for the random choice of labels from large tasks.

    Returns:
        The prior, for ``Cordial(prior=...)``.

    Raises:
        InputError: a task's readings or labels are invalid, fewer than two tasks are left, a name
            is repeated or unknown, or tasks with different K have a parameter whose unit is
            unknown.
        ChannelError: a channel does not exist or breaks the contract.
    """
    models = [load_channel(channel) for channel in check_list("channels", channels)]
    if not models or len({model.name for model in models}) < len(models):
        raise InputError("channels must list one or more channels with unique names.")
    listed = check_list("tasks", tasks)
    named = tasks if isinstance(tasks, Mapping) else {f"task {i}": t for i, t in enumerate(listed)}
    data = [_check(key, task, count_levels(*models)) for key, task in named.items()]
    if len({fit.name for fit, _ in data}) < len(data):
        raise InputError("two fits have the same task and reader. Rename one of them.")
    check_tasks(leave_out, list(dict.fromkeys(fit.task for fit, _ in data)))
    data = [(fit, texts) for fit, texts in data if fit.task not in leave_out]
    counts = [(fit.name, len(texts.labels)) for fit, texts in data]
    if few := [f"{name} ({number})" for name, number in counts if number < FEWEST_LABELS]:
        warn(
            f"fits with fewer than {FEWEST_LABELS} labels reflect the prior in the channel file "
            f"more than the judge: {list_names(few)}."
        )
    covariates = tuple(data[0][1].covariates) if data else ()
    if any(tuple(texts.covariates) != covariates for _, texts in data):
        raise InputError("all tasks must have the same covariates.")
    settings = Rule(rule, vector, dict(units or {}))
    learned = {model.name: LearnedChannel(model.digest, covariates) for model in models}
    # A wrong rule, unit or channel is refused before anything is fitted.
    LearnedPrior(tuple(fit for fit, _ in data), learned, settings)
    sizes = {fit.size for fit, _ in data}
    targets = {size: [build_target(model, size, covariates) for model in models] for size in sizes}
    for target in (target for each in targets.values() for target in each):
        check_powers(target, sizes, settings.powers)
    fits, rng = [], np.random.default_rng(seed)
    with doing("fitting", len(data), "fits") as stage:
        for done, (fit, texts) in enumerate(data):
            modes, chosen = {}, texts
            if len(texts.labels) > MOST_LABELS:
                chosen = texts.take(np.sort(rng.permutation(len(texts.labels))[:MOST_LABELS]))
            for number, target in enumerate(targets[fit.size]):
                stage.reach(done + number / len(models), f"fitting {fit.name}")
                modes[target.channel.name] = _find_mode(target, chosen, fit.name)
                stage.reach(done + (number + 1) / len(models))
            spread = reading_spread(chosen.logits)
            fits.append(msgspec.structs.replace(fit, modes=modes, spread=spread))
    return LearnedPrior(tuple(fits), learned, settings)


def _check(key: Any, task: Any, levels: Mapping[str, int]) -> tuple[TaskFit, Labelled]:
    """Validate one task, which is not fitted yet; a message begins with its name."""
    names = (key, "") if isinstance(key, str) else key
    if not (isinstance(names, tuple) and [*map(type, names)] == [str, str]):
        raise InputError(f"a task name must be a string or a pair (task, reader); got {key!r}.")
    with naming(", ".join(filter(None, names))):
        if not isinstance(task, Sequence) or not 2 <= len(task) <= 3 or isinstance(task, str):
            raise InputError("each task must be (logits, labels) or (logits, labels, covariates).")
        logits, covariates = as_logits(task[0]), task[2] if len(task) > 2 else None
        scale = Scale.default(logits.shape[1])
        texts = label_readings(task[0], logits, task[1], scale, covariates, levels)
    counts = np.bincount(texts.labels, minlength=scale.size).tolist()
    return TaskFit(names[0], names[1], counts, {}), texts


def _find_mode(target: Target, texts: Labelled, task: str) -> dict[str, list[float]]:
    """Find the posterior mode of each unconstrained parameter, by site."""
    with naming(task):
        posterior = fit_cases(target, [Case(texts)], method="mode")[0].fitted
    gradient = posterior.diagnostics.gradient_norm
    if not gradient < STEEPEST:
        warn(
            f"the search for the mode of channel {target.channel.name!r} on {task!r} did not "
            f"converge (gradient {gradient:.0e}). This fit may be inaccurate."
        )
    return {site.name: posterior.draws[0, site.slice].tolist() for site in target.sites}


def describe_prior(prior: LearnedPrior, rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what a prior is from, and how far it lies from the channels' own.

    Args:
        prior: The prior.
        rows: Its parameters, from ``LearnedPrior.describe``.
    """
    readers = {fit.reader for fit in prior.fits if fit.reader}
    least, *_, most = sorted(sum(fit.counts) for fit in prior.fits * 2)
    labels = f"{least:,} to {most:,} labels" if most > least else f"{least:,} labels"
    by = f" with {count(len(readers), 'judge')}" if readers else ""
    lines = [
        f"Prior from {count(len(prior.tasks), 'task')}{by}: {count(len(prior.fits), 'fit')} with "
        f"{labels} each\n  {list_names(prior.tasks)}\n",
        "Prior centres that differ most from the channels' own priors",
    ]
    # How far a centre has moved, in units of the channel's own width.
    moves = [abs(row["loc"] - row["default_loc"]) / row["default_scale"] for row in rows]
    furthest = np.argsort(moves, stable=True)[::-1][:SHOWN]
    shown = "  {channel}: {parameter} {centre:.2f} instead of {default_centre:.2f}"
    lines += [shown.format(**rows[index]) for index in furthest]
    return "\n".join(lines)

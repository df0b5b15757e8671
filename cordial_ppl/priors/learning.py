"""Learning a prior: every channel is fitted to all labels of every task and reader."""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from cordial_ppl.channel import Channel
from cordial_ppl.channels import AFFINE_CHANNELS
from cordial_ppl.covariates import as_covariates
from cordial_ppl.errors import CordialWarning, InputError, naming
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.loading import load_channel
from cordial_ppl.priors.fits import ModeFit, TaskFit, fit_mode
from cordial_ppl.priors.learned import Learned, LearnedPrior, Rule
from cordial_ppl.priors.units import POWERS, check_powers, reading_spread
from cordial_ppl.readings import as_logits
from cordial_ppl.scale import Scale

MOST_LABELS = 2048
"""Labels that a task is fitted to at most: its parameters are then known far better than tasks
differ."""

FEWEST_LABELS = 20
"""Labels below which a task's fit leans on the channel's own prior too much to teach another."""

STEEPEST = 1e-4
"""Largest component of the whitened gradient at what is called a mode."""


class Data(NamedTuple):
    """One task as one reader reads it, checked."""

    task: str
    reader: str
    logits: np.ndarray
    labels: np.ndarray
    covariates: dict[str, np.ndarray]


def learn_prior(
    tasks: Mapping[Any, Any] | Iterable[Any],
    *,
    channels: Sequence[str | Path | Channel] = AFFINE_CHANNELS,
    leave_out: Collection[str] = (),
    rule: str = Rule().name,
    vector: bool = Rule().vector,
    histogram: bool = Rule().histogram,
    units: Mapping[str, float] | None = None,
    seed: int = 0,
    on_done: Callable[[float, str], None] = lambda share, label: None,
) -> LearnedPrior:
    r"""Learn a prior from labelled tasks by empirical Bayes (Section 2.7 of the paper).

    .. math:: \mu = \mu_0 + w^3 (\mathrm{mean}_t\, \hat\phi_t - \mu_0), \quad
       w = \frac{\sigma_0^2}{\sigma_0^2 + v (1 + 1/G)}, \quad
       \sigma = \min(\sigma_0, \sqrt{v + \sigma_0^2 / 4})

    Each channel is fitted to all labels of each task and reader, and the fits are compared in units
    of the scale's length K - 1 and, the temperature, of the readings' spread, so that tasks of
    different K and logits of any factor share a prior; v is the variance of the fits to G tasks,
    mu_0 and sigma_0 are the channel's own mean and scale, for readings of typical spread, and on
    more than five options in units of the length, too.  The paper takes the mean as it is, in units
    of the length alone, and does not learn parameters of single options (``rule="paper"``,
    ``vector=False``).  Of more than 2,048 labels a random 2,048 are used.

    Args:
        tasks: ``(logits, labels)`` of each task, ``[n, K]`` and ``[n]`` with labels 0..K-1, or
            ``(logits, labels, covariates)``: a sequence, or a mapping by the task's name or by
            ``(task, reader)``.
        channels: which channels to fit, by name, path of a channel file (whose code is run), or
            ``Channel``.
        leave_out: tasks to leave out, by name.
        rule: "cautious", as above; "paper"; or "hierarchical": the predictive of a model with a
            posterior of how tasks differ, see :mod:`cordial_ppl.priors.hierarchy`.
        vector: also learn parameters of single options, from tasks of equally many.
        histogram: also learn which labels are common, likewise; a judge that is saved keeps what
            it was fitted with, but fitted again after it was loaded it smooths labels as usual.
        units: power of classes in the unit of further parameters, such as ``{"drift": 1}``.
        seed: seed of what is drawn from large tasks.
        on_done: is called with the share of the work that is done, and a name for it.

    Returns:
        The prior, for ``Cordial(prior=...)``.

    Raises:
        InputError: a task's readings or labels cannot be used, fewer than two are left, names are
            doubled or unknown, or tasks of different K have a parameter of unknown unit.
        ChannelError: there is no such channel, or it breaks the contract.
    """
    for what, names in (("channels", channels), ("leave_out", leave_out)):
        if isinstance(names, str):
            raise InputError(f"{what} takes a list; got {names!r}.")
    models = [load_channel(channel) for channel in channels]
    if not models or len({model.name for model in models}) < len(models):
        raise InputError("channels must be one or several, each of another name.")
    data = [_check(key, given) for key, given in _named(tasks)]
    names = {(own.task, own.reader) for own in data}
    unknown = [name for name in leave_out if name not in {own.task for own in data}]
    if len(names) < len(data) or unknown:
        known = ", ".join(dict.fromkeys(own.task for own in data))
        what = f"leave_out names {unknown[0]!r}" if unknown else "a task and reader comes twice"
        raise InputError(f"{what}; the tasks are {known}.")
    data = [own for own in data if own.task not in leave_out]
    settings = Rule(rule, vector, histogram, dict(units or {}))
    covariates = tuple(data[0].covariates) if data else ()
    if any(tuple(own.covariates) != covariates for own in data):
        raise InputError("all tasks must come with the same covariates.")
    marks = {model.name: Learned(model.digest, covariates) for model in models}
    # What is wrong with the rule, the units or a channel shows before anything is fitted.
    hollow = tuple(TaskFit(own.task, own.reader, np.zeros(2, int), {}) for own in data)
    LearnedPrior(hollow, marks, settings)
    sizes = {own.logits.shape[1] for own in data}
    with jax.enable_x64(True):
        targets = {
            (model.name, size): build_target(model, size, covariates)
            for model in models
            for size in sorted(sizes)
        }
    for target in targets.values():
        check_powers(target, sizes, {**POWERS, **settings.units})
    rng = np.random.default_rng(seed)
    fits = []
    for place, own in enumerate(data):
        here = [targets[model.name, own.logits.shape[1]] for model in models]
        fits.append(_fit(own, here, rng, partial(_scaled, on_done, place, len(data))))
    return LearnedPrior(tuple(fits), marks, settings)


def _fit(
    data: Data,
    targets: Sequence[Target],
    rng: np.random.Generator,
    on_done: Callable[[float, str], None],
) -> TaskFit:
    """Fit every channel to one task."""
    counts = np.bincount(data.labels, minlength=data.logits.shape[1])
    if len(data.labels) < FEWEST_LABELS:
        warnings.warn(
            f"{' by '.join(filter(None, (data.task, data.reader)))} has only {len(data.labels)} "
            "labels: its fit says less of the reader than of the channel's own prior.",
            CordialWarning,
            stacklevel=3,
        )
    rows = np.arange(len(data.labels))
    if len(rows) > MOST_LABELS:
        rows = np.sort(rng.permutation(len(rows))[:MOST_LABELS])
    covariates = {name: values[rows] for name, values in data.covariates.items()}
    texts = Labelled(data.logits[rows], data.labels[rows], covariates)
    modes: dict[str, dict[str, ModeFit]] = {}
    for place, target in enumerate(targets):
        name = target.channel.name
        on_done(place / len(targets), f"{data.task}, {data.reader}".rstrip(", "))
        found, gradient = fit_mode(target, texts)
        modes[name] = {
            site.name: ModeFit(*(part[site.slice] for part in found)) for site in target.sites
        }
        if not gradient < STEEPEST:
            warnings.warn(
                f"the mode of channel {name!r} on {data.task!r} was not found (gradient "
                f"{gradient:.0e}): its fit may be off.",
                CordialWarning,
                stacklevel=3,
            )
    spread = reading_spread(data.logits[rows])
    return TaskFit(data.task, data.reader, counts, modes, spread)


def _scaled(
    on_done: Callable[[float, str], None], place: int, count: int, share: float, label: str
) -> None:
    on_done((place + share) / count, label)


def _named(tasks: Mapping[Any, Any] | Iterable[Any]) -> list[tuple[Any, Any]]:
    if isinstance(tasks, Mapping):
        return list(tasks.items())
    return [(f"task {place}", given) for place, given in enumerate(tasks)]


def _check(key: Any, given: Any) -> Data:
    """Check one task; a message begins with its name."""
    task, reader = (key, "") if isinstance(key, str) else _pair(key)
    with naming(f"{task}, {reader}" if reader else task):
        if not isinstance(given, Sequence) or not 2 <= len(given) <= 3 or isinstance(given, str):
            raise InputError("a task must be (logits, labels) or (logits, labels, covariates).")
        logits = as_logits(given[0])
        labels = Scale.default(logits.shape[1]).encode(given[1])
        if len(labels) != len(logits):
            raise InputError(f"{len(logits)} rows of logits came with {len(labels)} labels.")
        extra = as_covariates(given[2] if len(given) > 2 else None, len(logits))
    return Data(task, reader, logits, labels, extra)


def _pair(key: Any) -> tuple[str, str]:
    if isinstance(key, tuple) and len(key) == 2 and all(isinstance(part, str) for part in key):
        return key
    raise InputError(f"tasks must be named by a task or by (task, reader), as text; got {key!r}.")

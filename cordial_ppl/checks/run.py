"""Everything that can be checked of a channel, in one go."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.channel import Channel
from cordial_ppl.checks.comparison import check_comparison
from cordial_ppl.checks.conflict import check_conflict
from cordial_ppl.checks.contract import check_contract
from cordial_ppl.checks.density import check_density
from cordial_ppl.checks.finding import FAIL, Finding, Report
from cordial_ppl.checks.order import check_order
from cordial_ppl.checks.posteriors import check_posteriors, check_times
from cordial_ppl.checks.predictive import check_prior_predictive
from cordial_ppl.checks.sensitivity import check_sensitivity
from cordial_ppl.checks.simulation import Ranks, check_simulation, simulate
from cordial_ppl.checks.texts import Texts, as_texts, make_texts
from cordial_ppl.covariates import as_covariates
from cordial_ppl.errors import InputError
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.loading import load_channel
from cordial_ppl.readings import as_logits, as_logits_of_readers
from cordial_ppl.scale import Scale

LEAST_SETS = 20
"""Simulated data sets from which ranks can look uniform or not."""

STEPS = ("contract", "density", "order", "posterior", "NUTS", "sensitivity", "comparison")


def check_channel(
    channel: str | Path | Channel,
    logits: Any = None,
    labels: Any = None,
    covariates: Mapping[str, Any] | None = None,
    *,
    simulations: int = 0,
    seed: int = 0,
    progress: Callable[[float, str], None] = lambda share, step: None,
    keep: Callable[[Ranks], None] = lambda ranks: None,
) -> Report:
    """Check a channel: contract, density, order, posteriors, prior, and what it predicts.

    Args:
        channel: name of a channel, path of a channel file (whose code is run), or ``Channel``.
        logits: readings to check it with, shape ``[n, K]``, or ``[n, R, K]`` of several readers;
            by default synthetic reviews.
        labels: labels of the first of these texts, shape ``[m]`` with ``m <= n``, names or 0..K-1.
        covariates: covariates of the texts, each of shape ``[n]``.
        simulations: data sets for simulation-based calibration; none by default.
        seed: seed of everything random.
        progress: told the share that is done, and what comes next.
        keep: given the ranks of simulation-based calibration, to be drawn.

    Returns:
        A report with one line a finding.  Where the contract is broken, or the density is not
        finite, the rest is not checked.

    Raises:
        InputError: there are too few simulations, or the texts cannot be used, or lack a covariate
            that the channel asks for.
        ChannelError: there is no such channel or file, or the file cannot be run.
    """
    if 0 < simulations < LEAST_SETS:
        raise InputError(
            f"simulation-based calibration needs {LEAST_SETS} data sets or more; got {simulations}."
        )
    chosen = load_channel(channel)

    def texts() -> Texts:
        if logits is None:
            return make_texts(chosen, seed)
        return _given(chosen, logits, labels, covariates)

    findings: list[Finding] = []
    steps = STEPS + ("simulations",) * (simulations > 0)

    def tell(done: float) -> None:
        progress(min(done / len(steps), 1.0), steps[min(int(done), len(steps) - 1)])

    found = _steps(chosen, texts, simulations, seed, lambda part: tell(len(STEPS) + part), keep)
    for number, step in enumerate(found):
        findings += step
        tell(number + 1)
    return Report(chosen.name, tuple(findings))


def _steps(
    channel: Channel,
    enter: Callable[[], Texts],
    simulations: int,
    seed: int,
    progress: Callable[[float], None],
    keep: Callable[[Ranks], None],
) -> Iterator[list[Finding]]:
    contract = check_contract(channel)
    yield [contract]
    if contract.status == FAIL:
        return
    rng = np.random.default_rng([seed, 3])
    texts = enter()
    density = check_density(texts, rng)
    yield density
    if density[0].status == FAIL:
        return
    yield [check_prior_predictive(texts, seed), *check_order(texts, rng)]
    posterior, times = check_times(texts, seed)
    yield [times]
    with ThreadPoolExecutor(max_workers=1) as pool:
        # NUTS takes longest, and most of that is XLA's time.
        found = pool.submit(lambda: [*check_posteriors(texts, posterior, seed)])
        conflict = check_conflict(texts, posterior, seed)
        priors = [check_sensitivity(posterior, conflict, seed), conflict]
        yield found.result()
    yield priors
    # Leaving out simulated labels says nothing, nor does leaving out one of two; and the package's
    # channels, which it is compared with, read one reader.
    comparable = not texts.synthetic and not channel.several and len(texts.known.labels) > 2
    yield check_comparison(texts, posterior, seed) if comparable else []
    if simulations:
        ranks = simulate(texts, simulations, seed=seed, progress=progress)
        keep(ranks)
        yield [check_simulation(ranks)]


def _given(
    channel: Channel, logits: Any, labels: Any, covariates: Mapping[str, Any] | None
) -> Texts:
    readings = as_logits_of_readers(logits) if channel.several else as_logits(logits)
    if labels is None:
        raise InputError("readings need labels: give logits and labels, or neither.")
    size = readings.shape[-1]
    codes = Scale.default(size).encode(labels)
    count = len(codes)
    if count > len(readings):
        raise InputError(f"{len(readings)} rows of logits came with {count} labels.")
    needed = find_covariates(channel, size)
    missing = [name for name in needed if name not in (covariates or {})]
    if missing:
        raise InputError(
            f"channel {channel.name!r} asks for the covariate {missing[0]!r}: give it too."
        )
    extra = as_covariates(covariates, len(readings), needed, levels=channel.levels)
    known = Labelled(readings[:count], codes, {name: v[:count] for name, v in extra.items()})
    rest = slice(count, None) if count < len(readings) else slice(None)
    unseen = {name: values[rest] for name, values in extra.items()}
    return as_texts(channel, known, readings[rest], unseen)

"""All checks of a channel, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.errors import InputError, say_error
from cordial_ppl.evaluation.checks import density, exactness
from cordial_ppl.evaluation.checks.finding import FAIL, Finding, Report
from cordial_ppl.evaluation.checks.trial import Trial, make_trial, take_trial
from cordial_ppl.runtime.progress import doing

Check = Callable[[Trial], Finding | None]
"""A check: its finding, or None where these texts leave nothing to check."""

NEEDED: tuple[Check, ...] = (density.check_indices, density.check_finite)
"""Where one of these fails, the others would say nothing."""

PROMISES: tuple[Check, ...] = (density.check_gradients, density.check_order)
"""What needs no posterior."""

POSTERIORS: tuple[Check, ...] = (
    exactness.check_diagnostics,
    exactness.check_speed,
    exactness.check_nuts,
    partial(exactness.check_against_nuts, method="default"),
    partial(exactness.check_against_nuts, method="laplace"),
    density.check_conflict,
)

LEAST_SETS = 20
"""Simulated data sets from which ranks can look uniform or not."""


def check_channel(
    channel: str | Path | Channel,
    logits: Any = None,
    labels: Any = None,
    covariates: Mapping[str, Any] | None = None,
    *,
    simulations: int = 0,
    seed: int = 0,
    checks: Sequence[Check] = (*PROMISES, *POSTERIORS),
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
        checks: what is checked after the contract and the density; all by default.

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
            f"simulation-based calibration needs {LEAST_SETS} or more data sets; got {simulations}."
        )
    chosen = load_channel(channel)
    with doing("checking the contract"):
        findings = [density.check_contract(chosen)]
    if findings[0].status == FAIL:
        return Report(chosen.name, tuple(findings))
    texts = logits, labels, covariates
    size = min(findings[0].figures["parameters"], key=lambda size: abs(size - 5))
    trial = make_trial(chosen, seed, size) if logits is None else take_trial(chosen, *texts, seed)
    with doing("checking", len(NEEDED) + len(checks), "properties") as stage:
        for number, check in enumerate((*NEEDED, *checks), 1):
            findings += filter(None, [_run(check, trial)])
            stage.reach(number)
            if check in NEEDED and findings[-1].status == FAIL:
                return Report(chosen.name, tuple(findings))
    if simulations:
        findings.append(exactness.check_simulation(exactness.simulate(trial, simulations)))
    return Report(chosen.name, tuple(findings))


def _run(check: Check, trial: Trial) -> Finding | None:
    """Run a check; what a model, or NumPyro on its account, raises is a finding."""
    try:
        return check(trial)
    except Exception as error:
        name = getattr(check, "func", check).__name__.removeprefix("check_").replace("_", " ")
        return Finding(name, FAIL, f"failed: {say_error(error, trial.target.channel.source)}")

"""All checks of a channel, one after the other."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.channels.channel import Channel
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.checks.comparison import check_comparison
from cordial_ppl.evaluation.checks.density import check_contract, check_density
from cordial_ppl.evaluation.checks.finding import FAIL, Report
from cordial_ppl.evaluation.checks.order import check_order
from cordial_ppl.evaluation.checks.posteriors import check_posteriors, check_times
from cordial_ppl.evaluation.checks.prior import (
    check_conflict,
    check_prior_predictive,
    check_sensitivity,
)
from cordial_ppl.evaluation.checks.simulation import check_simulation, simulate
from cordial_ppl.evaluation.checks.texts import check_texts, make_texts
from cordial_ppl.runtime.progress import doing

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
    with doing("checking the contract"):
        findings = [check_contract(chosen)]
    if findings[-1].status == FAIL:
        return Report(chosen.name, tuple(findings))
    user = logits is not None
    texts = check_texts(chosen, logits, labels, covariates) if user else make_texts(chosen, seed)
    rng = np.random.default_rng([seed, 3])
    with doing("checking the density"):
        findings += check_density(texts, rng)
    if findings[1].status == FAIL:
        return Report(chosen.name, tuple(findings))
    with doing("checking the prior and the order"):
        findings += [check_prior_predictive(texts, seed), *check_order(texts, rng)]
    with doing("checking the posterior"):
        posterior, times = check_times(texts, seed)
    with doing("comparing with NUTS"), ThreadPoolExecutor(max_workers=1) as pool:
        # NUTS takes longest, most of it to compile.
        compared = pool.submit(lambda: [*check_posteriors(texts, posterior, seed)])
        conflict = check_conflict(texts, posterior, seed)
        sensitivity = check_sensitivity(posterior, conflict, seed)
    findings += [times, *compared.result(), sensitivity, conflict]
    # Simulated labels, or two, say nothing here, and the package's channels are of one reader.
    if user and not chosen.several and len(texts.labelled.labels) > 2:
        with doing("leaving labels out"):
            findings += check_comparison(texts, posterior, seed)
    ranks = None
    if simulations:
        ranks = simulate(texts, simulations, seed=seed)
        findings.append(check_simulation(ranks))
    return Report(chosen.name, tuple(findings), ranks)

"""Checks of a channel's log density: traced, finite, differentiable."""

from typing import Any

import jax
import numpy as np
from jax.experimental import checkify

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.errors import ChannelError
from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.evaluation.checks.trial import Trial, over_draws
from cordial_ppl.inference.sampler import PRECISION
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.runtime.platform import on_host

POINTS, FEW = 64, 16
FAR = 6.0
"""Standard deviations of the prior within which a density is evaluated."""

EXTREME = 60.0
"""Logits of an extreme reading, nats."""

STEP = 1e-5
SLOPE_TOLERANCE = 1e-4

SIZES = (2, 3, 5, 7)
"""Numbers of options for which a channel must work."""


def check_contract(channel: Channel) -> Finding:
    """Trace the channel for several numbers of options, and name its parameters."""
    sizes = {}
    for size in SIZES:
        try:
            with jax.enable_x64(True):
                covariates = find_covariates(channel, size)
                target = build_target(channel, size, covariates, 2 if channel.several else None)
        except ChannelError as error:
            return Finding("contract", FAIL, f"with {size} options: {error}")
        sizes[size] = target.size
    names = [site.parameter for site in target.sites]
    fixed = [site.parameter for site in target.sites if not site.gaussian]
    words = f"{len(names)} parameters: {', '.join(names)}"
    words += f"; covariates: {', '.join(covariates)}" if covariates else ""
    words += f"; priors that cannot be replaced by name: {', '.join(fixed)}" if fixed else ""
    return Finding("contract", PASS, words, {"parameters": sizes, "covariates": list(covariates)})


def check_indices(trial: Trial) -> Finding | None:
    """Find where an array is indexed beyond its end, which JAX does without a word."""
    target = trial.target
    if not trial.labelled.covariates:
        return None
    with on_host(), jax.enable_x64(True):
        checked = jax.jit(checkify.checkify(target.probs, errors=checkify.index_checks))
        error, _ = checked(target.prior.loc, trial.readings)
    if not (message := error.get()):
        return None
    declared = count_levels(target.channel)
    names = [name for name in trial.labelled.covariates if name not in declared]
    size = message.rstrip(" .").rpartition(" ")[2]
    advice = f": if {names[0]!r} is the index, LEVELS = {{{names[0]!r}: {size}}}" if names else ""
    words = f"{message.strip().rstrip('.')}; JAX takes the last entry instead{advice}"
    return Finding("indices", FAIL, words)


def check_finite(trial: Trial) -> Finding:
    """Evaluate log density and gradient at extreme points and readings, in both types."""
    target, size, rng = trial.target, trial.target.options, trial.rng(2)
    density = over_draws(target.log_density, gradient=True)
    loc, scale = target.prior
    ends = EXTREME * (2.0 * np.vstack([np.eye(size), 1 - np.eye(size)]) - 1.0)
    logits = np.vstack([ends - ends.mean(axis=1, keepdims=True), np.zeros((1, size))])
    # As many texts, and as many points at a time, as elsewhere: one program serves all.
    count = max(len(logits), len(trial.labelled.labels))
    readings = trial.plain(np.resize(logits, (count, size)))
    labels = np.resize(np.arange(size), count)
    points = loc + scale * np.clip(rng.normal(0, FAR / 2, (POINTS, target.size)), -FAR, FAR)
    points[:3] = loc, loc - FAR * scale, loc + FAR * scale

    def count_bad(kind: Any) -> int:
        cast = jax.tree.map(lambda leaf: np.asarray(leaf, kind), (target.prior, readings))
        parts = [
            np.column_stack(density(block, *cast, labels))
            for block in np.split(points.astype(kind), POINTS // FEW)
        ]
        return int((~np.isfinite(np.vstack(parts))).any(axis=1).sum())

    double, single = count_bad(np.float64), count_bad(PRECISION)
    where = f"logits of ±{EXTREME:.0f} and parameters up to {FAR:.0f} prior standard deviations out"
    words, status = f"finite with {where}", PASS
    if single or double:
        words = f"not finite at {double or single} of {POINTS} points with {where}"
        words, status = (words, FAIL) if double else (f"in 32 bits {words}", WARN)
    figures = {"points": POINTS, "not_finite": double, "not_finite_float32": single}
    return Finding("finite density", status, words, figures)


def check_gradients(trial: Trial) -> Finding:
    """Compare the gradient with finite differences."""
    target, data = trial.target, (trial.target.prior, trial.readings, trial.labelled.labels)
    loc, scale = target.prior
    density = over_draws(target.log_density, gradient=True)
    points = loc + scale * trial.rng(3).normal(0, 1.0, (FEW, target.size))
    slope = np.asarray(density(points, *data)[1]) * scale
    steps = STEP * scale * np.eye(target.size)
    above, below = (
        np.stack([density(points + sign * step, *data)[0] for step in steps], axis=1)
        for sign in (1, -1)
    )
    difference = (above - below) / (2 * STEP)
    errors = np.abs(slope - difference) / (1.0 + np.abs(difference))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    # Of the coordinate that is wrong most often: a single one may be cut off.
    share = float((errors > SLOPE_TOLERANCE).mean(axis=0).max())
    worst = float(errors.max())
    figures = {"worst_error": worst, "share_beyond": share, "tolerance": SLOPE_TOLERANCE}
    words, status = f"agree with finite differences to {worst:.0e}", PASS
    if worst > SLOPE_TOLERANCE:
        name = target.coordinates[int(errors.max(axis=0).argmax())]
        words = f"off by {worst:.1e} in {name}; wrong at {100 * share:.0f} % of points"
        # Few points meet a kink; a gradient that is cut off is wrong at most points.
        status = FAIL if share > 0.1 else WARN
    return Finding("gradients", status, words, figures)

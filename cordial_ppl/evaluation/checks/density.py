"""Checks of a channel's log density: traced, finite, differentiable, a sum over single texts."""

from typing import Any

import jax
import numpy as np
from jax.experimental import checkify
from jaxtyping import Float

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.errors import ChannelError
from cordial_ppl.evaluation.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.evaluation.checks.trial import Trial, over_draws
from cordial_ppl.inference.sampler import PRECISION
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tracing import find_covariates
from cordial_ppl.runtime.arrays import pad_rows, repeat_rows

POINTS, FEW = 64, 16
FAR = 6.0
"""Standard deviations of the prior within which a density is evaluated."""

EXTREME = 60.0
"""Logits of an extreme reading, nats."""

STEP = 1e-5
SLOPE_TOLERANCE = 1e-4
TOLERANCE = 1e-6
"""Largest difference of probabilities, and relative one of densities, that should be equal."""

PADDING = 5
MISSES = {
    "padding": "padding changes probabilities",
    "density": "padding changes the log density or its gradient",
    "order": "the order of texts changes probabilities",
    "labels": "labels change the predictions of their own texts",
    "sum": "probabilities do not sum to one",
}
"""Faults of a text's probabilities that do not depend on it alone."""

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
    with jax.enable_x64(True):
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


def _density(trial: Trial, points: np.ndarray, *args: Any) -> Any:
    """Compute log density and gradient at some points, of the labelled texts or of others."""
    target = trial.target
    args = args or (target.prior, trial.readings, trial.labelled.labels)
    return over_draws(target.log_density, gradient=True)(points, *args)


def _draw(trial: Trial) -> Float[np.ndarray, "S P"]:
    """Draw a few points within about a standard deviation of the prior's location."""
    loc, scale = trial.target.prior
    return loc + scale * trial.rng(3).normal(0, 1.0, (FEW, trial.target.size))


def check_finite(trial: Trial) -> Finding:
    """Evaluate log density and gradient at the prior's location, and at extremes in both types."""
    target, size, rng = trial.target, trial.target.options, trial.rng(2)
    loc, scale = target.prior
    value, slope = map(np.asarray, _density(trial, np.tile(np.asarray(loc), (FEW, 1))))
    if not (np.isfinite(value).all() and np.isfinite(slope).all()):
        gradient = "finite" if np.isfinite(slope).all() else "not finite"
        words = f"log density {float(value[0])} at the prior's location; its gradient is {gradient}"
        return Finding("finite density", FAIL, words)
    ends = EXTREME * (2.0 * np.vstack([np.eye(size), 1 - np.eye(size)]) - 1.0)
    logits = np.vstack([ends - ends.mean(axis=1, keepdims=True), np.zeros((1, size))])
    # As many texts, and as many points at a time, as elsewhere: one program serves all.
    count = max(len(logits), len(trial.labelled.labels))
    readings = trial.plain(np.resize(logits, (count, size)))
    labels = np.resize(np.arange(size), count)
    points = loc + scale * np.clip(rng.normal(0, FAR / 2, (POINTS, target.size)), -FAR, FAR)
    points[0], points[1] = loc - FAR * scale, loc + FAR * scale
    bad = []
    for kind in (np.float64, PRECISION):
        prior, inputs = jax.tree.map(
            lambda x, kind=kind: np.asarray(x, kind), (target.prior, readings)
        )
        parts = [
            _density(trial, block.astype(kind), prior, inputs, labels)
            for block in np.split(points, POINTS // FEW)
        ]
        value, slope = (np.concatenate(values) for values in zip(*parts, strict=True))
        bad.append(int((~(np.isfinite(value) & np.isfinite(slope).all(axis=1))).sum()))
    double, single = bad
    where = f"logits of ±{EXTREME:.0f} and parameters up to {FAR:.0f} prior standard deviations out"
    words, status = f"finite with {where}", PASS
    if single or double:
        words = f"not finite at {double or single} of {POINTS} points with {where}"
        words, status = (words, FAIL) if double else (f"in 32 bits {words}", WARN)
    figures = {"points": POINTS, "not_finite": double, "not_finite_float32": single}
    return Finding("finite density", status, words, figures)


def check_gradients(trial: Trial) -> Finding:
    """Compare the gradient with finite differences."""
    target = trial.target
    scale, points = target.prior.scale, _draw(trial)
    slope = np.asarray(_density(trial, points)[1]) * scale
    steps = STEP * scale * np.eye(target.size)
    above, below = (
        np.stack([_density(trial, points + sign * step)[0] for step in steps], axis=1)
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


def check_single_texts(trial: Trial) -> Finding:
    """Check that a text's probabilities depend on that text alone, and padding is ignored."""
    target, readings, labels = trial.target, trial.readings, trial.labelled.labels
    count, points = len(labels), _draw(trial)
    expected = trial.predict(points, readings)
    order = trial.rng(4).permutation(count)
    extra = {name: values[order] for name, values in readings.covariates.items()}
    mixed = readings._replace(logits=readings.logits[order], covariates=extra)
    # Padded as for a fit.
    rows = count + PADDING
    extra = {name: repeat_rows(values, rows) for name, values in readings.covariates.items()}
    padded = readings._replace(logits=pad_rows(readings.logits, rows, 0.0), covariates=extra)
    plain, with_padding = (
        np.column_stack(_density(trial, points, target.prior, *args))
        for args in ((readings, labels), (padded, pad_rows(labels, rows, -1)))
    )
    _, seen = over_draws(target.pointwise)(points, readings, labels)
    misses = {
        "padding": trial.predict(points, padded)[:, :count] - expected,
        "density": (with_padding - plain) / (1.0 + np.abs(plain)),
        "order": trial.predict(points, mixed) - expected[:, order],
        "labels": np.asarray(seen) - expected,
        "sum": expected.sum(axis=2) - 1,
    }
    figures = {
        name: float(np.where(np.isfinite(miss), np.abs(miss), np.inf).max())
        for name, miss in misses.items()
    }
    wrong = [f"{MISSES[k]} by {worst:.1e}" for k, worst in figures.items() if worst > TOLERANCE]
    words = (
        "; ".join(wrong) or "neither padding nor order changes anything; probabilities sum to one"
    )
    return Finding("single texts", FAIL if wrong else PASS, words, figures)

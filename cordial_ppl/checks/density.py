"""Checks of a channel's log density: finite, differentiable, and a sum over single texts."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from cordial_ppl.arrays import pad_rows, repeat_rows
from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts, predictions
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.sampler import PRECISION
from cordial_ppl.inference.target import Target

POINTS, FEW = 64, 16
NEAR, FAR = 1.0, 6.0
"""Standard deviations of the prior within which a density is evaluated."""

EXTREME = 60.0
"""Logits of an extreme reading, nats."""

STEP = 1e-5
SLOPE_TOLERANCE = 1e-4
SAME = 1e-9
SUM_TOLERANCE = 1e-6
PADDING = 5


def check_density(texts: Texts, rng: np.random.Generator) -> list[Finding]:
    """Check the log density and its gradient; where it is not finite the rest is left out."""
    target = texts.target
    with jax.enable_x64(True):
        centre = np.tile(np.asarray(target.prior.loc), (FEW, 1))
        given = target.prior, texts.readings, texts.known.labels
        value, slope = _density(target)(centre, *given)
        if not (np.isfinite(value).all() and np.isfinite(slope).all()):
            words = f"log density {float(value[0])} at the prior's location; its gradient " + (
                "is finite" if np.isfinite(slope).all() else "is not"
            )
            return [Finding("finite density", FAIL, words)]
        return [_extremes(texts, rng), _gradients(texts, rng), _rows(texts, rng)]


def _extremes(texts: Texts, rng: np.random.Generator) -> Finding:
    name, target, size = "finite density", texts.target, texts.target.options
    ends = EXTREME * (2.0 * np.vstack([np.eye(size), 1 - np.eye(size)]) - 1.0)
    logits = np.vstack([ends - ends.mean(axis=1, keepdims=True), np.zeros((1, size))])
    # As many texts, and as many points at a time, as elsewhere: one program serves all.
    count = max(len(logits), len(texts.known.labels))
    readings = texts.plain(np.resize(logits, (count, size)))
    labels = np.resize(np.arange(size), count)
    loc, scale = target.prior
    points = loc + scale * np.clip(rng.normal(0, FAR / 2, (POINTS, target.size)), -FAR, FAR)
    points[0], points[1] = loc - FAR * scale, loc + FAR * scale
    bad = {}
    for kind in (np.float64, PRECISION):
        given = jax.tree.map(lambda x, kind=kind: np.asarray(x, kind), (target.prior, readings))
        bad[kind] = 0
        for some in np.split(points, POINTS // FEW):
            value, slope = _density(target)(jnp.asarray(some, kind), *given, labels)
            bad[kind] += int((~(np.isfinite(value) & np.isfinite(slope).all(axis=1))).sum())
    double, single = bad.values()
    where = f"logits of ±{EXTREME:.0f} and parameters up to {FAR:.0f} prior deviations out"
    figures = {"points": POINTS, "not_finite": double, "not_finite_float32": single}
    if double:
        words = f"not finite at {double} of {POINTS} points with {where}"
        return Finding(name, FAIL, words, figures)
    if single:
        words = f"finite, but in 32 bits not at {single} of {POINTS} points with {where}"
        return Finding(name, WARN, words, figures)
    return Finding(name, PASS, f"finite with {where}", figures)


def _gradients(texts: Texts, rng: np.random.Generator) -> Finding:
    target = texts.target
    given = target.prior, texts.readings, texts.known.labels
    loc, scale = target.prior
    points = loc + scale * rng.normal(0, NEAR, (FEW, target.size))
    slope = np.asarray(_density(target)(points, *given)[1]) * scale
    steps = STEP * scale * np.eye(target.size)
    moved = [(points[:, None] + sign * steps[None]).reshape(-1, target.size) for sign in (1, -1)]
    above, below = (np.asarray(_value(target)(each, *given)) for each in moved)
    difference = (above - below).reshape(slope.shape) / (2 * STEP)
    errors = np.abs(slope - difference) / (1.0 + np.abs(difference))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    # Of the coordinate that is wrong most often: one that is cut off is one of many.
    share = float((errors > SLOPE_TOLERANCE).mean(axis=0).max())
    worst = float(errors.max())
    figures = {"worst_error": worst, "share_beyond": share, "tolerance": SLOPE_TOLERANCE}
    if worst <= SLOPE_TOLERANCE:
        words = f"agree with finite differences to {worst:.0e}"
        return Finding("gradients", PASS, words, figures)
    place = target.coordinates[int(errors.max(axis=0).argmax())]
    words = f"off by {worst:.1e} in {place}; wrong at {100 * share:.0f} % of points"
    # A kink is met by few points; a gradient that was cut off is wrong at most.
    return Finding("gradients", FAIL if share > 0.1 else WARN, words, figures)


def _rows(texts: Texts, rng: np.random.Generator) -> Finding:
    """Whether a text's probabilities depend on that text alone, and padding is ignored."""
    target, whole, labels = texts.target, texts.readings, texts.known.labels
    count = len(labels)
    loc, scale = target.prior
    points = jnp.asarray(loc + scale * rng.normal(0, NEAR, (FEW, target.size)))
    predict = predictions(target)
    expected = np.asarray(predict(points, whole))
    order = rng.permutation(count)
    extra = {name: values[order] for name, values in whole.covariates.items()}
    mixed = whole._replace(logits=whole.logits[order], covariates=extra)
    # As data sets are padded where they are fitted.
    rows = count + PADDING
    extra = {name: repeat_rows(values, rows) for name, values in whole.covariates.items()}
    padded = whole._replace(logits=pad_rows(whole.logits, rows, 0.0), covariates=extra)
    plain, with_padding = (
        np.column_stack(_density(target)(points, target.prior, *given))
        for given in ((whole, labels), (padded, pad_rows(labels, rows, -1)))
    )
    _, labels_seen = _pointwise(target)(points, whole, labels)
    # What is wrong, by how much, and how much is allowed.
    misses = {
        "padding": (
            "padding moves probabilities",
            np.asarray(predict(points, padded))[:, :count] - expected,
            SAME,
        ),
        "density": (
            "padding moves the log density or its gradient",
            (with_padding - plain) / (1.0 + np.abs(plain)),
            SAME,
        ),
        "order": (
            "the order of texts moves probabilities",
            np.asarray(predict(points, mixed)) - expected[:, order],
            SAME,
        ),
        "labels": (
            "the labels move what is predicted of their texts",
            np.asarray(labels_seen) - expected,
            SAME,
        ),
        "sum": ("probabilities miss one", expected.sum(axis=2) - 1, SUM_TOLERANCE),
    }
    figures, wrong = {}, []
    for name, (words, difference, tolerance) in misses.items():
        finite = np.where(np.isfinite(difference), np.abs(difference), np.inf)
        figures[name] = float(finite.max())
        if figures[name] > tolerance:
            wrong.append(f"{words} by {figures[name]:.1e}")
    words = "; ".join(wrong) or "padding and the order of texts change nothing; they sum to one"
    return Finding("single texts", FAIL if wrong else PASS, words, figures)


@lru_cache(maxsize=8)
def _density(target: Target):
    return compiled(jax.vmap(jax.value_and_grad(target.log_density), (0, None, None, None)))


@lru_cache(maxsize=8)
def _value(target: Target):
    return compiled(jax.vmap(target.log_density, (0, None, None, None)))


@lru_cache(maxsize=8)
def _pointwise(target: Target):
    return compiled(jax.vmap(target.pointwise, (0, None, None)))

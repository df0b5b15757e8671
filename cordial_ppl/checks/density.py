"""Checks of a channel's log density: finite, differentiable, and a sum over single texts."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from cordial_ppl.arrays import pad_rows, repeat_rows
from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.sampler import PRECISION
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

POINTS, FEW = 64, 16
NEAR, FAR = 1.0, 6.0
"""Standard deviations of the prior out to which a density is looked at."""

EXTREME = 60.0
"""Logits of an extreme reading, nats."""

STEP = 1e-5
SLOPE_TOLERANCE = 1e-4
SAME = 1e-9
SUM_TOLERANCE = 1e-6
PADDING = 5


def check_density(texts: Texts, rng: np.random.Generator) -> list[Finding]:
    """Check the log density and its gradient; where it is not finite the rest is left out."""
    target, readings, labels = texts.target, texts.readings, texts.known.labels
    with jax.enable_x64(True):
        centre = np.asarray(target.prior.loc)
        value, slope = _density(target)(np.tile(centre, (FEW, 1)), target.prior, readings, labels)
        if not (np.isfinite(value).all() and np.isfinite(slope).all()):
            words = f"log density {float(value[0])} at the prior's location; its gradient " + (
                "is finite" if np.isfinite(slope).all() else "is not"
            )
            return [Finding("finite density", FAIL, words)]
        return [
            _extremes(texts, rng),
            _gradients(target, readings, labels, rng),
            _rows(texts, rng),
        ]


def _extremes(texts: Texts, rng: np.random.Generator) -> Finding:
    target, size = texts.target, texts.target.options
    ends = EXTREME * (2.0 * np.vstack([np.eye(size), 1 - np.eye(size)]) - 1.0)
    logits = np.vstack([ends - ends.mean(axis=1, keepdims=True), np.zeros((1, size))])
    # As many texts, and as many points at a time, as elsewhere: one program serves all.
    count = max(len(logits), len(texts.known.labels))
    logits = np.resize(logits, (count, size))
    extra = {k: np.resize(v, count) for k, v in texts.known.covariates.items()}
    readings = Readings(texts.as_said(logits), np.full(size, 1 / size), extra)
    labels = np.resize(np.arange(size), count)
    loc, scale = target.prior
    points = loc + scale * np.clip(rng.normal(0, FAR / 2, (POINTS, target.size)), -FAR, FAR)
    points[0], points[1] = loc - FAR * scale, loc + FAR * scale
    found: list[list[np.ndarray]] = []
    for kind in (np.float64, PRECISION):
        own = jax.tree.map(lambda leaf, kind=kind: np.asarray(leaf, kind), (target.prior, readings))
        found.append([])
        for some in np.split(points, POINTS // FEW):
            value, slope = _density(target)(jnp.asarray(some, kind), *own, labels)
            found[-1].append(np.isfinite(value) & np.isfinite(slope).all(axis=1))
    bad, single = (int((~np.concatenate(each)).sum()) for each in found)
    where = f"logits of ±{EXTREME:.0f} and parameters up to {FAR:.0f} prior deviations out"
    figures = {"points": POINTS, "not_finite": bad, "not_finite_float32": single}
    if bad:
        words = f"not finite at {bad} of {POINTS} points with {where}"
        return Finding("finite density", FAIL, words, figures)
    if single:
        words = f"finite, but in 32 bits not at {single} of {POINTS} points with {where}"
        return Finding("finite density", WARN, words, figures)
    return Finding("finite density", PASS, f"finite with {where}", figures)


def _gradients(
    target: Target, readings: Readings, labels: np.ndarray, rng: np.random.Generator
) -> Finding:
    loc, scale = target.prior
    points = loc + scale * rng.normal(0, NEAR, (FEW, target.size))
    _, slope = _density(target)(points, target.prior, readings, labels)
    slope = np.asarray(slope) * scale
    steps = STEP * scale * np.eye(target.size)
    moved = [(points[:, None] + sign * steps[None]).reshape(-1, target.size) for sign in (1, -1)]
    given = target.prior, readings, labels
    above, below = (np.asarray(_value(target)(own, *given)) for own in moved)
    difference = (above - below).reshape(slope.shape) / (2 * STEP)
    errors = np.abs(slope - difference) / (1.0 + np.abs(difference))
    errors = np.where(np.isfinite(errors), errors, np.inf)
    # Of the coordinate that is wrong most often: one that is cut off is one of many.
    share = float((errors > SLOPE_TOLERANCE).mean(axis=0).max())
    worst = float(errors.max())
    place = target.coordinates[int(errors.max(axis=0).argmax())]
    figures = {"worst_error": worst, "share_beyond": share, "tolerance": SLOPE_TOLERANCE}
    words = f"agree with finite differences to {worst:.0e}"
    if worst <= SLOPE_TOLERANCE:
        return Finding("gradients", PASS, words, figures)
    words = f"off by {worst:.1e} in {place}; wrong at {100 * share:.0f} % of points"
    # A kink is met by few points; a gradient that was cut off is wrong at most.
    return Finding("gradients", FAIL if share > 0.1 else WARN, words, figures)


def _rows(texts: Texts, rng: np.random.Generator) -> Finding:
    """Whether a text's probabilities depend on that text alone, and padding counts nothing."""
    target, whole, labels = texts.target, texts.readings, texts.known.labels
    count = len(labels)
    loc, scale = target.prior
    points = jnp.asarray(loc + scale * rng.normal(0, NEAR, (FEW, target.size)))
    run = compiled(jax.vmap(target.probs, (0, None)))
    expected = np.asarray(run(points, whole))
    order = rng.permutation(count)
    extra = {name: values[order] for name, values in whole.covariates.items()}
    mixed = whole._replace(logits=whole.logits[order], covariates=extra)
    # As data sets are padded where they are fitted.
    rows = count + PADDING
    extra = {name: repeat_rows(values, rows) for name, values in whole.covariates.items()}
    padded = whole._replace(logits=pad_rows(whole.logits, rows, 0.0), covariates=extra)
    densities = [
        np.column_stack(_density(target)(points, target.prior, *own))
        for own in ((whole, labels), (padded, pad_rows(labels, rows, -1)))
    ]
    misses = {
        "padding moves probabilities by": _largest(
            np.asarray(run(points, padded))[:, :count] - expected
        ),
        "padding moves the log density or its gradient by": _largest(
            (densities[1] - densities[0]) / (1.0 + np.abs(densities[0]))
        ),
        "the order of texts moves probabilities by": _largest(
            np.asarray(run(points, mixed)) - expected[:, order]
        ),
        "what is predicted depends on the labels, by": _largest(
            np.asarray(_given(target)(points, whole, labels)) - expected
        ),
        "probabilities miss one by": _largest(expected.sum(axis=2) - 1),
    }
    tolerances = dict.fromkeys(misses, SAME) | {"probabilities miss one by": SUM_TOLERANCE}
    wrong = [f"{words} {miss:.1e}" for words, miss in misses.items() if miss > tolerances[words]]
    words = "; ".join(wrong) or "padding and the order of texts change nothing; they sum to one"
    names = "padding", "density", "order", "labels", "sum"
    figures: dict[str, float] = dict(zip(names, misses.values(), strict=True))
    return Finding("single texts", FAIL if wrong else PASS, words, figures)


def _largest(difference: np.ndarray) -> float:
    """The largest absolute difference; infinite where there is none."""
    return float(np.where(np.isfinite(difference), np.abs(difference), np.inf).max())


@lru_cache(maxsize=8)
def _density(target: Target):
    return compiled(jax.vmap(jax.value_and_grad(target.log_density), (0, None, None, None)))


@lru_cache(maxsize=8)
def _value(target: Target):
    return compiled(jax.vmap(target.log_density, (0, None, None, None)))


@lru_cache(maxsize=8)
def _given(target: Target):
    """Probabilities, with the labels in sight."""
    return compiled(jax.vmap(lambda *given: target.pointwise(*given)[1], (0, None, None)))

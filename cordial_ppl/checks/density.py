"""Checks of a channel's log density: finite, differentiable, and a sum over single texts."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from cordial_ppl.checks.finding import FAIL, PASS, WARN, Finding
from cordial_ppl.checks.texts import Texts
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.problem import PRECISION, in_precision
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
    count = len(logits)
    extra = {k: np.resize(v, count) for k, v in texts.known.covariates.items()}
    readings = Readings(logits, np.full(size, 1 / size), extra)
    labels = np.resize(np.arange(size), count)
    loc, scale = target.prior
    points = loc + scale * np.clip(rng.normal(0, FAR / 2, (POINTS, target.size)), -FAR, FAR)
    points[0], points[1] = loc - FAR * scale, loc + FAR * scale
    found = []
    for kind in (np.float64, PRECISION):
        own = target.prior, readings
        own = own if kind is np.float64 else in_precision(own)
        value, slope = _density(target)(jnp.asarray(points, kind), *own, labels)
        found.append(np.isfinite(value) & np.isfinite(slope).all(axis=1))
    bad, single = (int((~each).sum()) for each in found)
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
    worst, share = float(errors.max()), float((errors > SLOPE_TOLERANCE).mean())
    place = target.coordinates[int(errors.max(axis=0).argmax())]
    figures = {"worst_error": worst, "share_beyond": share, "tolerance": SLOPE_TOLERANCE}
    words = f"agree with finite differences to {worst:.0e}"
    if worst <= SLOPE_TOLERANCE:
        return Finding("gradients", PASS, words, figures)
    words = f"off by {worst:.1e} in {place}, {100 * share:.0f} % beyond {SLOPE_TOLERANCE:.0e}"
    # A kink is met by few points; a gradient that was cut off is wrong at most.
    return Finding("gradients", FAIL if share > 0.1 else WARN, words, figures)


def _rows(texts: Texts, rng: np.random.Generator) -> Finding:
    """Whether a text's probabilities depend on that text alone."""
    target, whole = texts.target, texts.readings
    count = len(whole.logits)
    loc, scale = target.prior
    points = jnp.asarray(loc + scale * rng.normal(0, NEAR, (8, target.size)))
    run = compiled(jax.vmap(target.probs, (0, None)))
    expected = np.asarray(run(points, whole))

    def take(rows: np.ndarray) -> Readings:
        extra = {name: values[rows] for name, values in whole.covariates.items()}
        return whole._replace(logits=whole.logits[rows], covariates=extra)

    order = rng.permutation(count)
    shuffled = np.abs(np.asarray(run(points, take(order))) - expected[:, order]).max()
    extra = {name: np.pad(values, (0, 5)) for name, values in whole.covariates.items()}
    padded = whole._replace(logits=np.pad(whole.logits, ((0, 5), (0, 0))), covariates=extra)
    padding = np.abs(np.asarray(run(points, padded))[:, :count] - expected).max()
    sums = np.abs(expected.sum(axis=2) - 1).max()
    figures = {"padding": padding, "order": shuffled, "sum": sums}
    figures = {name: float(value) for name, value in figures.items()}
    wrong = [
        words
        for value, words in (
            (padding, f"padding moves probabilities by {padding:.1e}"),
            (shuffled, f"the order of texts moves probabilities by {shuffled:.1e}"),
            (sums, f"probabilities miss one by {sums:.1e}"),
        )
        if not value <= (SAME if value is not sums else 1e-6)
    ]
    words = "; ".join(wrong) or "padding and the order of texts change nothing; they sum to one"
    return Finding("single texts", FAIL if wrong else PASS, words, figures)


@lru_cache(maxsize=8)
def _density(target: Target):
    return compiled(jax.vmap(jax.value_and_grad(target.log_density), (0, None, None, None)))


@lru_cache(maxsize=8)
def _value(target: Target):
    return compiled(jax.vmap(target.log_density, (0, None, None, None)))

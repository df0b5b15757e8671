"""Temperature scaling: one number that makes a reader more or less sure of itself."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import AnyArray, Logits, LogProbabilities

LOWEST, HIGHEST = 0.05, 200.0
"""Bounds of the temperature: separated classes push it to zero, a useless reader to infinity."""

MAX_STEPS = 200


class Temperature(NamedTuple):
    """Fitted temperature; above one the reader was overconfident."""

    temperature: Float[AnyArray, ""]


class _Search(NamedTuple):
    point: Array
    low: Array
    high: Array
    length: Array
    steps: Array


def fit_temperature(logits: Logits, labels: Int[AnyArray, " n"]) -> Temperature:
    """Maximise the likelihood of `softmax(logits / tau)` over `tau` in [0.05, 200].

    The log loss is convex in `1 / tau`, so its slope has one root: a Newton search for it, kept
    inside a bracket, which is halved where Newton's step does not shrink fast enough.

    Args:
        logits: readings `[n, K]`, nats.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The temperature: a bound where the likelihood has no maximum between them, one where every
        temperature is as likely (no labels, or readings that are all flat).

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    logits = jnp.asarray(logits)
    labels = jnp.asarray(labels)
    eps = jnp.finfo(logits.dtype).eps
    seen = (labels >= 0).astype(logits.dtype)
    chosen = jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)
    own = jnp.sum(chosen * logits, axis=1)

    def slope(log_tau: Array) -> tuple[Array, Array]:
        """The loss's slope in `1 / tau`, and how that changes with `log tau`: never upwards."""
        inverse = jnp.exp(-log_tau)
        probs = jax.nn.softmax(inverse * logits, axis=1)
        mean = jnp.sum(probs * logits, axis=1)
        variance = jnp.sum(probs * (logits - mean[:, None]) ** 2, axis=1)
        return jnp.sum(seen * (mean - own)), -inverse * jnp.sum(seen * variance)

    def going(search: _Search) -> Array:
        tolerance = 4.0 * eps * (1.0 + jnp.abs(search.point))
        return (search.length > tolerance) & (search.steps < MAX_STEPS)

    def step(search: _Search) -> _Search:
        value, change = slope(search.point)
        low = jnp.where(value > 0.0, search.point, search.low)
        high = jnp.where(value > 0.0, search.high, search.point)
        newton = search.point - value / jnp.where(change < 0.0, change, -jnp.inf)
        shrinks = jnp.abs(newton - search.point) <= 0.5 * search.length
        inside = (newton >= low) & (newton <= high) & (change < 0.0)
        point = jnp.where(inside & shrinks, newton, 0.5 * (low + high))
        return _Search(point, low, high, jnp.abs(point - search.point), search.steps + 1)

    low, high = jnp.log(jnp.asarray([LOWEST, HIGHEST], logits.dtype))
    at_low, at_high = slope(low)[0], slope(high)[0]
    start = _Search(0.5 * (low + high), low, high, high - low, jnp.zeros((), jnp.int32))
    root = jax.lax.while_loop(going, step, start).point
    log_tau = jnp.where(at_low <= 0.0, low, jnp.where(at_high >= 0.0, high, root))
    rounding = 64.0 * eps * jnp.max(jnp.abs(logits))
    flat = jnp.maximum(jnp.abs(at_low), jnp.abs(at_high)) <= rounding
    return Temperature(jnp.exp(jnp.where(flat, 0.0, log_tau)))


def temperature_log_probs(params: Temperature, logits: Logits) -> LogProbabilities:
    """Log probabilities `log softmax(logits / tau)`.

    Args:
        params: the temperature.
        logits: readings `[n, K]`, nats.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    return jax.nn.log_softmax(jnp.asarray(logits) / params.temperature, axis=1)

r"""What labels say of users' values: likelihoods and averages over a grid of values.

With one value a user, a grid does what sampling would, without error: the log likelihood of a
user's labels at every value is a row of sums, to which each further label adds one more row.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import CHUNK_ROWS, FLOOR, bucket, pad_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.personal.effects import Effect

WIDEST = 256
"""Entries of a text's average matrix that are worked out at once, which bounds the memory."""


def log_likelihoods(
    effect: Effect,
    probs: Float[np.ndarray, "n K"],
    labels: Int[np.ndarray, " n"],
    histogram: Float[np.ndarray, " K"],
) -> Float[np.ndarray, "n G"]:
    """Log likelihood in nats of each label at every value that its user may have.

    Args:
        effect: the effect.
        probs: the population's probabilities.
        labels: options 0..K-1.
        histogram: smoothed label histogram.
    """
    if not effect.linear:
        return _in_chunks(_likelihoods(effect), effect, histogram, (probs, 1.0), (labels, 0))
    matrices = _matrices(effect, tuple(histogram.tolist()))
    found = np.empty((len(labels), len(matrices)))
    for option in np.unique(labels):
        own = labels == option
        found[own] = probs[own] @ matrices[:, option].T
    return np.log(np.maximum(found, FLOOR, out=found), out=found)


def predict_values(
    effect: Effect,
    probs: Float[np.ndarray, "n K"],
    weights: Float[np.ndarray, "n G"],
    histogram: Float[np.ndarray, " K"],
) -> Float[np.ndarray, "n K"]:
    """Average an effect over the values of each text's user.

    Args:
        effect: the effect.
        probs: the population's probabilities.
        weights: probability of each value.
        histogram: smoothed label histogram.
    """
    if effect.linear:
        matrices, size = _matrices(effect, tuple(histogram.tolist())), probs.shape[1]
        at_once, parts = max(1, WIDEST // size), []
        for start in range(0, size, at_once):
            rows = matrices[:, start : start + at_once]
            means = (weights @ rows.reshape(len(rows), -1)).reshape(-1, rows.shape[1], size)
            parts.append(np.einsum("nzy,ny->nz", means, probs))
        total = np.concatenate(parts, axis=1)
    else:
        total = _in_chunks(_average(effect), effect, histogram, (probs, 1.0), (weights, 0.0))
    return total / total.sum(axis=1, keepdims=True)


def normalised(logs: Float[np.ndarray, "n G"]) -> Float[np.ndarray, "n G"]:
    """Probabilities of which these are the logarithms, up to a constant a row."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def highest(logs: Float[np.ndarray, "n G"], grid: Float[np.ndarray, " G"]) -> np.ndarray:
    """All weight on the highest value of each row; of several, on the one nearest to zero."""
    nearest = np.argsort(np.abs(grid), kind="stable")
    weights = np.zeros_like(logs)
    weights[np.arange(len(logs)), nearest[logs[:, nearest].argmax(axis=1)]] = 1.0
    return weights


def _in_chunks(
    program: Callable[..., Array], effect: Effect, histogram: np.ndarray, *texts: tuple
) -> np.ndarray:
    """Run a program on arrays of texts, which come with what fills their last rows."""
    count, parts = len(texts[0][0]), []
    grid, size = effect.grid(len(histogram)), min(bucket(count), CHUNK_ROWS)
    with jax.enable_x64(True):
        for start in range(0, count, size):
            own = [pad_rows(rows[start : start + size], size, fill) for rows, fill in texts]
            parts.append(np.asarray(program(*own, histogram, grid))[: count - start])
    return np.concatenate(parts)


@lru_cache(maxsize=2)
def _matrices(effect: Effect, histogram: tuple[float, ...]) -> Float[np.ndarray, "G K K"]:
    """Probability of each option (second axis) that a linear effect makes of each one (third)."""
    size = len(histogram)
    with jax.enable_x64(True):
        over_options = jax.vmap(effect.apply, (0, None, None))
        over_values = compiled(jax.vmap(over_options, (None, 0, None)))
        values, shares = jnp.asarray(effect.grid(size)), jnp.asarray(histogram)
        found = over_values(jnp.eye(size), values, shares)
    return np.ascontiguousarray(np.asarray(found).swapaxes(1, 2))


@cache
def _likelihoods(effect: Effect) -> Callable[..., Array]:
    def run(probs: Array, labels: Array, histogram: Array, grid: Array) -> Array:
        def at(value: Array) -> Array:
            moved = jax.vmap(effect.apply, (0, None, None))(probs, value, histogram)
            own = jnp.take_along_axis(moved, labels[:, None], axis=1)[:, 0]
            return jnp.log(jnp.maximum(own, FLOOR))

        return jax.lax.map(at, grid).T

    return compiled(run)


@cache
def _average(effect: Effect) -> Callable[..., Array]:
    def run(probs: Array, weights: Array, histogram: Array, grid: Array) -> Array:
        def add(total: Array, own: Any) -> tuple[Array, None]:
            value, weight = own
            moved = jax.vmap(effect.apply, (0, None, None))(probs, value, histogram)
            return total + weight[:, None] * moved, None

        return jax.lax.scan(add, jnp.zeros_like(probs), (grid, weights.T))[0]

    return compiled(run)

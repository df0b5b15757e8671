r"""What labels say of users' values: likelihoods and averages over a grid of values.

With one value a user, a grid does what sampling would, without error: the log likelihood of a
user's labels at every value is a row of sums, to which each further label adds one more row.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import FLOOR, chunks, pad_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.personal.effects import Effect

LEAST = 1e-300
SPREADS = 0.0125 * 2.0 ** np.arange(0, 8.25, 0.25)
"""Standard deviations of users' values that are told apart, in an effect's unit."""
_EDGES = [0.0, *np.sqrt(SPREADS[1:] * SPREADS[:-1]), math.inf]
SPREAD_PROBS = np.diff([math.erf(edge / math.sqrt(2)) for edge in _EDGES])
"""Prior probability of each: of what lies nearest to it under a half-normal of one unit."""


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
    grid, parts = effect.grid(probs.shape[1]), []
    with jax.enable_x64(True):
        for rows, size in chunks(len(labels)):
            own = pad_rows(probs[rows], size, 1.0), pad_rows(labels[rows], size, 0)
            found = np.asarray(_likelihoods(effect)(*own, histogram, grid))
            parts.append(found[:, : rows.stop - rows.start].T)
    return np.concatenate(parts)


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
    grid, parts = effect.grid(probs.shape[1]), []
    with jax.enable_x64(True):
        for rows, size in chunks(len(probs)):
            own = pad_rows(probs[rows], size, 1.0), pad_rows(weights[rows], size, 0.0)
            found = np.asarray(_average(effect)(*own, histogram, grid))
            parts.append(found[: rows.stop - rows.start])
    total = np.concatenate(parts)
    return total / total.sum(axis=1, keepdims=True)


def log_densities(grid: Float[np.ndarray, " G"], spreads: Float[np.ndarray, " S"]) -> np.ndarray:
    """Log densities of the values under normals around zero, in nats, shape ``[S, G]``."""
    logs = -0.5 * np.square(grid[None, :] / spreads[:, None])
    return logs - np.log(spreads * math.sqrt(2 * math.pi))[:, None]


def log_normals(grid: Float[np.ndarray, " G"], spreads: Float[np.ndarray, " S"]) -> np.ndarray:
    """Log probabilities of the values under normals around zero, in nats, shape ``[S, G]``.

    What lies beyond the grid counts for its end; a grid that begins at zero is of absolute values.
    """
    step = grid[1] - grid[0]
    logs = log_densities(grid, spreads) + np.log(step)
    for place in (0, -1):
        if grid[place] != 0:
            ends = (abs(grid[place]) + 0.5 * step) / (spreads * math.sqrt(2))
            tails = [0.5 * math.erfc(end) for end in ends]
            beyond = [math.log(tail) if tail else -math.inf for tail in tails]
            logs[:, place] = np.logaddexp(logs[:, place], beyond)
    logs[:, grid == 0] += math.log(0.5) if grid[0] == 0 else 0.0
    return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)


def log_mixtures(
    log_shares: Float[np.ndarray, "U S"], logs: Float[np.ndarray, "S G"]
) -> Float[np.ndarray, "U G"]:
    r"""Log of mixtures of priors, :math:`\log \sum_s e^{a_s} p_s(v)`, in nats.

    Products of matrices do it, in units of the largest prior of each value; a share below 1e-300
    counts as that much.
    """
    largest = logs.max(axis=0, keepdims=True)
    shares = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
    return np.log(np.maximum(shares, LEAST) @ np.exp(logs - largest)) + largest


def log_evidence(
    totals: Float[np.ndarray, "U G"], logs: Float[np.ndarray, "S G"]
) -> Float[np.ndarray, "U S"]:
    r"""Log probability of each user's labels if values have this prior, in nats.

    .. math:: \log \sum_g p_s(v_g)\, \exp L_u(v_g)

    A spread under which a user's labels are less probable than 1e-300 times those of the best is
    taken to be as probable as that.

    Args:
        totals: log likelihood L of each user's labels at every value.
        logs: log prior of the values, one row a spread.
    """
    widest = logs.max(axis=0, keepdims=True)
    weights = totals + widest
    largest = weights.max(axis=1, keepdims=True)
    found = np.exp(weights - largest) @ np.exp(logs - widest).T
    return largest + np.log(np.maximum(found, LEAST))


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


@cache
def _likelihoods(effect: Effect) -> Callable[..., Array]:
    def run(probs: Array, labels: Array, histogram: Array, grid: Array) -> Array:
        def at(value: Array) -> Array:
            moved = jax.vmap(effect.apply, (0, None, None))(probs, value, histogram)
            own = jnp.take_along_axis(moved, labels[:, None], axis=1)[:, 0]
            return jnp.log(jnp.maximum(own, FLOOR))

        return jax.lax.map(at, grid)

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

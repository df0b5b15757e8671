"""Importance weights: how far a weighted sample can be believed, and resampling it.

Weights are kept as logarithms.  Pareto smoothing and the diagnostic k-hat follow Vehtari, Simpson,
Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling", JMLR 25(72); the fit of the
generalised Pareto distribution is Zhang and Stephens (2009), Technometrics 51(3).
"""

from math import ceil, floor, sqrt

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

KHAT_LIMIT = 0.7


def normalise(log_weights: Float[Array, " S"]) -> Float[Array, " S"]:
    """Shift log weights so that the weights sum to one."""
    shifted = log_weights - jnp.max(log_weights)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted)))


def effective_sample_size(log_weights: Float[Array, " S"]) -> Float[Array, ""]:
    r"""Effective number of draws behind weighted averages.

    .. math:: \mathrm{ESS} = (\sum_s w_s)^2 / \sum_s w_s^2

    Args:
        log_weights: unnormalised log weights in nats.

    Returns:
        A number between 1 and S.
    """
    weights = jnp.exp(log_weights - jnp.max(log_weights))
    return jnp.sum(weights) ** 2 / jnp.sum(weights**2)


def resample(
    start: Float[Array, ""], log_weights: Float[Array, " S"], draws: int
) -> Int[Array, " m"]:
    """Indices of a systematic resample: each draw appears ``draws * w`` times, rounded at random.

    Args:
        start: a uniform random number in [0, 1): where the comb of ``draws`` points begins.
        log_weights: unnormalised log weights in nats.
        draws: how many indices to return.
    """
    total = _cumulative(jnp.exp(log_weights - jnp.max(log_weights)))
    comb = (jnp.arange(draws, dtype=total.dtype) + start) / draws * total[-1]
    # Rounding must not carry the last tooth past the last draw that has weight.
    comb = jnp.minimum(comb, jnp.nextafter(total[-1], jnp.zeros_like(total[-1])))
    found = jnp.searchsorted(total, comb, side="right")
    return jnp.minimum(found, log_weights.shape[0] - 1).astype(jnp.int32)


def _cumulative(values: Float[Array, " S"]) -> Float[Array, " S"]:
    """Cumulative sum by products with triangles of ones, which compile to little code.

    Neighbours may be out of order by rounding, which moves a tooth of the comb no further.
    """
    count = values.shape[0]
    width = ceil(sqrt(count))
    rows = jnp.pad(values, (0, width**2 - count)).reshape(width, width)
    within = rows @ jnp.triu(jnp.ones((width, width), values.dtype))
    before = jnp.tril(jnp.ones((width, width), values.dtype), -1) @ within[:, -1]
    return (within + before[:, None]).reshape(-1)[:count]


def pareto_smooth(
    log_weights: Float[Array, " S"],
) -> tuple[Float[Array, " S"], Float[Array, ""]]:
    """Replace the largest weights by quantiles of a fitted Pareto tail.

    Args:
        log_weights: unnormalised log weights in nats.

    Returns:
        Normalised smoothed log weights, and the tail's shape k-hat: below 0.5 the weights are
        reliable, above 0.7 averages under them are not.  Weights without a spread in their tail
        have k-hat 0; where a few draws have all the weight, it is infinite.
    """
    draws = log_weights.shape[0]
    tail = ceil(min(0.2 * draws, 3 * sqrt(draws)))
    shifted = log_weights - jnp.max(log_weights)
    # Only the tail need be sorted, largest first; without the barrier XLA sorts all of them.
    top, order = jax.lax.optimization_barrier(jax.lax.top_k(shifted, tail + 1))
    cutoff, largest = jnp.exp(top[tail]), order[:tail][::-1]
    excess = jnp.exp(top[:tail][::-1]) - cutoff
    shape, scale = _fit_pareto(excess)
    levels = (jnp.arange(tail, dtype=shifted.dtype) + 0.5) / tail
    quantiles = scale * _pareto_quantile(levels, shape)
    smoothed = shifted.at[largest].set(jnp.minimum(jnp.log(quantiles + cutoff), 0.0))
    usable = jnp.isfinite(shape) & jnp.all(jnp.isfinite(smoothed[largest]))
    kept = normalise(jnp.where(usable, smoothed, shifted))
    # A tail without a shape is flat, or one draw has all the weight, or no weight is a number.
    degenerate = jnp.where(excess[-1] == 0, 0.0, jnp.inf)
    return kept, jnp.where(jnp.isfinite(shape), shape, degenerate)


def _pareto_quantile(levels: Array, shape: Array) -> Array:
    """Quantiles of the generalised Pareto distribution of scale one."""
    near_zero = jnp.abs(shape) < 1e-8
    safe = jnp.where(near_zero, 1.0, shape)
    return jnp.where(near_zero, -jnp.log1p(-levels), jnp.expm1(-safe * jnp.log1p(-levels)) / safe)


def _fit_pareto(excess: Float[Array, " m"]) -> tuple[Array, Array]:
    """Shape and scale of a generalised Pareto distribution, given its sorted sample.

    The posterior mean of theta over a grid; the shape is shrunk to 0.5 with the weight of ten
    observations.
    """
    count = excess.shape[0]
    points = 30 + floor(sqrt(count))
    quartile = excess[floor(count / 4 + 0.5) - 1]
    spacing = 1 - jnp.sqrt(points / (jnp.arange(1, points + 1, dtype=excess.dtype) - 0.5))
    theta = 1 / excess[-1] + spacing / (3 * quartile)
    slopes = jnp.mean(jnp.log1p(-theta[:, None] * excess[None, :]), axis=1)
    likelihood = count * (jnp.log(-theta / slopes) - slopes - 1)
    theta_mean = jnp.sum(theta * jax.nn.softmax(likelihood))
    shape = jnp.mean(jnp.log1p(-theta_mean * excess))
    scale = -shape / theta_mean
    return (count * shape + 10 * 0.5) / (count + 10), scale

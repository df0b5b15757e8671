"""Importance weights: how far a weighted sample can be believed, and resampling it.

Weights are kept as logarithms.  Pareto smoothing and the diagnostic k-hat follow Vehtari, Simpson,
Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling", JMLR 25(72); the fit of the
generalised Pareto distribution is Zhang and Stephens (2009), Technometrics 51(3).

Functions take arrays of NumPy, or of JAX within a compiled program.
"""

from math import ceil, floor, log10, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.runtime.arrays import AnyArray, replaced


def khat_limit(draws: int) -> float:
    r"""Compute the Pareto shape above which averages under so many weights are not reliable.

    .. math:: \min(1 - 1 / \log_{10} S,\; 0.7)

    Args:
        draws: number of weights S.
    """
    return min(1 - 1 / log10(max(draws, 2)), 0.7)


def normalise(log_weights: Float[AnyArray, " S"]) -> Any:
    """Shift log weights so that the weights sum to one."""
    xp = log_weights.__array_namespace__()
    shifted = log_weights - xp.max(log_weights)
    return shifted - xp.log(xp.sum(xp.exp(shifted)))


def effective_sample_size(log_weights: Float[AnyArray, " S"]) -> Any:
    r"""Compute the effective number of draws behind weighted averages.

    .. math:: \mathrm{ESS} = (\sum_s w_s)^2 / \sum_s w_s^2

    Args:
        log_weights: unnormalised log weights in nats.

    Returns:
        A number between 1 and S.
    """
    xp = log_weights.__array_namespace__()
    weights = xp.exp(log_weights - xp.max(log_weights))
    return xp.sum(weights) ** 2 / xp.sum(weights**2)


def resample(
    start: float | Float[Any, ""], log_weights: Float[AnyArray, " S"], draws: int
) -> Int[AnyArray, " m"]:
    """Resample systematically: each draw appears ``draws * w`` times, rounded at random.

    Args:
        start: a uniform random number in [0, 1): offset of the ``draws`` evenly spaced points.
        log_weights: unnormalised log weights in nats.
        draws: how many indices to return.
    """
    xp = log_weights.__array_namespace__()
    total = xp.cumsum(xp.exp(log_weights - xp.max(log_weights)))
    points = (xp.arange(draws, dtype=total.dtype) + start) / draws * total[-1]
    # Rounding must not carry the last point past the last draw that has weight.
    points = xp.minimum(points, xp.nextafter(total[-1], xp.zeros_like(total[-1])))
    return xp.minimum(xp.searchsorted(total, points, side="right"), log_weights.shape[0] - 1)


# A tail without a shape, and weights that are no numbers, have their own k-hat.
@np.errstate(all="ignore")
def pareto_smooth(log_weights: Float[AnyArray, " S"]) -> tuple[Any, Any]:
    """Replace the largest weights by quantiles of a fitted Pareto tail.

    Args:
        log_weights: unnormalised log weights in nats.

    Returns:
        Normalised smoothed log weights, and the tail's shape k-hat (see :func:`khat_limit`).
        Weights without a spread in their tail have k-hat 0; where a few draws have all the weight,
        it is infinite.
    """
    xp, draws = log_weights.__array_namespace__(), log_weights.shape[0]
    tail = ceil(min(0.2 * draws, 3 * sqrt(draws)))
    shifted = log_weights - xp.max(log_weights)
    order = xp.argsort(shifted)[-tail - 1 :]
    top = xp.exp(shifted[order])
    cutoff, excess, largest = top[0], top[1:] - top[0], order[1:]
    shape, scale = _fit_pareto(excess)
    levels = (xp.arange(tail, dtype=shifted.dtype) + 0.5) / tail
    quantiles = scale * _pareto_quantile(levels, shape)
    logs = xp.minimum(xp.log(quantiles + cutoff), 0.0)
    usable = xp.isfinite(shape) & xp.all(xp.isfinite(logs))
    smoothed = replaced(shifted, largest, xp.where(usable, logs, shifted[largest]))
    # A tail without a shape is flat, or one draw has all the weight, or no weight is a number.
    degenerate = xp.where(excess[-1] == 0, 0.0, xp.inf).astype(shifted.dtype)
    return normalise(smoothed), xp.where(xp.isfinite(shape), shape, degenerate)


def _pareto_quantile(levels: Any, shape: Any) -> Any:
    """Compute quantiles of the generalised Pareto distribution of scale one."""
    xp = levels.__array_namespace__()
    near_zero = xp.abs(shape) < 1e-8
    safe = xp.where(near_zero, xp.ones_like(shape), shape)
    return xp.where(near_zero, -xp.log1p(-levels), xp.expm1(-safe * xp.log1p(-levels)) / safe)


def _fit_pareto(excess: Float[AnyArray, " m"]) -> tuple[Any, Any]:
    """Estimate shape and scale of a generalised Pareto distribution from its sorted sample.

    The posterior mean of theta over a grid; the shape is shrunk to 0.5 with the weight of ten
    observations.
    """
    xp, count = excess.__array_namespace__(), excess.shape[0]
    points = 30 + floor(sqrt(count))
    quartile = excess[floor(count / 4 + 0.5) - 1]
    spacing = 1 - xp.sqrt(points / (xp.arange(1, points + 1, dtype=excess.dtype) - 0.5))
    theta = 1 / excess[-1] + spacing / (3 * quartile)
    slopes = xp.mean(xp.log1p(-theta[:, None] * excess[None, :]), axis=1)
    likelihood = count * (xp.log(-theta / slopes) - slopes - 1)
    theta_mean = xp.sum(theta * xp.exp(normalise(likelihood)))
    shape = xp.mean(xp.log1p(-theta_mean * excess))
    return (count * shape + 10 * 0.5) / (count + 10), -shape / theta_mean

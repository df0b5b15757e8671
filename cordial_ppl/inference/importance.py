"""Importance weights: how far a weighted sample can be believed, and resampling it.

Weights are kept as logarithms.  Pareto smoothing and the diagnostic k-hat follow Vehtari, Simpson,
Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling", JMLR 25(72); the fit of the
generalised Pareto distribution is Zhang and Stephens (2009), Technometrics 51(3).

"""

from math import ceil, floor, log10, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float, Int


def khat_limit(draws: int) -> float:
    r"""Compute the Pareto shape above which averages under so many weights are not reliable.

    .. math:: \min(1 - 1 / \log_{10} S,\; 0.7)

    Args:
        draws: number of weights S.
    """
    return min(1 - 1 / log10(max(draws, 2)), 0.7)


def normalise(log_weights: Float[np.ndarray, " S"]) -> Any:
    """Shift log weights so that the weights sum to one."""
    shifted = log_weights - np.max(log_weights)
    return shifted - np.log(np.sum(np.exp(shifted)))


def effective_sample_size(log_weights: Float[np.ndarray, " S"]) -> Any:
    r"""Compute the effective number of draws behind weighted averages.

    .. math:: \mathrm{ESS} = (\sum_s w_s)^2 / \sum_s w_s^2

    Args:
        log_weights: unnormalised log weights in nats.

    Returns:
        A number between 1 and S.
    """
    weights = np.exp(log_weights - np.max(log_weights))
    return np.sum(weights) ** 2 / np.sum(weights**2)


def resample(
    start: float | Float[Any, ""], log_weights: Float[np.ndarray, " S"], draws: int
) -> Int[np.ndarray, " m"]:
    """Resample systematically: each draw appears ``draws * w`` times, rounded at random.

    Args:
        start: a uniform random number in [0, 1): offset of the ``draws`` evenly spaced points.
        log_weights: unnormalised log weights in nats.
        draws: how many indices to return.
    """
    total = np.cumsum(np.exp(log_weights - np.max(log_weights)))
    points = (np.arange(draws, dtype=total.dtype) + start) / draws * total[-1]
    # Rounding must not carry the last point past the last draw that has weight.
    points = np.minimum(points, np.nextafter(total[-1], np.zeros_like(total[-1])))
    index = np.searchsorted(total, points, side="right")
    return np.minimum(index, log_weights.shape[0] - 1)


# A tail without a shape, and weights that are no numbers, have their own k-hat.
@np.errstate(all="ignore")
def pareto_smooth(log_weights: Float[np.ndarray, " S"]) -> tuple[Any, Any]:
    """Replace the largest weights by quantiles of a fitted Pareto tail.

    Args:
        log_weights: unnormalised log weights in nats.

    Returns:
        Normalised smoothed log weights, and the tail's shape k-hat (see :func:`khat_limit`).
        Weights without a spread in their tail have k-hat 0; where a few draws have all the weight,
        it is infinite.
    """
    draws = log_weights.shape[0]
    tail = ceil(min(0.2 * draws, 3 * sqrt(draws)))
    shifted = log_weights - np.max(log_weights)
    order = np.argsort(shifted)[-tail - 1 :]
    top = np.exp(shifted[order])
    cutoff, excess, largest = top[0], top[1:] - top[0], order[1:]
    shape, scale = _fit_pareto(excess)
    levels = (np.arange(tail, dtype=shifted.dtype) + 0.5) / tail
    quantiles = scale * _pareto_quantile(levels, shape)
    logs = np.minimum(np.log(quantiles + cutoff), 0.0)
    usable = np.isfinite(shape) & np.all(np.isfinite(logs))
    smoothed = shifted.copy()
    smoothed[largest] = np.where(usable, logs, shifted[largest])
    # A tail without a shape is flat, or one draw has all the weight, or no weight is a number.
    degenerate = np.where(excess[-1] == 0, 0.0, np.inf).astype(shifted.dtype)
    return normalise(smoothed), np.where(np.isfinite(shape), shape, degenerate)


def _pareto_quantile(levels: Any, shape: Any) -> Any:
    """Compute quantiles of the generalised Pareto distribution of scale one."""
    near_zero = np.abs(shape) < 1e-8
    safe = np.where(near_zero, np.ones_like(shape), shape)
    return np.where(near_zero, -np.log1p(-levels), np.expm1(-safe * np.log1p(-levels)) / safe)


def _fit_pareto(excess: Float[np.ndarray, " m"]) -> tuple[Any, Any]:
    """Estimate shape and scale of a generalised Pareto distribution from its sorted sample.

    The posterior mean of theta over a grid; the shape is shrunk to 0.5 with the weight of ten
    observations.
    """
    count = excess.shape[0]
    points = 30 + floor(sqrt(count))
    quartile = excess[floor(count / 4 + 0.5) - 1]
    spacing = 1 - np.sqrt(points / (np.arange(1, points + 1, dtype=excess.dtype) - 0.5))
    theta = 1 / excess[-1] + spacing / (3 * quartile)
    slopes = np.mean(np.log1p(-theta[:, None] * excess[None, :]), axis=1)
    likelihood = count * (np.log(-theta / slopes) - slopes - 1)
    theta_mean = np.sum(theta * np.exp(normalise(likelihood)))
    shape = np.mean(np.log1p(-theta_mean * excess))
    scale = -shape / theta_mean
    return (count * shape + 10 * 0.5) / (count + 10), scale

"""Distributions of the options near shares that may be negative."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

EDGE = 1e-4
"""Least distance of a mean from the ends of the scale, in units of its range; less is no share."""

STEEPEST, ROUNDS = 80.0, 40
"""Largest exponential tilt over the scale, and steps towards it at most."""

CLOSE, TINY = 1e-9, 1e-12
"""How near a mean comes, and the least slope of a step."""


def tilt(
    shares: Float[np.ndarray, "S C K"],
    value: Float[np.ndarray, " K"],
    groups: Int[np.ndarray, " C"],
) -> Float[np.ndarray, "S C K"]:
    """Take near distributions of the same mean where shares are negative: an exponential tilt.

    Args:
        shares: of each cell and option, which sum to one in each group.
        value: value of each option.
        groups: group of each cell, in order.
    """
    starts = np.unique(groups, return_index=True)[1]

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts, axis=1)

    z = (value - value.min()) / np.ptp(value)
    mean = total(shares @ z).clip(EDGE, 1 - EDGE)
    # Options first: sums over a short last axis are slow.
    logs = np.log(np.maximum(np.moveaxis(shares, 2, 0).copy(), EDGE / len(z)))
    low, high, at = np.full_like(mean, -STEEPEST), np.full_like(mean, STEEPEST), 0.0 * mean
    near = logs
    for _ in range(ROUNDS):
        near = logs + at[:, groups] * z[:, None, None]
        near -= np.maximum.reduceat(near.max(axis=0), starts, axis=1)[:, groups]
        near = np.exp(near)
        near /= total(near.sum(axis=0))[:, groups]
        first, second = (total(np.tensordot(power, near, 1)) for power in (z, z**2))
        excess = first - mean
        if np.abs(excess).max() <= CLOSE:
            break
        low, high = np.where(excess < 0, at, low), np.where(excess < 0, high, at)
        # Newton's step on log odds, or half of what is left where it would leave that.
        slope = (second - first**2) / np.maximum(first * (1 - first), TINY)
        at = at - (logit(first) - logit(mean)) / np.maximum(slope, TINY)
        at = np.where((low <= at) & (at <= high), at, (low + high) / 2)
    near = np.where(near < EDGE, 0.0, near)
    near /= total(near.sum(axis=0))[:, groups]
    return np.moveaxis(near, 0, 2).copy()

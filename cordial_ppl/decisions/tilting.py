"""Distributions of the options near shares that may be negative."""

import numpy as np
from jaxtyping import Float, Int

EDGE = 1e-4
"""Least distance of a mean from the ends of the scale, in units of its range; less is no share."""

STEEPEST, HALVINGS = 80.0, 22
"""Largest exponential tilt over the scale, and halvings of its range."""


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
    logs = np.log(np.maximum(shares, EDGE / len(z)))
    low, high = np.full_like(mean, -STEEPEST), np.full_like(mean, STEEPEST)
    near = shares
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        near = logs + middle[:, groups, None] * z
        near -= np.maximum.reduceat(near.max(axis=2), starts, axis=1)[:, groups, None]
        near = np.exp(near)
        near /= total(near.sum(axis=2))[:, groups, None]
        below = total(near @ z) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    near = np.where(near < EDGE, 0.0, near)
    return near / total(near.sum(axis=2))[:, groups, None]

"""Distributions of the options near shares that may be negative, in cells and in their groups."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

EDGE = 1e-4
"""Least distance of a mean from the ends of the scale, in units of its range; less is no share."""

STEEPEST, ROUNDS = 80.0, 40
"""Largest exponential tilt over the scale, and steps towards it at most."""

CLOSE, TINY = 1e-9, 1e-12
"""How near a mean comes, and the least slope of a step."""

RAKES, RAKED = 10, 1e-3
"""Scalings of the options at most, and how near shares come: a thousandth of the texts."""


def tilt_cells(
    shares: Float[np.ndarray, "S C K"],
    apart: Float[np.ndarray, "S C K"],
    sizes: Float[np.ndarray, " C"],
    value: Float[np.ndarray, " K"],
    groups: Int[np.ndarray, " C"],
) -> Float[np.ndarray, "S C K"]:
    """Take near distributions of cells that add up to those near the shares of their group.

    If each cell were tilted by itself, an option that is rare in some of them would vary less in
    the group than the draws say.

    Args:
        shares: of each cell and option, which sum to one in each cell.
        apart: the same without what the cells of a group have in common, which is left to those
            that can give it: options are scaled alike in all of them.
        sizes: texts of each cell; one of none is tilted by itself.
        value: value of each option.
        groups: group of each cell, in order.
    """
    some, cells = sizes > 0, np.arange(len(sizes))
    codes = np.unique(groups[some], return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if len(starts) == len(codes):
        return tilt(shares, value, cells)
    near, sizes = tilt(np.where(some[:, None], apart, shares), value, cells), sizes[some]
    sums = np.add.reduceat(shares[:, some] * sizes[:, None], starts, axis=1)
    totals = sums / np.add.reduceat(sizes, starts)[:, None]
    near[:, some] = rake(near[:, some], sizes, tilt(totals, value, cells[: len(starts)]), codes)
    return near


def rake(
    shares: Float[np.ndarray, "S C K"],
    sizes: Float[np.ndarray, " C"],
    totals: Float[np.ndarray, "S G K"],
    groups: Int[np.ndarray, " C"],
) -> Float[np.ndarray, "S C K"]:
    """Scale the options of a group's cells alike, so that together they have the group's shares.

    Source: Deming and Stephan (1940), "On a least squares adjustment of a sampled frequency table
    when the expected marginal totals are known" (iterative proportional fitting).

    Args:
        shares: of each cell, which sum to one.
        sizes: texts of each cell, above zero.
        totals: shares of each group, which sum to one.
        groups: group of each cell, 0 and up without gaps, in order.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    weights = sizes / np.add.reduceat(sizes, starts)[groups]
    # Options first: sums over a short last axis are slow.
    near, wanted = (np.moveaxis(each.clip(EDGE), 2, 0).copy() for each in (shares, totals))
    for _ in range(RAKES):
        sums = np.add.reduceat(near * weights, starts, axis=2)
        if np.abs(sums - wanted).max() <= RAKED:
            break
        near *= (wanted / sums)[..., groups]
        near /= near.sum(axis=0)
    near = np.where(near > EDGE, near, 0.0)
    return np.moveaxis(near / near.sum(axis=0), 0, 2).copy()


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

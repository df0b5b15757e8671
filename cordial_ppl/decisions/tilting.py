"""Distributions of the options near shares that may be negative, in cells and in their groups."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

from cordial_ppl.decisions.corpus import Draws, Values

EDGE = 1e-4
"""Least distance of a mean from the ends of the scale, in units of its range; less is no share."""

STEEPEST, ROUNDS = 80.0, 40
"""Largest exponential tilt over the scale, and steps towards it at most."""

CLOSE, TINY = 1e-9, 1e-12
"""How near a mean comes, and the least slope of a step."""

RAKES = 10
"""Scalings of the options of cells to those of their group."""

Groups = Int[np.ndarray, " C"]
"""The group of each cell, in order."""


def tilt_cells(
    shares: Draws, base: Draws, sizes: Float[np.ndarray, " C"], value: Values, groups: Groups
) -> Draws:
    """Take near distributions of cells that add up to those near the shares of their group.

    If each cell were tilted by itself, an option that is rare in some of them would vary less in
    the group than the draws say.  Cells are tilted without the effect of their group, which then
    scales each option alike in all of them: the means of cells are not those of their shares, only
    the means of groups are.

    Args:
        shares: of each cell and option, which sum to one in each cell.
        base: the same without the effect of the group.
        sizes: texts of each cell; one of none is tilted by itself.
        value: value of each option.
        groups: group of each cell, in order.
    """
    some, cells = sizes > 0, np.arange(len(sizes))
    codes = np.unique(groups[some], return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if len(starts) == len(codes):
        return tilt(shares, value, cells)
    near = tilt(np.where(some[:, None], base, shares), value, cells)
    weights = sizes[some] / np.add.reduceat(sizes[some], starts)[codes]
    totals = np.add.reduceat(shares[:, some] * weights[:, None], starts, axis=1)
    near[:, some] = rake(near[:, some], weights, tilt(totals, value, cells[: len(starts)]), codes)
    return near


def rake(
    shares: Draws,
    weights: Float[np.ndarray, " C"],
    totals: Float[np.ndarray, "S G K"],
    groups: Groups,
) -> Draws:
    """Scale the options of a group's cells alike, so that together they have the group's shares.

    Source: Deming and Stephan (1940), "On a least squares adjustment of a sampled frequency table
    when the expected marginal totals are known" (iterative proportional fitting).

    Args:
        shares: of each cell, which sum to one.
        weights: of the cells, which sum to one in each group.
        totals: shares of each group, which sum to one.
        groups: group of each cell, 0 and up without gaps, in order.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    # Options first: sums over a short last axis are slow.
    near, wanted = (np.moveaxis(each, 2, 0).copy() for each in (shares.clip(EDGE), totals))

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values * weights, starts, axis=2)

    for _ in range(RAKES):
        near /= near.sum(axis=0)
        near *= (wanted.clip(EDGE) / total(near))[..., groups]
    near /= near.sum(axis=0)
    # Rounds converge slowly where a cell lacks an option: options with too many texts give the rest
    # to those with too few, alike in all cells.
    sums = total(near)
    lack = np.maximum(wanted - sums, 0)
    lack /= np.maximum(lack.sum(axis=0), TINY)
    kept = near * np.minimum(wanted / sums, 1)[..., groups]
    near = kept + (1 - kept.sum(axis=0)) * lack[..., groups]
    return np.moveaxis(near, 0, 2).copy()


def tilt(shares: Draws, value: Values, groups: Groups) -> Draws:
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

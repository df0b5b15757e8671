"""Fewer draws that predict what all of them predict."""

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError

DIRECTIONS = 16
"""Principal directions in which draws are parted."""

SWEEPS = 2
"""How often each part's draw is chosen, given those of the others."""

SPLIT = 0.5
"""Share of the parts that are halved at a time, those of the largest scatter."""

NEGLIGIBLE = 1e-12
"""Scatter, as a share of all, below which the draws of a part are taken for one."""


def thin(
    draws: Float[np.ndarray, "S P"],
    weights: Float[np.ndarray, " S"],
    size: int,
    features: Float[np.ndarray, "S F"] | None = None,
) -> tuple[Float[np.ndarray, "D P"], Float[np.ndarray, " D"]]:
    r"""Replace draws by few weighted ones under which the features have nearly the same means.

    .. math:: \sum_d v_d\, f(\phi_d) \approx \sum_s w_s\, f(\phi_s)

    Draws are parted where their features differ most, and one of each part is kept, with the
    weight of its part: the one that makes up best for what the other parts' draws are off their
    means. Nothing is random.

    Args:
        draws: unconstrained parameters.
        weights: of the draws, not negative; they sum to one.
        size: how many draws are wanted, at least 1.
        features: functions of the draws whose means matter, in one unit, such as predicted
            probabilities; by default the draws themselves, each coordinate in its own spread.

    Returns:
        At most ``size`` of the draws, and their weights, which sum to one; all of them where there
        are no more.

    Raises:
        InputError: ``size`` is below 1.
    """
    if size < 1:
        raise InputError(f"size must be at least 1; got {size}.")
    if len(draws) <= size:
        return draws, weights
    used = np.flatnonzero(weights > 0)
    kept, share = draws[used], weights[used] / weights[used].sum()
    if len(used) <= size:
        return kept, share
    centred = _centre(kept if features is None else features[used], share)
    if features is None:
        spread = np.sqrt(share @ centred**2)
        centred = centred / np.where(spread > 0, spread, 1.0)
    part = _partition(_directions(centred, share), share, size)
    chosen, mass = _represent(centred, share, part)
    return kept[chosen], mass


def _centre(values: np.ndarray, weights: np.ndarray) -> Float[np.ndarray, "S F"]:
    return (values - weights @ values).astype(np.float32)


def _directions(
    centred: Float[np.ndarray, "S F"], weights: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "S Q"]:
    """Leading principal components, by a step of subspace iteration from a fixed start."""
    width = centred.shape[1]
    if width > DIRECTIONS:
        start = np.random.default_rng(0).normal(size=(width, DIRECTIONS)).astype(np.float32)
        scaled = centred * np.sqrt(weights, dtype=np.float32)[:, None]
        centred = centred @ np.linalg.qr(scaled.T @ (scaled @ start))[0]
    centred = centred.astype(np.float64)
    _, axes = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    return centred @ axes


def _partition(
    points: Float[np.ndarray, "S Q"], weights: Float[np.ndarray, " S"], size: int
) -> Int[np.ndarray, " S"]:
    """Number of each point's part: those of the largest scatter are cut in two at their mean."""
    rows = np.arange(len(points))
    part, count = np.zeros(len(points), int), 1
    # Sums of a part are differences of sums: the weights, the points, and their squares.
    terms = weights[:, None] * np.concatenate([np.ones((len(points), 1)), points, points**2], 1)
    width = points.shape[1]
    while count < size:
        order = np.argsort(part, kind="stable")
        starts = np.searchsorted(part[order], np.arange(count))
        sums = np.add.reduceat(terms[order], starts)
        mean = sums[:, 1 : width + 1] / sums[:, :1]
        scatter = sums[:, width + 1 :] - sums[:, :1] * mean**2
        total = scatter.sum(axis=1)
        if count == 1:
            least = NEGLIGIBLE * total[0]
        cut = np.argsort(-total, kind="stable")
        cut = cut[: min(max(1, round(SPLIT * count)), size - count)]
        cut = cut[total[cut] > least]
        if not len(cut):
            break
        new = np.full(count, -1)
        new[cut] = count + np.arange(len(cut))
        axis = scatter.argmax(axis=1)[part]
        above = points[rows, axis] > mean[part, axis]
        part = np.where(above & (new[part] >= 0), new[part], part)
        count += len(cut)
    return part


def _represent(
    centred: Float[np.ndarray, "S F"], weights: Float[np.ndarray, " S"], part: Int[np.ndarray, " S"]
) -> tuple[Int[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """One draw of each part and the part's weight; errors of the parts' means cancel."""
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], np.arange(part.max() + 1))
    mass = np.add.reduceat(weights[order], starts)
    rows, own = centred[order], weights[order].astype(np.float32)
    means = np.add.reduceat(own[:, None] * rows, starts) / mass[:, None].astype(np.float32)
    off = (rows - means[part[order]]) * mass[part[order], None].astype(np.float32)
    square = np.einsum("sf,sf->s", off, off)
    bounds = list(zip(starts, [*starts[1:], len(order)], strict=True))
    total, chosen = np.zeros(off.shape[1], np.float32), np.full(len(bounds), -1)
    for _ in range(SWEEPS):
        for place, (first, last) in enumerate(bounds):
            if chosen[place] >= 0:
                total -= off[chosen[place]]
            best = first + np.argmin(square[first:last] + 2 * (off[first:last] @ total))
            chosen[place] = best
            total += off[best]
    return order[chosen], mass

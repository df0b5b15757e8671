"""Few weighted draws that predict what all draws of a posterior predict.

Draws are divided where their predictions differ most, and one draw stands for each part: a
stratified sample whose strata are found by principal direction divisive partitioning (Boley, 1998,
Data Mining and Knowledge Discovery 2) and whose errors are made to cancel.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError

PROBES = 192
"""Predictions that are kept as they are: a multiple of the rows that a program takes at a time."""

SCALES = 0.5, 1.0, 2.0
"""How decided made-up readings are, in units of the labelled ones."""

DIRECTIONS = 16
"""Principal directions in which draws are divided."""

SPLIT = 0.7
"""Share of the parts that are cut in two at a time: those of the largest scatter."""

SWEEPS = 2
"""How often the draw of each part is chosen, given those of the other parts."""

NEGLIGIBLE = 1e-9
"""Scatter, as a share of all, below which the draws of a part are alike."""


class Probes(NamedTuple):
    """Made-up readings, and the option of each whose predicted probability is kept.

    Attributes:
        rows: the labelled text whose covariates it has, shape ``[m]``.
        logits: centred logits, shape ``[m, K]``, or ``[m, R, K]`` of several readers.
        options: options 0..K-1, shape ``[m]``.
    """

    rows: Int[np.ndarray, " m"]
    logits: Float[np.ndarray, "m *readers K"]
    options: Int[np.ndarray, " m"]


def make_probes(logits: Float[np.ndarray, "n *readers K"], count: int = PROBES) -> Probes:
    """Readings like the labelled ones, but of any text: their options turned, and clear profiles.

    Five labelled texts say little of what other texts read like. A sixth of the probes are labelled
    readings, a third are such readings with their options turned in a circle, and half have one
    peak somewhere on the scale or beyond its ends; all but the first are made flatter or clearer.

    Args:
        logits: centred logits of the labelled texts, at least one.
        count: how many probes, at least 12.
    """
    rng, size = np.random.default_rng(0), logits.shape[-1]
    plain, peaked = count // 6, count // 2
    rows, turns = rng.integers(len(logits), size=count), rng.integers(size, size=count)
    scales = rng.choice(SCALES, count)
    turns[:plain], scales[:plain] = 0, 1.0
    spread = (..., *(None,) * (logits.ndim - 2), slice(None))
    columns = (np.arange(size) + turns[:, None]) % size
    made = np.take_along_axis(logits[rows], columns[spread], axis=-1)
    peaks = np.tile(np.linspace(-0.5, size - 0.5, -(-peaked // 3)), 3)[:peaked, None]
    profiles = -((np.arange(size) - peaks) ** 2)
    profiles -= profiles.mean(axis=1, keepdims=True)
    # Where a reader has not read a text, its logits are NaN.
    profiles *= (np.nanstd(logits) or 1.0) / profiles.std(axis=1, keepdims=True)
    made[-peaked:] = profiles[spread]
    scales[-peaked:] = np.repeat(SCALES, -(-peaked // 3))[:peaked]
    made = made * scales.reshape(count, *(1,) * (logits.ndim - 1))
    return Probes(rows, made, np.arange(count) % size)


def thin(
    features: Float[np.ndarray, "S F"], weights: Float[np.ndarray, " S"], size: int
) -> tuple[Int[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    r"""Choose few draws, and weights of theirs under which features keep their means.

    .. math:: \sum_d v_d\, f(\phi_{s_d}) \approx \sum_s w_s\, f(\phi_s)

    Nothing is random: the same draws in the same order give the same answer.

    Args:
        features: functions f of the draws, all in one unit, such as predicted probabilities.
        weights: w, weights of the draws, not negative, with a positive sum.
        size: how many draws are wanted, at least 1.

    Returns:
        Numbers of at most ``size`` draws, and their weights, which sum to one; all draws and their
        weights as they are where there are no more.

    Raises:
        InputError: ``size`` is below 1.
    """
    if size < 1:
        raise InputError(f"the number of draws to keep must be at least 1; got {size}.")
    if len(features) <= size:
        return np.arange(len(features)), weights
    used = np.flatnonzero(weights > 0)
    if len(used) <= size:
        return used, weights[used] / weights[used].sum()
    share = (weights[used] / weights[used].sum()).astype(np.float32)
    centred = features[used].astype(np.float32)
    centred -= share @ centred
    parts = _partition(_directions(centred, share), share, size)
    chosen, mass = _represent(centred, share, parts)
    return used[chosen], mass / mass.sum(dtype=np.float64)


def _directions(
    centred: Float[np.ndarray, "S F"], weights: Float[np.ndarray, " S"]
) -> Float[np.ndarray, "S Q"]:
    """Leading principal components, by one step of subspace iteration from a fixed start."""
    width = centred.shape[1]
    if width > DIRECTIONS:
        start = np.random.default_rng(0).normal(size=(width, DIRECTIONS)).astype(np.float32)
        image = (weights[:, None] * (centred @ start)).T @ centred
        centred = centred @ np.linalg.qr(image.T)[0]
    _, axes = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    return centred @ axes


def _partition(
    points: Float[np.ndarray, "S Q"], weights: Float[np.ndarray, " S"], size: int
) -> Int[np.ndarray, " S"]:
    """Part of each point: those of the largest scatter are cut at their mean, across its axis."""
    rows, width = np.arange(len(points)), points.shape[1]
    # In 64 bits: the scatter of a part is a difference of sums.
    points = points.astype(np.float64)
    terms = weights[:, None] * np.hstack([np.ones((len(points), 1)), points, points**2])
    parts, count, whole = np.zeros(len(points), int), 1, (weights @ points**2).sum()
    while count < size:
        order = np.argsort(parts, kind="stable")
        sums = np.add.reduceat(terms[order], np.searchsorted(parts[order], np.arange(count)))
        mass, means = sums[:, :1], sums[:, 1 : width + 1] / sums[:, :1]
        scatter = sums[:, width + 1 :] - mass * means**2
        total = scatter.sum(axis=1)
        cut = np.argsort(-total, kind="stable")[: min(max(1, round(SPLIT * count)), size - count)]
        cut = cut[total[cut] > NEGLIGIBLE * whole]
        if not len(cut):
            break
        names = np.arange(count)
        names[cut] = count + np.arange(len(cut))
        axis = scatter.argmax(axis=1)[parts]
        parts = np.where(points[rows, axis] > means[parts, axis], names[parts], parts)
        count += len(cut)
    return parts


def _represent(
    centred: Float[np.ndarray, "S F"],
    weights: Float[np.ndarray, " S"],
    parts: Int[np.ndarray, " S"],
) -> tuple[Int[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """One draw of each part, which makes up for what the others are off their parts' means."""
    order = np.argsort(parts, kind="stable")
    parts, rows, share = parts[order], centred[order], weights[order, None]
    starts = np.searchsorted(parts, np.arange(parts[-1] + 1))
    mass = np.add.reduceat(share, starts)
    off = (rows - (np.add.reduceat(share * rows, starts) / mass)[parts]) * mass[parts]
    halves = np.einsum("sf,sf->s", off, off) / 2
    ends = zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True)
    bounds = [(first, halves[first:last], off[first:last]) for first, last in ends]
    chosen, total = starts.tolist(), off[starts].sum(axis=0)
    for _ in range(SWEEPS):
        for place, (first, half, errors) in enumerate(bounds):
            total -= off[chosen[place]]
            chosen[place] = first + int((half + errors @ total).argmin())
            total += off[chosen[place]]
    return order[chosen], mass[:, 0]

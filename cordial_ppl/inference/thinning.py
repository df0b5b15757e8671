"""Few weighted draws that predict what all draws of a posterior predict.

Draws are divided where their predictions differ most, and one draw stands for each part: a
stratified sample whose errors are made to cancel.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError

PROBES = 192
"""Predictions that are kept as they are: a multiple of the rows that a program takes at a time."""

SCALES = 0.5, 1.0, 2.0
"""How decided made-up readings are, in units of the labelled ones."""

SWEEPS = 2
"""How often the draw of each part is chosen, given those of the other parts."""


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
    parts = _divide(centred, share, np.arange(len(used)), size)
    mass = np.array([share[own].sum() for own in parts])
    # What each draw is off the mean of its part, times what the part weighs.
    off = [
        whole * centred[own] - share[own] @ centred[own]
        for own, whole in zip(parts, mass, strict=True)
    ]
    halves = [np.vecdot(errors, errors) / 2 for errors in off]
    chosen, total = [0] * len(off), np.sum([errors[0] for errors in off], axis=0)
    for _ in range(SWEEPS):
        for place, (errors, half) in enumerate(zip(off, halves, strict=True)):
            total -= errors[chosen[place]]
            chosen[place] = int((half + errors @ total).argmin())
            total += errors[chosen[place]]
    rows = [own[at] for own, at in zip(parts, chosen, strict=True)]
    return used[rows], mass / mass.sum(dtype=np.float64)


def _divide(
    features: Float[np.ndarray, "S F"],
    weights: Float[np.ndarray, " S"],
    rows: Int[np.ndarray, " m"],
    count: int,
) -> list[Int[np.ndarray, " _"]]:
    """Divide draws into parts, each time at the mean of the feature that scatters most.

    Args:
        features: of all draws.
        weights: of all draws.
        rows: the draws to divide, at least ``count``.
        count: number of parts, shared out by weight.
    """
    if count == 1:
        return [rows]
    share = weights[rows] / weights[rows].sum()
    off = features[rows] - share @ features[rows]
    above = off[:, (share @ off**2).argmax()] > 0
    if not above.any() or above.all():
        return np.array_split(rows, count)
    most, least = min(count - 1, np.sum(~above)), max(1, count - np.sum(above))
    below = int(np.clip(round(count * share[~above].sum()), least, most))
    halves = (rows[~above], below), (rows[above], count - below)
    return [part for half, own in halves for part in _divide(features, weights, half, own)]

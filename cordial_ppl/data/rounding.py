"""Labels between options, such as half points and averages: which options they count for.

An average may be of the labels that several people gave a text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from cordial_ppl.data.numerals import is_counting
from cordial_ppl.data.scale import OTHER_SCALE, Scale
from cordial_ppl.errors import InputError, SettingNeeded, Where

ROUNDINGS = ("half-up", "nearest-even", "split")
"""How labels between options are rounded."""

COMBINATIONS = ("each", "mean", "median")
"""Treatments of several labels of a text."""


class Rounded(NamedTuple):
    """Options that labels are rounded to.

    Attributes:
        rows: The label that each entry belongs to, in increasing order, [m].
        labels: Positions of the options, 0..K-1, [m].
        weights: The weight of each entry; the weights of a label sum to one, [m].
    """

    rows: Int64[np.ndarray, " m"]
    labels: Int64[np.ndarray, " m"]
    weights: Float64[np.ndarray, " m"]


def round_labels(labels: Any, options: Any, how: str = "half-up") -> Rounded:
    r"""Round labels that lie between options.

    ``split`` divides a label between its two neighbours and preserves the mean, with the weights

    .. math:: w_{k+1} = \frac{x - v_k}{v_{k+1} - v_k}, \qquad w_k = 1 - w_{k+1}

    for a label x between the options' numbers v. For example, 3.5 is half a 3 and half a 4.

    Args:
        labels: numbers or names of options, [n].
        options: the K options in the scale's order, or the number of options (named 0..K-1).
        how: "half-up" (to the nearest option, 3.5 to 4), "nearest-even" (2.5 to 2 and 3.5 to 4) or
            "split".

    Returns:
        The options, one or two per label.

    Raises:
        InputError: A label is neither an option nor between two options, or `how` is unknown.
    """
    scale = Scale.default(options) if isinstance(options, int) else Scale.of(options)
    return round_positions(scale.locate(labels), scale, how)


def round_positions(positions: Float64[np.ndarray, " n"], scale: Scale, how: str) -> Rounded:
    """Round positions 0..K-1 that may lie between options; see `round_labels`."""
    if how not in ROUNDINGS:
        raise InputError(f"round must be one of {', '.join(ROUNDINGS)}; got {how!r}.")
    rows, below = np.arange(len(positions)), np.floor(positions).astype(np.int64)
    share = positions - below
    if how == "split":
        pairs = np.stack([1 - share, share], axis=1)
        counted = pairs > 0
        both = np.stack([below, np.minimum(below + 1, scale.size - 1)], axis=1)
        return Rounded(np.repeat(rows, 2)[counted.ravel()], both[counted], pairs[counted])
    upward, numbers = scale.numerals[-1] > scale.numerals[0], scale.numerals.tolist()
    if how == "nearest-even":
        # Numbers that count by one, or else positions.
        counting = is_counting(numbers) or is_counting(numbers[::-1])
        upward = (scale.numerals[below] if counting else below) % 2 == 1
    up = (share > 0.5) | ((share == 0.5) & upward)
    return Rounded(rows, below + up, np.ones(len(positions)))


def round_as_chosen(
    positions: Float64[np.ndarray, " n"], scale: Scale, how: str | None, where: Where, noun: str
) -> Rounded:
    """Round positions as is chosen; refuse those between options if nothing is."""
    if how is None and (between := np.flatnonzero(positions % 1)).size:
        raise SettingNeeded(
            f"{noun} must be options; found {between.size} of {len(positions)} between two "
            f"options, for example {scale.at(positions[between[:1]])[0]:g} in "
            f"{where(int(between[0]))}." + f" {OTHER_SCALE}" * (noun == "ratings"),
            f"Round {noun} half-up or nearest-even, or split each between the two nearest options",
            "round",
            "split",
        )
    return round_positions(positions, scale, how or "half-up")


def combine(
    items: Sequence[str],
    positions: Float64[np.ndarray, " n"],
    weights: Float64[np.ndarray, " n"],
    scale: Scale,
    how: str,
) -> tuple[Int64[np.ndarray, " m"], Float64[np.ndarray, " m"], Float64[np.ndarray, " m"]]:
    """Make one label of those that a text has.

    Args:
        items: The text of each label.
        positions: The labels, positions 0..K-1 on the scale.
        weights: How much each counts among those of its text.
        scale: The options, whose numbers are averaged.
        how: "mean" or "median".

    Returns:
        The first row of each text, its label as a position that may lie between options, and the
        mean weight of its labels.

    Raises:
        InputError: There is no such way.
    """
    if how not in COMBINATIONS[1:]:
        raise InputError(f"annotators must be one of {', '.join(COMBINATIONS)}; got {how!r}.")
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item, []).append(row)
    numbers, values = scale.at(positions), []
    for index in rows.values():
        labels, counts = numbers[index], weights[index]
        # A median lies in the middle between two values with half of the weight each.
        middle = 0.5 + np.array([-1e-12, 1e-12])
        label = np.average(labels, weights=counts)
        if how == "median":
            label = np.quantile(labels, middle, weights=counts, method="inverted_cdf").mean()
        # A mean of equal numbers may differ from them by rounding.
        values.append(float(np.clip(label, labels.min(), labels.max())))
    first = np.array([index[0] for index in rows.values()], np.int64)
    return first, scale.locate(values), np.array([weights[index].mean() for index in rows.values()])

"""Hard ratings, one stated option a text: their scale, and their positions on it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, Where, list_names, name_row

WIDEST = 21
"""Options at most that are proposed as whole numbers."""


def scale_of_ratings(ratings: Sequence[Any] | np.ndarray, options: Any = None) -> Scale:
    """Make the scale of hard ratings, which do not say what else was possible.

    Raises:
        SettingNeeded: the options are not known (None), or the ratings may count them in two ways.
    """
    if options is not None:
        return Scale.of(options).counted(ratings, "ratings")
    numbers = [parse_number(rating) for rating in ratings]
    finite = sorted({number for number in numbers if number is not None})
    distinct = sorted({str(rating) for rating in ratings})
    proposal = ("WORST", "...", "BEST")
    if len(finite) == len({*numbers}):
        distinct = [f"{number:g}" for number in finite]
        first, last = math.floor(min(finite[0], 1)), math.ceil(finite[-1])
        whole = tuple(map(str, range(first, max(last, first + 1) + 1)))
        proposal = whole if len(whole) <= WIDEST else proposal
    raise SettingNeeded(
        f"ratings do not say which ratings were possible; found {list_names(distinct)}.",
        "Name the options in order, for example",
        "options",
        proposal,
    )


def encode_ratings(
    ratings: Any,
    scale: Scale,
    where: Where = name_row,
    *,
    round: bool = False,
    remedy: str = "round=True rounds them; the counts of samples say more: readings_from_counts.",
) -> Int[np.ndarray, " n"]:
    """Turn hard ratings into positions 0..K-1; refuse those between options, or round them half up.

    A message names the place of a rating (`where`), and what to do about those between options.
    """
    positions = scale.locate(ratings, where=where, noun="ratings")
    between = np.flatnonzero(positions % 1)
    if between.size and not round:
        value = scale.at(positions[between[:1]])[0]
        raise InputError(
            f"ratings must be options; {between.size} of {len(positions)} lie between options, as "
            f"averages of samples do, such as {value:g} in {where(int(between[0]))}. {remedy}"
        )
    return round_positions(positions, scale, "half-up").labels

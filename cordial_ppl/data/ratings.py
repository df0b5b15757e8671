"""Hard ratings, one stated option a text: their scale, and logits of them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import SettingNeeded, Where, list_names, name_row

WIDEST = 21
"""Options at most that are proposed as whole numbers."""

PSEUDO_COUNT = 0.5
"""What every option counts beside a rating, which is a sample of one."""


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
        # Tools write -1 for none.
        finite = finite[1:] if finite[0] == -1 and finite[1:2] > [0] else finite
        first, last = math.floor(min(finite[0], 1)), math.ceil(finite[-1])
        whole = tuple(map(str, range(first, max(last, first + 1) + 1)))
        proposal = whole if len(whole) <= WIDEST else proposal
    raise SettingNeeded(
        f"ratings do not say which ratings were possible; found {list_names(distinct)}.",
        "Name the options in order, for example",
        "options",
        proposal,
    )


def read_ratings(
    ratings: Any, scale: Scale, where: Where = name_row, *, round: str | None = None
) -> Float64[np.ndarray, "n K"]:
    r"""Turn hard ratings into logits.

    .. math:: \log \frac{w_k + a}{1 + a K}, \qquad a = 1/2

    where w is 1 for the option that is stated; a rating between two options may be split among
    them, with the weights of `round_labels`.

    Args:
        ratings: numbers or names of options, [n].
        scale: the K options.
        where: names the place of a rating in messages.
        round: how ratings between options are rounded, as labels are.

    Returns:
        Log-probabilities [n, K] (nats), not centred.

    Raises:
        InputError: a rating is no option.
        SettingNeeded: ratings lie between options, and nothing says how to round them.
    """
    positions = scale.locate(ratings, where=where, noun="ratings")
    between = np.flatnonzero(positions % 1)
    if between.size and round is None:
        value = scale.at(positions[between[:1]])[0]
        raise SettingNeeded(
            f"ratings must be options; {between.size} of {len(positions)} lie between options, as "
            f"averages of samples do, such as {value:g} in {where(int(between[0]))}.",
            "Round them, half-up or nearest-even, or count each for both neighbours",
            "round",
            "split",
        )
    rows, options, weights = round_positions(positions, scale, round or "half-up")
    shares = np.zeros((len(positions), scale.size))
    shares[rows, options] = weights
    return np.log((shares + PSEUDO_COUNT) / (1 + PSEUDO_COUNT * scale.size))

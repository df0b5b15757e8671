"""Hard ratings, one stated option per text: their scale, logits of them, and ratings of logits."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.data.numerals import PLAIN, has_thousands, parse_number
from cordial_ppl.data.rounding import round_as_chosen
from cordial_ppl.data.scale import OTHER_SCALE, Scale
from cordial_ppl.errors import InputError, SettingNeeded, Where, list_names, name_row, quote

Ends = Sequence[Any] | None

WIDEST = 21
"""Options at most that are proposed as whole numbers."""

PSEUDO_COUNT = 0.5
"""What every option counts beside a rating, which is a sample of one."""

LEAST, NUDGE = 0.005, 1e-4
"""Least probability of one of two options, and what moves each, so that it is no split rating."""

MOST_RATINGS, FEW, BLOCK = 100, 8, 64
"""Ratings of a text, at most, texts of which that can be told before all are looked at, and texts
that are looked at side by side."""

SAME = 1e-6
"""Difference of logits (nats), or of counts as a share of their sum, that is rounding."""


def scale_of_ratings(
    ratings: Sequence[Any] | np.ndarray, options: Any = None, noun: str = "ratings"
) -> Scale:
    """Make the scale of hard ratings, which do not say what else was possible.

    Raises:
        SettingNeeded: the options are not known (None), or the ratings may count them in two ways.
    """
    if options is not None:
        return Scale.of(options).counted(ratings, noun)
    numbers = [parse_number(rating) for rating in ratings]
    finite = sorted({number for number in numbers if number is not None})
    distinct = sorted({str(rating) for rating in ratings})
    proposal = ("WORST", "...", "BEST")
    if finite and len(finite) == len({*numbers}):
        distinct = [f"{number:g}" for number in finite]
        # Tools write -1 for none.
        finite = finite[1:] if finite[0] == -1 and min(finite[1:], default=0) > 0 else finite
        first, last = math.floor(min(finite[0], 1)), math.ceil(finite[-1])
        whole = tuple(map(str, range(first, max(last, first + 1) + 1)))
        proposal = whole if len(whole) <= WIDEST else proposal
    cited = f"; found {list_names(distinct)}" if distinct else ""
    other = f" {OTHER_SCALE}" if distinct and noun == "ratings" else ""
    raise SettingNeeded(
        f"{noun} alone do not show which options the scale has{cited}.{other}",
        "Name all options in order, for example",
        "options",
        proposal,
    )


def read_ratings(
    ratings: Any, scale: Scale, where: Where = name_row, round: str | None = None, ends: Ends = None
) -> Float64[np.ndarray, "n K"]:
    r"""Turn hard ratings into logits.

    .. math:: \log \frac{w_k + a}{1 + a K}, \qquad a = 1/2

    where w is 1 for the option that is stated; a rating between two options may be split among
    them, with the weights of `round_labels`.  On a range of two options it is the probability of
    the second: 70 of 100 is 0.7, whatever the other ratings are.

    Args:
        ratings: numbers or names of options, [n].
        scale: the K options.
        where: names the place of a rating in messages.
        round: how ratings between options are rounded, as labels are; "split" if they have a range.
        ends: the worst and the best rating that are possible, if people label on another scale: a
            line leads from them to the numbers of the first and the last option.

    Returns:
        Log-probabilities [n, K] (nats), not centred.

    Raises:
        InputError: a rating is no option, or outside the range.
        SettingNeeded: ratings lie between options, and nothing says how to round them; or they may
            have a range.
    """
    if ends is None:
        positions = scale.locate(ratings, where=where, noun="ratings")
    else:
        positions, round = _rescale(ratings, ends, scale, where), round or "split"
    rows, options, weights = round_as_chosen(positions, scale, round, where, "ratings")
    shares = np.zeros((len(positions), scale.size))
    shares[rows, options] = weights
    if ends is not None and scale.size == 2 and round == "split":
        return np.log(NUDGE + (1 - 2 * NUDGE) * shares.clip(LEAST, 1 - LEAST))
    return np.log((shares + PSEUDO_COUNT) / (1 + PSEUDO_COUNT * scale.size))


def _rescale(ratings: Any, ends: Any, scale: Scale, where: Where) -> Float64[np.ndarray, " n"]:
    """Turn ratings between two ends into positions on the scale, which may lie between options."""
    limits, order = check_ends(ends).tolist(), np.argsort(scale.numerals)
    numbers = np.array([*map(parse_number, ratings)], float)
    shares = np.round((numbers - limits[0]) / (limits[1] - limits[0]), 9)
    # In a range to 1000, "1,000" is hardly 1.
    thousands = [max(map(abs, limits)) >= 1000 and has_thousands(cell) for cell in ratings]
    if len(outside := np.flatnonzero(~((shares >= 0) & (shares <= 1)) | thousands)):
        cell, row = quote(ratings[outside[0]]), where(int(outside[0]))
        span, advice = "{:g} to {:g}".format(*limits), PLAIN * thousands[outside[0]]
        raise InputError(f"ratings must be numbers from {span}; found {cell} in {row}.{advice}")
    values = np.interp(shares, (0, 1), scale.numerals[[0, -1]])
    return np.round(np.interp(values, scale.numerals[order], order), 9)


def check_ends(ends: Any) -> Float64[np.ndarray, " 2"]:
    """Read the worst and the best rating; raise a `SettingNeeded` if they are no two numbers."""
    cells = [*ends] if isinstance(ends, Sequence | np.ndarray) and not isinstance(ends, str) else []
    limits = np.array([*map(parse_number, cells)], float)
    if limits.shape != (2,) or not np.ptp(limits) > 0:
        problem = f"the worst and best ratings must be two different numbers; got {quote(ends)}."
        raise SettingNeeded(problem, "Give the worst first", "rating_range", ("0", "100"))
    return limits


def state(logits: Float64[np.ndarray, "n K"]) -> tuple[Float64[np.ndarray, "n K"], str]:
    r"""Tell what a reader states of texts, and whether it is ratings or probabilities.

    Ratings are made readings with half a count more for each option (`read_ratings`,
    `readings_from_counts`), which is taken off again: n ratings of a text with the probabilities p
    are :math:`(n + K/2)\, p_k - 1/2` of each option.  A rating is then that rating, and nothing
    between it and the middle.

    Args:
        logits: logits, nats.

    Returns:
        The share of each option, and the kind: "rating", one of each text, which may be split among
        neighbours or have been scaled; "ratings", several; or "probabilities".
    """
    # The first texts show that most readings are no ratings.
    for some in (logits[:FEW], logits):
        if not len(some) or (ratings := _find_ratings(some)) is None:
            probs = np.exp(logits - logits.max(axis=1, keepdims=True))
            return probs / probs.sum(axis=1, keepdims=True), "probabilities"
    return ratings


def _find_ratings(
    logits: Float64[np.ndarray, "n K"],
) -> tuple[Float64[np.ndarray, "n K"], str] | None:
    """Return the ratings that logits are of; None if they are of none."""
    size = logits.shape[1]
    away = logits.max(axis=1, keepdims=True) - logits
    gaps = np.sort(away, axis=1)[:, 1:]
    # Two options are one gap, which is the same for ratings alone only if it is for several texts.
    if np.ptp(gaps) <= SAME < gaps.min() and (size > 2 or len(gaps) >= FEW):
        return np.eye(size)[logits.argmax(axis=1)], "rating"
    probs = np.exp(-away)
    probs /= probs.sum(axis=1, keepdims=True)
    one = probs * (1 + PSEUDO_COUNT * size) - PSEUDO_COUNT
    used = one > SAME
    apart = size - 1 - used[:, ::-1].argmax(axis=1) - used.argmax(axis=1)
    # Of two options any share may be a split rating, unless none is a whole one.
    if one.min() >= -SAME and apart.max() <= 1 and (size > 2 or one.max() >= 1 - SAME):
        one = np.where(used, one, 0.0)
        return one / one.sum(axis=1, keepdims=True), "rating"
    totals = np.arange(1, MOST_RATINGS + 1)
    suits, total = np.empty((len(totals), len(probs)), bool), totals[:, None, None]
    for start in range(0, len(probs), BLOCK):
        block = slice(start, start + BLOCK)
        each = probs[block] * (total + PSEUDO_COUNT * size) - PSEUDO_COUNT
        suits[:, block] = (np.abs(each - np.rint(each).clip(0)) <= SAME * total).all(axis=2)
        if not suits[:, block].any(axis=0).all():
            return None
    # 17 of 20 are like 2 of 2: of several totals that suit a text, the one that suits most texts.
    likely = np.argsort(-suits.sum(axis=1), kind="stable")
    total = totals[likely[suits[likely].argmax(axis=0)]][:, None]
    return np.rint(probs * (total + PSEUDO_COUNT * size) - PSEUDO_COUNT) / total, "ratings"

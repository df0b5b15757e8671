"""Conversion of probabilities, counts and single ratings into log-probabilities."""

from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.data.checks import check_number
from cordial_ppl.data.containers import as_objects, ordered_categories
from cordial_ppl.data.number_table import GIVEN, NumberTable, Source
from cordial_ppl.data.numerals import is_missing
from cordial_ppl.data.ratings import Ends, read_ratings, scale_of_ratings
from cordial_ppl.errors import InputError, name_row, name_rows, warn

SUM_TOLERANCE = 1e-3
"""Largest distance from one of the sum of a text's probabilities."""


def readings_from_probabilities(p: Any, *, source: Source = GIVEN) -> Float64[np.ndarray, "n K"]:
    """Turn probabilities into logits, log p; zeros get a floor.

    A zero becomes the smallest probability of its row but at most 0.005, or 1e-4 if it stands
    beside a single 1.

    Args:
        p: probabilities [n, K]; a row of NaN or zeros marks a text without a reading.
        source: origin of the values, for messages.

    Returns:
        Finite log-probabilities [n, K] (nats), not centred; NaN for texts without a reading.

    Raises:
        InputError: a probability is negative or not finite, or a row does not sum to one.
    """
    table = NumberTable(p, "probabilities", source)
    probs = table.numbers
    table.reject(~((probs >= 0) & np.isfinite(probs)), "probabilities must be between 0 and 1")
    with np.errstate(over="ignore"):
        totals = probs.sum(axis=1)
    if (off := np.flatnonzero(np.abs(totals - 1) > SUM_TOLERANCE)).size:
        raise InputError(
            f"probabilities in {name_rows(off, table.where)} do not sum to one (first sum: "
            f"{totals[off[0]]:.6g}). Divide each row by its sum, or pass logits or counts instead."
        )
    with np.errstate(divide="ignore"):
        return table.spread(table.floor(np.log(probs), zeros=True))


def readings_from_counts(
    counts: Any, pseudo_count: float = 0.5, *, source: Source = GIVEN
) -> Float64[np.ndarray, "n K"]:
    """Turn counts of sampled ratings into logits: log((c_k + a) / (sum_j c_j + a K)).

    Args:
        counts: how often each option was sampled, whole numbers [n, K]; a row of NaN or zeros
            marks a text without a reading.
        pseudo_count: the pseudo-count a of every option, at least 1e-9.
        source: origin of the values, for messages.

    Returns:
        Log-probabilities [n, K] (nats), not centred; NaN for texts without a reading.

    Raises:
        InputError: a count is negative or not whole, or `pseudo_count` is below 1e-9.
    """
    pseudo_count = check_number("pseudo_count", pseudo_count, 1e-9)
    table = NumberTable(counts, "counts", source)
    numbers = table.numbers
    # Beyond 2**53 floats cannot tell neighbouring whole numbers apart.
    whole = (numbers >= 0) & (numbers <= 2.0**53) & (np.floor(numbers) == numbers)
    table.reject(~whole, "counts must be non-negative whole numbers")
    totals = numbers.sum(axis=1, keepdims=True)
    logits = np.log((numbers + pseudo_count) / (totals + pseudo_count * numbers.shape[1]))
    return table.spread(logits)


def readings_from_ratings(
    ratings: Any, options: Any = None, *, round: bool | str = False, rating_range: Ends = None
) -> Float64[np.ndarray, "n K"]:
    """Turn hard ratings, one stated option per text, into logits: log((1{r = k} + a) / (1 + a K)).

    The pseudo-count a is 1/2, because a hard rating is a single sample (`readings_from_counts`).
    For two options and a range, 70 of 100 gives the second probability 0.7. A missing rating (None,
    NaN, an empty cell) becomes a row of NaN; one warning counts these texts.

    Args:
        ratings: numbers or names of options, [n]: a list, an array, or a series.
        options: the K options in order; by default the categories of an ordered pandas
            categorical or a polars Enum.
        round: how to round ratings between options, such as averages of samples (see
            `round_labels`); True means "half-up".
        rating_range: the judge's worst and best possible ratings, such as (0, 100), if people label
            on a different scale. Ratings are rescaled linearly to the option values and split
            between the two nearest options unless `round` says otherwise.

    Returns:
        Log-probabilities [n, K] (nats), not centred.

    Raises:
        InputError: a rating is not an option or is outside the range, or all ratings are missing.
        SettingNeeded: the options are unknown (the message proposes options that fit the ratings),
            or ratings lie between options.
    """
    cells = as_objects(ratings)
    if cells.ndim != 1:
        raise InputError(
            f"ratings must have shape [n], one rating per text; found {list(cells.shape)}. If a "
            "text has several ratings, count them per option and use readings_from_counts."
        )
    rated = np.array([i for i, cell in enumerate(cells) if not is_missing(cell)], np.int64)
    if not rated.size:
        raise InputError("every rating is missing. At least one text needs a rating.")
    options = ordered_categories(ratings) if options is None else options
    scale = scale_of_ratings(cells[rated] if rating_range is None else (), options)
    logits = np.full((len(cells), scale.size), np.nan)
    how = "half-up" if round is True else round or None
    logits[rated] = read_ratings(
        cells[rated], scale, lambda i: name_row(int(rated[i])), round=how, ends=rating_range
    )
    if (absent := np.setdiff1d(np.arange(len(cells)), rated)).size:
        warn(
            f"found no rating for {len(absent)} of {len(cells)} texts ({name_rows(absent)}). The "
            "readings of these texts are set to NaN."
        )
    return logits

"""Readings: what a judge said of each text, as centred logits; the door that every input enters by.

Logits, probabilities and counts are checked here once, with the row and column of what is wrong.
Nothing but softmax(l / tau) depends on a row's constant, so rows are centred to mean 0.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int

from cordial_ppl.containers import as_numbers
from cordial_ppl.errors import CordialWarning, InputError, Where, name_row, name_rows, quote

LARGEST = 1e9
"""Logits this large are no logits; masks this low (float32's smallest, say) stand for -inf."""

LARGEST_COUNT = 2.0**53
"""Beyond it a float is not a whole number but stands for several."""

MASKED = 1e3
"""Nats below the largest of its row at which a logit is a mask (-1e4, -1e9) and not a reading."""

SUM_TOLERANCE = 1e-3
"""How far from one the probabilities of a text may sum."""

ONE_OPTION_FLOOR = float(np.log(1e-4))
"""Distance (nats) to the other options of a row in which a single option was read."""


SURE = 8
"""Rows from which logits that are probabilities, all of them, are no chance."""


class Readings(NamedTuple):
    """What a channel model sees of the texts (a pytree).

    Attributes:
        logits: Centred logits, [n, K], or [n, R, K] for R readers (nats); NaN for the K options of
            a reader that has not read the text.
        histogram: Smoothed share of each label, [K].
        covariates: Named values of each text, [n] each.
    """

    logits: Float[Any, "n *readers K"]
    histogram: Float[Any, " K"]
    covariates: dict[str, Float[Any, " n"]] = {}


class Unread(NamedTuple):
    """Options without a reading, which were floored.

    Attributes:
        options: How many cells they are.
        rows: How many rows have such cells.
        texts: How many rows there are.
        first: The place of the first cell.
    """

    options: int
    rows: int
    texts: int
    first: str


def warn_of_unread(found: Unread) -> None:
    """Warn once of options without a reading, with their number and the first place."""
    one = found.options == 1
    cells = (
        f"1 option in 1 of {found.texts} rows has no reading ({found.first}) and was"
        if one
        else f"{found.options} options in {found.rows} of {found.texts} rows have no reading "
        f"(the first in {found.first}) and were"
    )
    warnings.warn(
        f"{cells} floored at the smallest value of {'its' if one else 'their'} row.",
        CordialWarning,
        stacklevel=4,
    )


def as_logits(
    values: Any,
    *,
    size: int | None = None,
    where: Where | None = None,
    columns: Sequence[str] | None = None,
    tell: Callable[[Unread], None] = warn_of_unread,
) -> Float64[np.ndarray, "n K"]:
    """Check logits and centre each row to mean 0: l_k - (1/K) sum_j l_j.

    An option with logit -inf, or masked more than 1,000 nats below the largest, was not read: it is
    floored at the smallest value of its row that was, and one warning counts them. Where only one
    option was read, the others are put log(1e-4) below it, or the row would say nothing. Logits
    that look like probabilities are warned of.

    Args:
        values: Logits or log-probabilities [n, K] (nats): NumPy, JAX, pandas, polars or lists.
        size: Number of options K expected, if known.
        where: Names a row in messages; by default its position, counted from 0.
        columns: Names of the columns for messages; by default those of a data frame, or positions.
        tell: What is told of options that were not read.

    Returns:
        Centred finite logits [n, K].

    Raises:
        InputError: The values are not a table of numbers with n >= 1 and K >= 2 (`size`, if
            given), a value is NaN or +inf, or a row is -inf throughout.
    """
    where, columns = where or name_row, _column_names(values, columns)
    table = _matrix(values, "logits", size, where, columns)
    inside = len(table) >= SURE and table.min() >= 0 and table.max() <= 1
    if inside and np.allclose(table.sum(axis=1), 1):
        warnings.warn(
            "the logits of every text lie between 0 and 1 and sum to one, as probabilities do: if "
            "that is what they are, use readings_from_probabilities, or in a table columns p_.",
            CordialWarning,
            stacklevel=3,
        )
    # Row by row, as sums round by their order in memory: a data frame is column by column.
    logits = np.ascontiguousarray(_floor(table, where, columns, tell))
    return logits - logits.mean(axis=1, keepdims=True)


def as_logits_of_readers(
    values: Any, *, readers: Sequence[str] | None = None, size: int | None = None
) -> Float64[np.ndarray, "n R K"]:
    """Check the logits of several readers and centre them, each reader and text to mean 0.

    Args:
        values: Logits [n, R, K] (nats); NaN for all K options of a reader that has not read a text.
        readers: Names of the readers for messages, as many as there must be; by default whatever
            there are.
        size: Number of options K expected, if known.

    Returns:
        Centred logits [n, R, K], NaN where a reading is missing.

    Raises:
        InputError: The values have another shape, a text has no reading at all or only part of one,
            or a reading is none; the message names the reader and the text.
    """
    try:
        table = as_numbers(values)
    except ValueError as error:
        raise InputError(f"logits must be numbers of shape [n, R, K]: {error}.") from error
    if table.ndim != 3 or not table.size:
        hint = " One reader is an axis too: logits[:, None]." if table.ndim == 2 else ""
        raise InputError(f"logits must have shape [n, R, K]; found {list(table.shape)}.{hint}")
    names = readers or name_readers(table.shape[1])
    if len(names) != table.shape[1]:
        raise InputError(
            f"logits must have one row a text for each of {len(names)} readers, "
            f"{', '.join(names)}; found {table.shape[1]} readers."
        )
    present = ~np.isnan(table).all(axis=2)
    unread = np.flatnonzero(~present.any(axis=1))
    if unread.size:
        raise InputError(f"every text needs a reading; no reader has read {name_rows(unread)}.")
    for number, name in enumerate(names):
        rows = np.flatnonzero(present[:, number])
        if rows.size:
            table[rows, number] = as_logits(
                table[rows, number],
                size=size,
                where=lambda row, rows=rows, name=name: f"{name_row(int(rows[row]))} of {name!r}",
            )
    return table


def name_readers(count: int) -> tuple[str, ...]:
    """Names of readers that nobody has named: "reader 0" ...."""
    return tuple(f"reader {number}" for number in range(count))


def readings_from_probabilities(
    p: Any,
    *,
    tolerance: float = SUM_TOLERANCE,
    where: Where | None = None,
    columns: Sequence[str] | None = None,
    tell: Callable[[Unread], None] = warn_of_unread,
) -> Float64[np.ndarray, "n K"]:
    """Turn probabilities into logits, log p; a zero is floored as `as_logits` floors -inf.

    Args:
        p: Probabilities [n, K].
        tolerance: How far from one the sum of a row may be.
        where: Names a row in messages; by default its position, counted from 0.
        columns: Names of the columns for messages.
        tell: What is told of probabilities of zero.

    Returns:
        Finite log-probabilities [n, K] (nats), not centred.

    Raises:
        InputError: A probability is negative or not finite, or a row does not sum to one.
    """
    where, columns = where or name_row, _column_names(p, columns)
    probs = _matrix(p, "probabilities", None, where, columns)
    wrong = ~((probs >= 0) & np.isfinite(probs))
    _reject(wrong, probs, "probabilities must be 0..1", where, columns)
    with np.errstate(over="ignore"):
        totals = probs.sum(axis=1)
    off = np.flatnonzero(np.abs(totals - 1) > tolerance)
    if off.size:
        percent = np.allclose(totals, 100, rtol=10 * tolerance)
        advice = "each number by 100" if percent else "each row by its sum"
        raise InputError(
            f"probabilities must sum to one; they sum to {totals[off[0]]:.6g} in "
            f"{name_rows(off, where)}. Divide {advice}, or give logits or counts."
        )
    with np.errstate(divide="ignore"):
        return _floor(np.log(probs), where, columns, tell)


def readings_from_counts(
    counts: Any,
    pseudo_count: float = 0.5,
    *,
    where: Where | None = None,
    columns: Sequence[str] | None = None,
) -> Float64[np.ndarray, "n K"]:
    """Turn counts of sampled ratings into logits: log((c_k + a) / (sum_j c_j + a K)).

    Args:
        counts: How often each option was sampled, whole numbers [n, K].
        pseudo_count: The pseudo-count a of every option, above 0.
        where: Names a row in messages; by default its position, counted from 0.
        columns: Names of the columns for messages.

    Returns:
        Log-probabilities [n, K] (nats), not centred.

    Raises:
        InputError: A count is negative or not whole, a row holds no rating, or `pseudo_count` is
            not above 0.
    """
    if not (pseudo_count > 0 and np.isfinite(pseudo_count)):
        raise InputError(f"pseudo_count must be above 0; found {pseudo_count}.")
    where, columns = where or name_row, _column_names(counts, columns)
    numbers = _matrix(counts, "counts", None, where, columns)
    whole = (numbers >= 0) & (numbers <= LARGEST_COUNT) & (np.floor(numbers) == numbers)
    _reject(~whole, numbers, "counts must be whole numbers from 0 up", where, columns)
    totals = numbers.sum(axis=1, keepdims=True)
    empty = np.flatnonzero(totals[:, 0] == 0)
    if empty.size:
        raise InputError(
            "a text needs at least one rating; all counts are 0 or empty in "
            f"{name_rows(empty, where)}. Remove the rows without a rating."
        )
    return np.log((numbers + pseudo_count) / (totals + pseudo_count * numbers.shape[1]))


def label_histogram(
    labels: Int[Any, " n"], size: int, pseudo_counts: Any = 1.0
) -> Float64[np.ndarray, " K"]:
    """Share of each label, (count_k + a_k) / (n + sum_j a_j); with one pseudo-count by default.

    Args:
        labels: Positions 0..K-1, [n]; others (a padded -1) are not counted.
        size: Number of options K.
        pseudo_counts: The pseudo-count a_k of each option, [K], or one number for all.

    Returns:
        The shares, [K]; they sum to one.
    """
    hits = np.asarray(labels)[:, None] == np.arange(size)
    counts = hits.sum(axis=0) + pseudo_counts
    return counts / counts.sum()


def _column_names(values: Any, columns: Sequence[str] | None) -> list[str] | None:
    names = getattr(values, "columns", None) if columns is None else columns
    return None if names is None else [quote(name) for name in names]


def _name_column(column: int, columns: list[str] | None) -> str:
    return f"column {columns[column] if columns else column}"


def _matrix(
    values: Any, noun: str, size: int | None, where: Where, columns: list[str] | None
) -> Float64[np.ndarray, "n K"]:
    """The values as a new float64 table with n >= 1 and K >= 2 (or K = size)."""
    try:
        table = as_numbers(values)
    except ValueError as error:
        raise InputError(_not_numbers(values, noun, where, columns, error)) from error
    if table.ndim != 2:
        hint = " One text is a row: write values[None, :]." if table.ndim == 1 else ""
        raise InputError(f"{noun} must have the shape [n, K]; found {list(table.shape)}.{hint}")
    if not len(table):
        raise InputError(f"{noun} must hold at least one row; found none.")
    if table.shape[1] < 2:
        raise InputError(f"{noun} need at least two columns, one an option; found one.")
    if size is not None and table.shape[1] != size:
        raise InputError(f"{noun} must have {size} columns; found {table.shape[1]}.")
    return table


def _not_numbers(
    values: Any, noun: str, where: Where, columns: list[str] | None, error: Exception
) -> str:
    try:
        rows = np.asarray(values, dtype=object)
    except Exception:
        rows = np.empty(0)
    for (i, j), cell in np.ndenumerate(rows) if rows.ndim == 2 else ():
        try:
            float(cell)
        except Exception:
            place = f"{where(i)}, {_name_column(j, columns)}"
            return f"{noun} must be numbers; found {quote(cell)} in {place}."
    return f"{noun} must be a table of numbers with rows of one length: {error}."


def _reject(
    wrong: np.ndarray, table: np.ndarray, rule: str, where: Where, columns: list[str] | None
) -> None:
    """Raise for the first cell that is wrong."""
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        others = f" and {wrong.sum() - 1} more cells" if wrong.sum() > 1 else ""
        place = f"{where(int(i))}, {_name_column(int(j), columns)}{others}"
        raise InputError(f"{rule}; found {table[i, j]:g} in {place}.")


def _floor(
    logits: np.ndarray,
    where: Where,
    columns: list[str] | None,
    tell: Callable[[Unread], None],
) -> Float64[np.ndarray, "n K"]:
    """Replace -inf by the smallest finite value of the row, and tell of it once."""
    rule = "logits must be finite (a missing option is -inf, in a file an empty cell)"
    _reject(~(logits < LARGEST), logits, rule, where, columns)
    missing = (logits <= -LARGEST) | (logits < logits.max(axis=1, keepdims=True) - MASKED)
    if not missing.any():
        return logits
    read = (~missing).sum(axis=1)
    unread = np.flatnonzero(read == 0)
    if unread.size:
        raise InputError(
            f"a text needs at least one option with a reading; every option is -inf or empty in "
            f"{name_rows(unread, where)}. Remove the rows without a reading."
        )
    lowest = np.where(missing, np.inf, logits).min(axis=1)
    floors = lowest + np.where(read == 1, ONE_OPTION_FLOOR, 0.0)
    i, j = np.argwhere(missing)[0]
    place = f"{where(int(i))}, {_name_column(int(j), columns)}"
    tell(Unread(int(missing.sum()), int(missing.any(axis=1).sum()), len(logits), place))
    return np.where(missing, floors[:, None], logits)

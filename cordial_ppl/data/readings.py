"""Readings: what a reader (an LLM judge) says of each text, as centred logits.

Logits, probabilities and counts are validated here; a message names the row and column at fault.
Adding a constant to the logits of a row changes nothing, so rows are centred to mean 0.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from cordial_ppl.data.containers import as_numbers, as_objects, collected, ordered_categories
from cordial_ppl.data.frames import column_names
from cordial_ppl.data.numerals import is_missing
from cordial_ppl.data.ratings import read_ratings, scale_of_ratings
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, Where, count, name_row, name_rows, quote, warn

LARGEST = 1e9
"""Logits this large are invalid; masks this low (the smallest float32, say) stand for -inf."""

MASKED = 1e3
"""Nats below the largest of its row at which a logit is a mask (-1e4, -1e9) and not a reading."""

SUM_TOLERANCE = 1e-3
"""Largest distance from one of the sum of a text's probabilities."""

ONE_OPTION_FLOOR = float(np.log(1e-4))
"""Distance (nats) to the other options of a row in which a single option was read."""

SURE = 8
"""Rows from which on logits that all look like probabilities are no coincidence."""


class Readings(NamedTuple):
    """What a channel model sees of the texts (a pytree).

    Attributes:
        logits: centred logits, [n, K], or [n, R, K] for R judges (nats); NaN for all K options of a
            judge that did not rate the text.
        histogram: smoothed share of each label, [K].
        covariates: values per text by name, [n] each.
    """

    logits: Float[Any, "n *readers K"]
    histogram: Float[Any, " K"]
    covariates: dict[str, Float[Any, " n"]] = {}


class Unread(NamedTuple):
    """Options without a reading, which were floored.

    Attributes:
        options: number of such cells.
        rows: number of rows with such cells.
        texts: number of rows.
        first: the place of the first cell.
    """

    options: int
    rows: int
    texts: int
    first: str


def warn_of_unread(unread: Unread) -> None:
    """Warn once of options without a reading, with their number and the first place."""
    options, rows, texts, first = unread
    warn(
        f"found no reading for {count(options, 'option')} in {rows} of {texts} rows (first: "
        f"{first}). Missing options get the smallest value of their row."
    )


class Source(NamedTuple):
    """Where readings come from, for messages.

    Attributes:
        where: names a row; by default its position, counted from 0.
        columns: names of the columns; by default those of a data frame, or positions.
        tell: called with the options without a reading.
    """

    where: Where = name_row
    columns: Sequence[str] | None = None
    tell: Callable[[Unread], None] = warn_of_unread


GIVEN = Source()
"""An array that the caller gives."""


def is_unread(logits: Float[np.ndarray, "n *readers K"]) -> Bool[np.ndarray, " n"]:
    """Tell texts that nobody has read: all of their logits are NaN."""
    return np.isnan(logits).all(axis=tuple(range(1, logits.ndim)))


def as_logits(
    values: Any, *, size: int | None = None, source: Source = GIVEN, gaps: bool = False
) -> Float64[np.ndarray, "n K"]:
    """Validate logits and centre each row to mean 0: l_k - (1/K) sum_j l_j.

    An option with logit -inf, or masked more than 1,000 nats below the largest, was not read: it
    gets the smallest value of its row that was, and one warning counts them. If only one option was
    read, the others are put log(1e-4) below it. Logits that look like probabilities are warned of.

    Args:
        values: logits or log-probabilities [n, K] (nats): NumPy, JAX, pandas, polars or lists.
        size: number of options K expected, if known.
        source: where the values come from.
        gaps: whether a row of NaN is a text that was not read, and stays one.

    Returns:
        Centred finite logits [n, K]; NaN for a text that was not read.

    Raises:
        InputError: the values are not a table of numbers with n >= 1 and K >= 2 (or K = `size`), a
            value is NaN or +inf, or a row is -inf throughout.
    """
    table = _Table(values, "logits", source, size, gaps)
    numbers = table.numbers
    inside = len(numbers) >= SURE and numbers.min() >= 0 and numbers.max() <= 1
    if inside and np.allclose(numbers.sum(axis=1), 1):
        warn(
            "the logits of every text are in 0..1 and sum to one. If these numbers are "
            "probabilities, use readings_from_probabilities, or name table columns p_OPTION."
        )
    # Sums round by their order in memory, and a data frame is stored column by column.
    logits = np.ascontiguousarray(table.floor(numbers))
    return table.spread(logits - logits.mean(axis=1, keepdims=True))


def as_logits_of_readers(
    values: Any,
    *,
    readers: Sequence[str] | None = None,
    size: int | None = None,
    gaps: bool = False,
) -> Float64[np.ndarray, "n R K"]:
    """Validate the logits of several readers and centre them, each reader and text to mean 0.

    Args:
        values: logits [n, R, K] (nats); NaN for all K options of a reader that has not read a text.
        readers: names of the R readers for messages; by default their positions.
        size: number of options K expected, if known.
        gaps: whether a text may be one that no reader has read.

    Returns:
        Centred logits [n, R, K], NaN where a reading is missing.

    Raises:
        InputError: the values have another shape, a text has no reading at all or only part of one,
            or a reading is invalid; the message names the reader and the text.
    """
    table = as_numbers(values, "logits")
    if table.ndim != 3 or not table.size:
        hint = " For one judge, add an axis: logits[:, None]." if table.ndim == 2 else ""
        raise InputError(f"logits must have shape [n, R, K]; found {list(table.shape)}.{hint}")
    names = readers or name_readers(table.shape[1])
    if len(names) != table.shape[1]:
        raise InputError(
            f"logits must cover {len(names)} judges ({', '.join(names)}); found {table.shape[1]}."
        )
    unread = np.flatnonzero(is_unread(table))
    if unread.size and not gaps:
        raise InputError(f"every text needs a reading; no judge rated {name_rows(unread)}.")
    for number, name in enumerate(names):
        source = Source(lambda row, name=name: f"row {row} of {name!r}")
        table[:, number] = as_logits(table[:, number], size=size, source=source, gaps=True)
    return table


def name_readers(count: int) -> tuple[str, ...]:
    """Name readers by default: "reader 0" ...."""
    return tuple(f"reader {number}" for number in range(count))


def readings_from_probabilities(p: Any, *, source: Source = GIVEN) -> Float64[np.ndarray, "n K"]:
    """Turn probabilities into logits, log p; zeros get a floor, as -inf does in logits.

    Args:
        p: probabilities [n, K]; a row of NaN or zeros marks a text without a reading.
        source: origin of the values, for messages.

    Returns:
        Finite log-probabilities [n, K] (nats), not centred; NaN for texts without a reading.

    Raises:
        InputError: a probability is negative or not finite, or a row does not sum to one.
    """
    table = _Table(p, "probabilities", source)
    probs = table.numbers
    table.reject(~((probs >= 0) & np.isfinite(probs)), "probabilities must be between 0 and 1")
    with np.errstate(over="ignore"):
        totals = probs.sum(axis=1)
    off = np.flatnonzero(np.abs(totals - 1) > SUM_TOLERANCE)
    if off.size:
        raise InputError(
            f"probabilities do not sum to one in {name_rows(off, table.where)} (first sum: "
            f"{totals[off[0]]:.6g}). Divide each row by its sum, or pass logits or counts."
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
        pseudo_count: the pseudo-count a added to every option, above 0.
        source: origin of the values, for messages.

    Returns:
        Log-probabilities [n, K] (nats), not centred; NaN for texts without a reading.

    Raises:
        InputError: a count is negative or not whole, or `pseudo_count` is not above 0.
    """
    if not (pseudo_count > 0 and np.isfinite(pseudo_count)):
        raise InputError(f"pseudo_count must be above 0; found {pseudo_count}.")
    table = _Table(counts, "counts", source)
    numbers = table.numbers
    # Beyond 2**53 floats cannot tell neighbouring whole numbers apart.
    whole = (numbers >= 0) & (numbers <= 2.0**53) & (np.floor(numbers) == numbers)
    table.reject(~whole, "counts must be whole numbers, 0 or more")
    totals = numbers.sum(axis=1, keepdims=True)
    logits = np.log((numbers + pseudo_count) / (totals + pseudo_count * numbers.shape[1]))
    return table.spread(logits)


def readings_from_ratings(
    ratings: Any, options: Any = None, *, round: bool | str = False
) -> Float64[np.ndarray, "n K"]:
    """Turn hard ratings, one stated option per text, into logits: log((1{r = k} + a) / (1 + a K)).

    The pseudo-count a is 1/2, because a hard rating is a single sample (`readings_from_counts`). A
    missing rating (None, NaN, an empty cell) becomes a row of NaN, which marks a text without a
    reading; one warning counts these texts.

    Args:
        ratings: numbers or names of options, [n]: a list, an array, or a series.
        options: all K options in the scale's order; by default the categories of an ordered pandas
            categorical or a polars Enum.
        round: how to round ratings between options, such as averages of samples (see
            `round_labels`); True means "half-up".

    Returns:
        Log-probabilities [n, K] (nats), not centred.

    Raises:
        InputError: a rating is not an option, or all ratings are missing.
        SettingNeeded: the options are unknown (the message proposes options that fit the ratings),
            or ratings lie between options.
    """
    cells = as_objects(ratings)
    if cells.ndim != 1:
        raise InputError(
            f"ratings must have shape [n], one rating per text; found {list(cells.shape)}. If a "
            "text has several ratings, pass the counts of its options to readings_from_counts."
        )
    rated = np.array([i for i, cell in enumerate(cells) if not is_missing(cell)], np.int64)
    if not rated.size:
        raise InputError("every rating is missing. At least one text needs a rating.")
    options = ordered_categories(ratings) if options is None else options
    scale = scale_of_ratings(cells[rated], options)
    logits = np.full((len(cells), scale.size), np.nan)
    how = "half-up" if round is True else round or None
    logits[rated] = read_ratings(cells[rated], scale, lambda i: name_row(int(rated[i])), round=how)
    if len(rated) < len(cells):
        absent = np.setdiff1d(np.arange(len(cells)), rated)
        warn(
            f"found no rating for {len(absent)} of {len(cells)} texts ({name_rows(absent)}). The "
            "readings of these texts are NaN."
        )
    return logits


def label_histogram(
    labels: Int[Any, " n"], size: int, weights: Float[np.ndarray, " n"] | None = None
) -> Float64[np.ndarray, " K"]:
    """Compute the share of each label, (count_k + 1) / (n + K), n the sum of weights.

    Args:
        labels: positions 0..K-1, [n]; others (a padded -1) are not counted.
        size: number of options K.
        weights: what each label counts; one by default.
    """
    hits = np.asarray(labels)[:, None] == np.arange(size)
    counts = (hits if weights is None else hits * weights[:, None]).sum(axis=0) + 1.0
    return counts / counts.sum()


class _Table:
    """Numbers [n, K] with n >= 1 and K >= 2 (or K = size), and the names of their places.

    With `gaps` a row of NaN is a text that was not read, as is one of zeros of what are no logits,
    which loggers write for no answer: `numbers` are of the others.
    """

    numbers: Float64[np.ndarray, "read K"]

    def __init__(
        self, values: Any, noun: str, source: Source, size: int | None = None, gaps: bool = True
    ):
        self.where, self.columns, self.tell = source
        values = collected(values)
        mask = np.ma.getmask(values)
        if self.columns is None:
            self.columns = column_names(values)
        try:
            self.numbers = as_numbers(values, noun)
        except InputError:
            self._refuse_cells(values, noun)
            raise
        shape = self.numbers.shape
        if len(shape) != 2 or not shape[0] or shape[1] < 2:
            hint = " For one text, pass values[None, :]." if len(shape) == 1 else ""
            raise InputError(
                f"{noun} must have the shape [n, K], n >= 1 and K >= 2; found {list(shape)}.{hint}"
            )
        if size not in (None, shape[1]):
            raise InputError(f"{noun} must have {size} columns; found {shape[1]}.")
        Scale.default(shape[1])
        if noun != "logits" and (zeros := (self.numbers == 0).all(axis=1)).any():
            rows = name_rows(np.flatnonzero(zeros), source.where)
            warn(
                f"all options are 0 for {zeros.sum()} of {len(zeros)} texts ({rows}). These texts "
                "count as texts without a reading."
            )
            self.numbers = np.where(zeros[:, None], np.nan, self.numbers)
        self.read = ~is_unread(self.numbers) | (not gaps)
        rows = np.flatnonzero(self.read)
        self.numbers, self.masked = self.numbers[rows], np.broadcast_to(mask, shape)[rows]
        self.where = lambda row: source.where(int(rows[row]))

    def spread(self, logits: Float64[np.ndarray, "read K"]) -> Float64[np.ndarray, "n K"]:
        """Put rows of NaN where texts were not read."""
        whole = np.full((len(self.read), logits.shape[1]), np.nan)
        whole[self.read] = logits
        return whole

    def name_cell(self, cell: Any) -> str:
        """Name a cell: "row 3, column 'p_1'"."""
        row, column = map(int, cell)
        name = column if self.columns is None else quote(self.columns[column])
        return f"{self.where(row)}, column {name}"

    def reject(self, wrong: np.ndarray, rule: str) -> None:
        """Raise for the first cell that breaks a rule."""
        if wrong.any():
            first = tuple(np.argwhere(wrong)[0])
            others = f" and {wrong.sum() - 1} more" if wrong.sum() > 1 else ""
            cell = "a masked cell" if self.masked[first] else f"{self.numbers[first]:g}"
            raise InputError(f"{rule}; found {cell} in {self.name_cell(first)}{others}.")

    def floor(self, logits: np.ndarray, zeros: bool = False) -> Float64[np.ndarray, "n K"]:
        """Replace -inf by the smallest finite value of the row, and tell of it once.

        Of probabilities, which have zeros, all on one option is a hard answer, not one unread.
        """
        rule = "finite and below 1e9 (for a missing option use -inf, or an empty cell in a file)"
        self.reject(~(logits < LARGEST), f"logits must be {rule}")
        missing = (logits <= -LARGEST) | (logits < logits.max(axis=1, keepdims=True) - MASKED)
        if not missing.any():
            return logits
        read = (~missing).sum(axis=1)
        unread = np.flatnonzero(read == 0)
        if unread.size:
            low = "below -1e9" if np.isfinite(logits[unread[0]]).all() else "-inf or empty"
            raise InputError(
                f"every option is {low} in {name_rows(unread, self.where)}. A text needs a "
                "reading for at least one option. For a text without a reading, use a row of NaN, "
                "or empty cells in a table."
            )
        lowest = np.where(missing, np.inf, logits).min(axis=1)
        floors = lowest + np.where(read == 1, ONE_OPTION_FLOOR, 0.0)
        told = missing & ~(zeros & (read == 1))[:, None]
        if told.any():
            first = self.name_cell(np.argwhere(told)[0])
            self.tell(Unread(int(told.sum()), int(told.any(axis=1).sum()), len(logits), first))
        return np.where(missing, floors[:, None], logits)

    def _refuse_cells(self, values: Any, noun: str) -> None:
        """Raise for the first cell that is no number, if the values are a table."""
        table = as_objects(values)
        for cell, value in np.ndenumerate(table) if table.ndim == 2 else ():
            try:
                _ = None if value is None else float(value)
            except Exception as error:
                where = f"{quote(value)} in {self.name_cell(cell)}"
                raise InputError(f"{noun} must be numbers; found {where}.") from error

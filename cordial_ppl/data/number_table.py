"""A table of numbers, a row a text and a column an option: validation, gaps and floors.

Messages name the row and column at fault.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64

from cordial_ppl.data.containers import as_numbers, as_objects, collected
from cordial_ppl.data.frames import check_columns, column_names
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, Where, count, name_row, name_rows, quote, warn

LARGEST = 1e9
"""Logits this large are invalid; masks this low (the smallest float32, say) stand for -inf."""

MASKED = 1e3
"""Nats below the largest of its row at which a logit is a mask (-1e4, -1e9) and not a reading."""

ONE_OPTION_FLOOR = float(np.log(1e-4))
"""Distance (nats) to the other options of a row in which a single option was read."""

ZERO = float(np.log(0.005))
"""What a probability of zero is at most: two digits do not tell it from half a percent."""


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
        f"found {count(options, 'missing reading')} in {rows} of {texts} rows (first: {first}). "
        "Each is set to the smallest value in its row, or lower if the row has only one value."
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


class NumberTable:
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
            if noun != "logits":  # The estimators check these, by their options.
                check_columns(values, None, ())
        try:
            self.numbers = as_numbers(values, noun)
        except InputError:
            self._refuse_cells(values, noun)
            raise
        shape = self.numbers.shape
        if len(shape) != 2 or not shape[0] or shape[1] < 2:
            hint = " For one text, pass values[None, :]." if len(shape) == 1 else ""
            if hint and noun == "logits":
                hint += " For one rating per text, use readings_from_ratings."
            raise InputError(
                f"{noun} must have shape [n, K] with n >= 1 and K >= 2; found {list(shape)}.{hint}"
            )
        if size not in (None, shape[1]):
            raise InputError(f"{noun} must have {size} columns; found {shape[1]}.")
        Scale.default(shape[1])
        if noun != "logits" and (zeros := (self.numbers == 0).all(axis=1)).any():
            rows = name_rows(np.flatnonzero(zeros), source.where)
            warn(
                f"all options are 0 for {zeros.sum()} of {len(zeros)} texts ({rows}). These texts "
                "are treated as having no reading."
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

        Zeros among probabilities were read: beside several options they are half a percent at most.
        """
        rule = "finite and below 1e9 (for a missing option, use -inf or, in a file, an empty cell)"
        self.reject(~(logits < LARGEST), f"logits must be {rule}")
        missing = (logits <= -LARGEST) | (logits < logits.max(axis=1, keepdims=True) - MASKED)
        if not missing.any():
            return logits
        read = (~missing).sum(axis=1)
        if (unread := np.flatnonzero(read == 0)).size:
            low = "below -1e9" if np.isfinite(logits[unread[0]]).all() else "-inf or empty"
            raise InputError(
                f"every option is {low} in {name_rows(unread, self.where)}. Add a "
                "reading for at least one option. If the text has no reading, fill its row with "
                "NaN or, in a table, leave all its cells empty."
            )
        lowest = np.where(missing, np.inf, logits).min(axis=1)
        several = np.minimum(lowest, ZERO) if zeros else lowest
        floors = np.where(read == 1, lowest + ONE_OPTION_FLOOR, several)
        if not zeros:
            first, rows = self.name_cell(np.argwhere(missing)[0]), int(missing.any(axis=1).sum())
            self.tell(Unread(int(missing.sum()), rows, len(logits), first))
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

"""Tables of readings: one row per text, found by its `item_id`.

A file may hold several readers and tasks; one of each is chosen by name. Columns that are not
readings are passed through.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Bool, Float64, Int64

from cordial_ppl.data.conversion import readings_from_counts, readings_from_probabilities
from cordial_ppl.data.number_table import Source, Unread, is_unread, warn_of_unread
from cordial_ppl.data.ratings import read_ratings
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, naming, warn
from cordial_ppl.tables.choices import Choice, open_columns, read_items, select
from cordial_ppl.tables.columns import finite, is_blank, name_items, named, numbers, passed_through
from cordial_ppl.tables.frame import Columns, as_list
from cordial_ppl.tables.roles import USERS, find_columns, find_layout

CONVERSIONS = {"p": readings_from_probabilities, "n": readings_from_counts}
"""Functions that make logits of the numbers of a kind; those of others are logits already."""

CHECKED = 1 << 18
"""Rows that are checked at a time; a message counts the faults among these."""


@dataclass(frozen=True)
class ReadingTable:
    """The readings of a table, which are read and checked when they are first used.

    Attributes:
        columns: The table.
        scale: The K options.
        kind: What the table holds: "logit", "logprob", "p", "n" or "rating".
        names: The columns of readings, in the scale's order; "rating" alone; none if `checked`.
        checked: The centred logits, if they have been checked already.
        readers: The readers' names, if there are several.
        round: How ratings between options are rounded.
        gaps: Whether some of the texts were not read.
        per: The column that names users, if it was asked for.
    """

    columns: Columns
    scale: Scale
    kind: str
    names: tuple[str, ...] = ()
    checked: Float64[np.ndarray, "n *readers K"] | None = None
    readers: tuple[str, ...] = ()
    round: str | None = None
    gaps: bool = False
    per: str | None = None

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.columns)

    @cached_property
    def item_ids(self) -> list[str]:
        """The texts' ids; raise an `InputError` if one is missing or occurs twice."""
        return read_items(self.columns, of_readers=True, users=self.users)

    @property
    def users(self) -> list[str] | None:
        """The user of each row, where a text has a row for each."""
        if self.per is None:
            return None
        cells = self.columns.collect(named("item_id"), named(self.per).alias(""))
        return cells[""].to_list() if cells["item_id"].is_duplicated().any() else None

    @cached_property
    def logits(self) -> Float64[np.ndarray, "n *readers K"]:
        """Centred logits [n, K] (nats), or [n, R, K]; NaN where a reader has not read a text.

        Raises:
            InputError: A cell is no number, or the readings are not what their kind says; with the
                row and the column.
        """
        return self._convert(warn_of_unread) if self.checked is None else self.checked

    @property
    def unread(self) -> Bool[np.ndarray, " n"]:
        """Which rows have nothing in any column of readings, or by any reader.

        Counts and probabilities that are all 0 are what loggers write for no answer.
        """
        if self.checked is not None:
            return is_unread(self.checked)
        names = [name for name in self.names if name in self.columns.schema]
        scale, zeros = self.scale if self.kind == "rating" else None, self.kind in CONVERSIONS
        blank = pl.all_horizontal(is_blank(self.columns, n, scale, zeros=zeros) for n in names)
        return self.columns.collect(blank.alias("")).to_series().to_numpy()

    @property
    def reasons(self) -> pl.Series:
        """Why each text was not read, in words of a column `unread`; null for the others."""
        reason = pl.lit("no reading")
        if self.columns.schema.get("unread") == pl.String:
            reason = pl.when(named("unread") != "").then(named("unread")).otherwise(reason)
        cells = self.columns.collect(pl.when(pl.Series(self.unread)).then(reason).alias("unread"))
        return cells.to_series().cast(pl.String)

    @property
    def extras(self) -> dict[str, list]:
        """The cells of every other column, by name, with None for a missing cell."""
        return passed_through(self.columns, ["item_id", *self.names])

    def covariates(
        self, names: Iterable[str], levels: Mapping[str, int] | None = None
    ) -> dict[str, Float64[np.ndarray, " n"]]:
        """Read other columns as numbers.

        Args:
            names: The columns.
            levels: How many levels those have that number something, such as users.

        Returns:
            Their numbers, [n] each.

        Raises:
            InputError: There is no such column, or a cell is not a finite number, or not a level.
        """
        rows, columns = self._read_rows() if self.gaps else (slice(None), self.columns)
        result = {name: np.zeros(len(self)) for name in names}
        for name, column in result.items():
            # Nothing is predicted from those of texts that were not read.
            column[rows] = finite(columns, name, (levels or {}).get(name))
        return result

    def check(
        self,
        covariates: Sequence[str] = (),
        levels: Mapping[str, int] | None = None,
        look: Callable[[Float64[np.ndarray, "n *readers K"]], object] = lambda _: None,
    ) -> None:
        """Check everything, in batches, and warn once of options without a reading.

        Args:
            covariates: Columns that must be finite numbers.
            levels: How many levels those have that number something.
            look: Called with the logits of each batch.

        Raises:
            InputError: An id is missing or occurs twice, a reading is invalid, or a covariate is
                missing, not finite or not a level; with its row.
        """
        for name in covariates:
            self.columns.require(name)
        hashes: list[pl.Series] = []
        unread: list[Unread] = []
        read = [name for name in self.names if name in self.columns.schema]
        used = tuple(dict.fromkeys(("item_id", *read, *covariates)))
        for batch in self.batches(CHECKED, used, unread.append):
            # Eight bytes a text; two ids may have one hash, so `read_items` has the last word.
            hashes.append(name_items(batch.columns).hash())
            look(batch.logits)
            batch.covariates(covariates, levels)
        ids = pl.concat(hashes)
        if ids.n_unique() < len(ids):
            read_items(self.columns, of_readers=True)
        if unread:
            cells, rows = sum(part.options for part in unread), sum(part.rows for part in unread)
            warn_of_unread(Unread(cells, rows, len(ids), unread[0].first))

    def batches(
        self,
        size: int,
        names: Iterable[str] | None = None,
        tell: Callable[[Unread], None] = lambda _: None,
    ) -> Iterator["ReadingTable"]:
        """Read the texts in order, some at a time.

        Args:
            size: The most texts of a batch.
            names: The columns to read; by default all.
            tell: Called with the options without a reading of a batch.

        Yields:
            Tables in memory.
        """
        start, logits = 0, vars(self).get("logits", self.checked)
        for columns in self.columns.batches(size, names):
            stop = start + len(columns)
            part = replace(self, columns=columns)
            checked = part._convert(tell) if logits is None else logits[start:stop]
            yield replace(part, checked=checked)
            start = stop

    def _convert(self, tell: Callable[[Unread], None]) -> Float64[np.ndarray, "n K"]:
        rows, columns = self._read_rows()
        logits = np.full((len(self.columns), self.scale.size), np.nan)
        if not rows.size:
            return logits
        source, places = Source(columns.where, self.names, tell), slice(None)
        with naming(columns.path):
            if self.kind == "rating":  # There are few different ones.
                cells = columns.collect("rating").with_row_index("")
                same = cells.select(pl.first("").over("rating")).to_series()
                first, places = np.unique(same, return_inverse=True)
                ends = columns.rating_range
                read = partial(read_ratings, scale=self.scale, round=self.round, ends=ends)
                try:
                    values = read(as_list(cells["rating"][first]))
                except InputError:  # The message names all rows.
                    read(as_list(cells["rating"]), where=columns.where)
                    raise
            else:
                # An empty cell is an option without any probability.
                empty = 0.0 if self.kind in CONVERSIONS else -np.inf
                values = np.full((len(columns), len(self.names)), empty)
                here = [k for k, name in enumerate(self.names) if name in columns.schema]
                for k in here:
                    values[:, k] = numbers(columns, self.names[k], empty=empty)
                # Of an option without a column, a warning was given already.
                if len(here) < len(self.names) and (values[:, here] != empty).all():
                    source = source._replace(tell=lambda _: None)
                if self.kind in CONVERSIONS:
                    values = CONVERSIONS[self.kind](values, source=source)
            logits[rows] = as_logits(values, source=source)[places]
        return logits[:, ::-1].copy() if self.columns.reverse else logits

    def _read_rows(self) -> tuple[Int64[np.ndarray, " r"], Columns]:
        """Return the rows of the texts that were read, and the table of these alone."""
        unread = self.unread
        rows = np.flatnonzero(~unread)
        return rows, self.columns if len(rows) == len(unread) else self.columns.take(rows)


def open_readings(path: str | Path, **chosen: Any) -> ReadingTable:
    """Find the readings of a table, which need not fit in memory.

    Args:
        path: As `read_columns` reads it, with `item_id` and one group of columns `logit_`,
            `logprob_`, `p_` or `n_` (or one column `rating`).
        chosen: Fields of `Choice`.

    Returns:
        The readings of that reader and task, not yet checked. Rows with an `item_id` and nothing in
        the columns of readings are texts that were not read, and one warning counts them.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing.
        SettingNeeded: The file holds several readers or tasks, or a column `rating` has no options.
    """
    choice = Choice(**chosen)
    columns = open_columns(path, choice)
    (per,) = find_columns(columns, [choice.per], "user", USERS) if choice.per else (None,)
    columns = select(columns, "reader", choice.reader)
    layout = find_layout(columns, choice.options)
    if choice.rating_range and layout[1] != "rating":
        raise InputError(f"{columns.path} has a column per option. Omit the rating range.")
    return count_unread(ReadingTable(columns, *layout, round=choice.round, per=per))


def count_unread(table: ReadingTable) -> ReadingTable:
    """Note whether some of the texts were not read, and warn of their number."""
    count, path = int(table.unread.sum()), table.columns.path
    if count:
        warn(
            f"{path}: no reading for {count} of {len(table)} texts (empty cells, or 0 for all "
            "options). Predictions for these texts use only labels of texts without a reading."
        )
    return replace(table, gaps=count > 0)


def read_readings(path: str | Path, **chosen: Any) -> ReadingTable:
    """Read and check the readings of all texts, as `open_readings` finds them.

    Raises:
        InputError: As `open_readings` raises; or an id occurs twice, or a reading is invalid; with
            its row and column.
    """
    table = open_readings(path, **chosen)
    _ = table.item_ids, table.logits
    return table

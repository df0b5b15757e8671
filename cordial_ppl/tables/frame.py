"""A table as named columns: a lazy frame of polars that knows where each row stands in its file."""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import FileError, InputError, quote

ROW = "\0row"
"""A hidden column: where each row stands in its file, or in the files of a folder together."""

LACKING = "\0lacking"
"""A hidden column of JSON Lines: the names that a row does not have."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by name.

    Attributes:
        path: The file or the folder.
        frame: The cells, with the hidden column `ROW`; text if they come from CSV.
        unit: What `ROW` counts, "line" or "row".
        ends: The Parquet files, and the number of rows up to the end of each.
        masks: Conditions that the rows which count meet.
        silent: Columns that are empty in the rows which count, but not in others.
    """

    path: Path
    frame: pl.LazyFrame
    unit: str = "row"
    ends: tuple[tuple[Path, int], ...] = ()
    masks: tuple[pl.Expr, ...] = ()
    silent: frozenset[str] = frozenset()

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Names and types of the columns, in file order."""
        with reading(self.path, self.ends):
            found = self.frame.collect_schema().items()
        return {name: kind for name, kind in found if name not in (ROW, LACKING)}

    @property
    def header(self) -> "Columns":
        """The columns without a row."""
        with reading(self.path, self.ends):
            return replace(self, frame=self.frame.clear())

    @cached_property
    def cells(self) -> dict[str, list]:
        """The cells of each column as Python objects; None for a missing one."""
        found = self.collect(*self.schema)
        with reading(self.path, self.ends):
            return found.to_dict(as_series=False)

    def __len__(self) -> int:
        """The number of rows that count."""
        return self.collect(pl.len()).item()

    def where(self, position: int) -> str:
        """Name the place of a row: "line 7", or in a folder "row 7 of part-2.parquet"."""
        row = self.collect(pl.col(ROW).get(position)).item()
        if not self.path.is_dir():
            return f"{self.unit} {row}"
        ends = [0, *(end for _, end in self.ends)]
        number = bisect_right(ends, row) - 1
        return f"{self.unit} {row - ends[number]} of {self.ends[number][0].name}"

    def require(self, name: str) -> None:
        """Refuse a table without a column.

        Raises:
            InputError: There is no such column.
        """
        if name not in self.schema:
            raise InputError(
                f"{self.path} has no column {name!r}; found {list_names(self.schema)}."
            )

    def column(self, name: str) -> list:
        """List the cells of a column that has to be there.

        Raises:
            InputError: There is no such column.
        """
        self.require(name)
        return self.cells[name]

    def collect(self, *what: str | pl.Expr) -> pl.DataFrame:
        """Compute expressions from the rows that count; a file cannot be read: `FileError`."""
        with reading(self.path, self.ends):
            return self.frame.filter(*self.masks).select(*what).collect()

    def batches(self, size: int, names: Iterable[str] | None = None) -> Iterator["Columns"]:
        """Read the rows that count in order, some at a time.

        Args:
            size: The most rows of a batch.
            names: The columns to read; by default all.

        Yields:
            Tables in memory.

        Raises:
            FileError: A file cannot be read.
        """
        unused = [name for name in self.schema if names is not None and name not in names]
        rows = self.frame.filter(*self.masks).drop(unused)
        with reading(self.path, self.ends):
            for frame in rows.collect_batches(chunk_size=size, maintain_order=True):
                if len(frame):
                    yield replace(self, frame=frame.lazy(), masks=())


def as_series(name: str, cells: Sequence | np.ndarray) -> pl.Series:
    """Make a column of cells; where no type holds them all exactly, they become text.

    Args:
        name: The column's name.
        cells: Python or NumPy objects; None for a missing one.
    """
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        try:
            return pl.Series(name, cells)
        except ValueError:  # Times in seconds, or in units of years.
            return pl.Series(name, cells.astype(str).tolist())
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    known = [cell for cell in plain if cell is not None]
    kinds = set(map(type, known))
    # Whole numbers beside others become floats, which hold them up to 2**53.
    largest = 2**53 if float in kinds else 2**63 - 1
    same = len(kinds) < 2 or kinds == {int, float}
    if same and not any(isinstance(cell, int) and abs(cell) > largest for cell in known):
        try:
            column = pl.Series(name, plain, strict=False)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            column = None
        # polars replaces what does not fit by null, also inside lists and objects.
        nested = bool(kinds & {list, tuple, dict})
        if column is not None and (not nested or column.to_list() == plain):
            return column
    texts = [cell if cell is None or isinstance(cell, str) else as_text(cell) for cell in plain]
    return pl.Series(name, texts, pl.String)


def as_text(cell: object) -> str:
    """Write a cell as text: lists and objects as JSON."""
    cell = cell.to_list() if isinstance(cell, pl.Series) else cell
    return (
        json.dumps(cell, default=str, ensure_ascii=False)
        if isinstance(cell, list | dict)
        else str(cell)
    )


def list_names(names: Iterable[str], shown: int = 10) -> str:
    """Quote names for a message, at most ten: "'a', 'b' and 3 more"; "nothing" if none."""
    quoted = [quote(name) for name in names] or ["nothing"]
    hidden = len(quoted) - shown
    return ", ".join(quoted[:shown]) + (f" and {hidden} more" if hidden > 0 else "")


def is_filled(cell: object) -> bool:
    """Tell a cell with something in it from an empty one."""
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


@contextmanager
def reading(path: Path, ends: Iterable[tuple[Path, int]] = ()) -> Iterator[None]:
    """Turn what goes wrong in polars into a message about a file.

    Args:
        path: The file or the folder.
        ends: The files of a folder: the one at fault is looked for.

    Raises:
        FileError: A file cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except InputError:
        raise
    # Besides damage, dates that Python does not have.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        for file, _ in ends if path.is_dir() else ():
            with reading(file):
                for _ in pl.scan_parquet(file, glob=False).collect_batches():
                    pass
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise FileError(f"{path} is damaged or holds what cannot be read: {reason}.") from error

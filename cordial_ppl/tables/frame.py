"""A table as named columns: a lazy frame of polars that knows where each row stands in its file."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import FileError, InputError, Where, list_names, name_row

ROW = "\0row"
"""A hidden column: the number of each row in its file, or in the files of a folder together."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by name.

    Attributes:
        path: The file or the folder.
        frame: The cells and the hidden column `ROW`; all cells of a CSV file are text.
        name_row: Names a row by its number in `ROW`: "line 7", "row 7 of part-2.parquet".
        masks: Conditions that select rows; by default all rows count.
        separator: What stands between the cells of a text file.
        mark: Whether a text file begins with a byte order mark.
        keep_form: Whether text files are written like this one: separator, decimal sign, id column.
        apart: Columns that are named for something, and have no meaning by their names.
        reverse: Whether the readings' scale runs the other way than the labels'.
        rating_range: The worst and the best rating, if the labels have other options.
        origin: Names in the file of columns that have another here.
    """

    path: Path
    frame: pl.LazyFrame
    name_row: Where = name_row
    masks: tuple[pl.Expr, ...] = ()
    separator: str = ","
    mark: bool = False
    keep_form: bool = False
    apart: tuple[str, ...] = ()
    reverse: bool = False
    rating_range: Sequence[Any] | None = None
    origin: dict[str, str] = field(default_factory=dict)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Names and types of the columns, in file order."""
        with reading(self.path):
            schema = self.frame.collect_schema()
        return {name: kind for name, kind in schema.items() if name != ROW}

    @property
    def free(self) -> list[str]:
        """Names of the columns that are named for nothing else, and mean what they are called."""
        return [name for name in self.schema if name not in self.apart]

    @property
    def has_commas(self) -> bool:
        """Whether the file has decimal commas; ids such as 1.10 may have points beside them."""
        marks = pl.col(pl.String).str.extract(r"^[+-]?\d*([.,])\d+$").min()
        first = pl.min_horizontal(pl.lit(None, pl.String), marks)
        return self.frame.select(first).collect().item() != "."

    @property
    def listed(self) -> str:
        """The names of the columns in the file, for messages."""
        return list_names(self.origin.get(name, name) for name in self.schema)

    @cached_property
    def cells(self) -> dict[str, list]:
        """The cells of each column as Python objects; None for a missing one."""
        return {cells.name: as_list(cells) for cells in self.collect(*self.schema)}

    def __len__(self) -> int:
        """The number of selected rows."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return self.collect(pl.len()).item()

    def where(self, position: int) -> str:
        """Name a selected row, counted from 0: "line 7"."""
        return self.name_row(self.collect(pl.col(ROW).get(position)).item())

    def rename(self, old: str, new: str) -> "Columns":
        """Give a column another name, before rows are selected; one that had it: `input_...`."""
        names = {old: new} | ({new: f"input_{new}"} if new in self.schema and old != new else {})
        apart = tuple(names.get(name, name) if name != old else name for name in self.apart)
        origin = self.origin | {to: self.origin.get(name, name) for name, to in names.items()}
        return replace(self, frame=self.frame.rename(names), apart=apart, origin=origin)

    def filter(self, mask: pl.Expr) -> "Columns":
        """Select those of the selected rows that meet a condition, too."""
        return replace(self, masks=(*self.masks, mask))

    def take(self, rows: Sequence[int] | np.ndarray) -> "Columns":
        """Take some of the selected rows, by position."""
        frame = self.collect(ROW, *self.schema)[np.asarray(rows, np.int64)]
        return replace(self, frame=frame.lazy(), masks=())

    def require(self, name: str) -> None:
        """Check that there is a column.

        Raises:
            InputError: There is none of that name.
        """
        if name not in self.schema:
            raise InputError(f"{self.path} has no column {name!r}; found {self.listed}.")

    def collect(self, *expressions: str | pl.Expr) -> pl.DataFrame:
        """Compute expressions from the selected rows; raise a `FileError` for a damaged file."""
        with reading(self.path):
            return self.frame.filter(*self.masks).select(*expressions).collect()

    def batches(self, size: int, names: Iterable[str] | None = None) -> Iterator["Columns"]:
        """Read the selected rows in order, some at a time.

        Args:
            size: The most rows of a batch.
            names: The columns to read; by default all.

        Yields:
            Tables in memory.

        Raises:
            FileError: A file cannot be read.
        """
        rows = self.frame.filter(*self.masks).select(ROW, *(names or self.schema))
        with reading(self.path):
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
        return pl.Series(name, cells)
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    kinds = {type(cell) for cell in plain if cell is not None}
    # Whole numbers beside others become floats, which hold them up to 2**53.
    largest = 2**53 if float in kinds else 2**63 - 1
    small = all(abs(cell) <= largest for cell in plain if isinstance(cell, int))
    if small and (len(kinds) < 2 or kinds == {int, float}):
        with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            column, nested = pl.Series(name, plain, strict=False), kinds & {list, tuple, dict}
            # polars replaces what does not fit by null, also inside lists and objects.
            if not nested or _drop_nulls(column.to_list()) == _drop_nulls(plain):
                return column
    texts = [cell if cell is None or isinstance(cell, str) else as_text(cell) for cell in plain]
    return pl.Series(name, texts, pl.String)


def as_text(cell: object) -> str:
    """Write a cell as text: lists and objects as JSON."""
    cell = cell.to_list() if isinstance(cell, pl.Series) else cell
    if isinstance(cell, list | dict):
        return json.dumps(cell, default=str, ensure_ascii=False)
    return str(cell)


def _drop_nulls(value: Any) -> Any:
    """Leave out the keys of objects that have no value: polars gives all objects the same keys."""
    if isinstance(value, dict):
        return {key: _drop_nulls(part) for key, part in value.items() if part is not None}
    return [_drop_nulls(part) for part in value] if isinstance(value, list | tuple) else value


def as_list(cells: pl.Series) -> list:
    """List the cells of a column as Python objects; dates outside the range of Python's as text."""
    try:
        return cells.to_list()
    except (OverflowError, ValueError):
        return cells.cast(pl.String).to_list()


def list_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder by name, without hidden ones and those that begin "_"."""
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return [f for f in files if f.suffix.lower() == ".parquet" and f.name[0] not in "._"]


def is_filled(cell: object) -> bool:
    """Tell a cell with something in it from null, NaN, and text without a word."""
    if isinstance(cell, float):
        return not math.isnan(cell)
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an exception into a message about a file, or about one file of a folder.

    Raises:
        FileError: The file cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        problem = f"{path} is not UTF-8 text ({error.reason} at byte {error.start:,})"
        raise FileError(f"{problem}. Save the file as UTF-8 (in Excel: CSV UTF-8).") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        for file in list_files(path) if path.is_dir() else ():
            with reading(file):
                for _ in pl.scan_parquet(file, glob=False).collect_batches():
                    pass
        reason = first_line(error)
        raise FileError(f"{path} is damaged or has unreadable contents: {reason}.") from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without a full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".")

"""The file formats: a CSV, Parquet or JSON Lines file as named columns, whatever they mean.

A table is a lazy frame of polars. Parquet is read when it is needed and need not fit in memory;
CSV and JSON Lines are read at once, by the readers of the standard library: these tell the line
of every row, and refuse rows of another length and keys that occur twice.

A message names the line of a text file, where the first is 1, or the row of a Parquet file, where
the first is 0.
"""

import csv
import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import FileError, InputError, quote
from cordial_ppl.outputs import name_endings

ROW = "\0row"
"""A hidden column: where each row stands in its file, or in the files of a folder together."""

LACKING = "\0lacking"
"""A hidden column of JSON Lines: the names that a row does not have."""

DENSEST = 4
"""Rows a byte beyond which a Parquet file is refused: every text has a different name."""

CHUNK = 1 << 16
"""Rows of a CSV file that are Python objects at a time."""


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
        found = self.frame.collect_schema().items()
        return {name: kind for name, kind in found if name not in (ROW, LACKING)}

    @property
    def header(self) -> "Columns":
        """The columns without a row."""
        return replace(self, frame=self.frame.clear())

    @cached_property
    def cells(self) -> dict[str, list]:
        """The cells of each column as Python objects; None for a missing one."""
        found = self.collect(*self.schema)
        with _reading(self.path):
            return found.to_dict(as_series=False)

    def __len__(self) -> int:
        """The number of rows that count."""
        return self.collect(pl.len()).item()

    def where(self, position: int) -> str:
        """Name the place of a row: "line 7", or in a folder "row 7 of part-2.parquet"."""
        row = self.collect(pl.col(ROW).get(position)).item()
        if self.path in (file for file, _ in self.ends) or not self.ends:
            return f"{self.unit} {row}"
        ends = [end for _, end in self.ends]
        number = bisect_right(ends, row)
        start = ends[number - 1] if number else 0
        return f"{self.unit} {row - start} of {self.ends[number][0].name}"

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
        with _reading(self.path):
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
        hidden = [name for name in self.frame.collect_schema() if name in (ROW, LACKING)]
        chosen = [name for name in self.schema if names is None or name in names]
        rows = self.frame.filter(*self.masks).select(*chosen, *hidden)
        with _reading(self.path):
            for frame in rows.collect_batches(chunk_size=size, maintain_order=True):
                if len(frame):
                    yield replace(self, frame=frame.lazy(), masks=())


def in_memory(path: str | Path, frame: pl.DataFrame) -> Columns:
    """Make a table of a data frame.

    Args:
        path: What messages call it.
        frame: The cells.
    """
    return Columns(Path(path), frame.with_row_index(ROW).lazy())


def read_columns(path: str | Path) -> Columns:
    """Read a table by the ending of its name: .csv, .parquet, .jsonl or .ndjson.

    Args:
        path: The file; or a folder of Parquet files with the same columns, which is one table in
            the order of their names. Names that begin with a dot or an underscore are skipped.

    Returns:
        Its columns, with at least one row.

    Raises:
        FileError: The file is missing or empty, its ending is unknown, its contents are not what
            the ending says, a row does not fit the header, a folder holds no Parquet file, or its
            files have different columns.
    """
    path = Path(path)
    columns = _read_parquet(path) if path.is_dir() else _READERS[_check(path)](path)
    if not len(columns):
        raise FileError(f"{path} holds no rows: a table needs at least one.")
    return columns


def table_ending(path: str | Path) -> str:
    """Find the ending of a table's name, in lower case.

    Args:
        path: The file.

    Returns:
        One of `ENDINGS`.

    Raises:
        FileError: The ending is none of them.
    """
    ending = Path(path).suffix.lower()
    if ending not in _READERS:
        raise FileError(f"{path}: a table's name must end in {name_endings(ENDINGS)}.")
    return ending


def as_series(name: str, cells: Sequence | np.ndarray) -> pl.Series:
    """Make a column of cells; where no type holds them all exactly, they become text.

    Args:
        name: The column's name.
        cells: Python or NumPy objects; None for a missing one.
    """
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return pl.Series(name, cells)
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    known = [cell for cell in plain if cell is not None]
    kinds = set(map(type, known))
    same = len(kinds) < 2 or kinds == {int, float}
    if same and not (int in kinds and any(abs(cell) >= 2**63 for cell in known)):
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


def list_names(names: Iterable[str], shown: int = 10) -> str:
    """Quote names for a message, at most ten: "'a', 'b' and 3 more"; "nothing" if none."""
    quoted = [quote(name) for name in names] or ["nothing"]
    hidden = len(quoted) - shown
    return ", ".join(quoted[:shown]) + (f" and {hidden} more" if hidden > 0 else "")


def is_filled(cell: object) -> bool:
    """Tell a cell with something in it from an empty one."""
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def as_text(cell: object) -> str:
    """Write a cell as text: lists and objects as JSON."""
    cell = cell.to_list() if isinstance(cell, pl.Series) else cell
    return json.dumps(cell, default=str) if isinstance(cell, list | dict) else str(cell)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong in polars into a message about a file."""
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except FileError:
        raise
    # Besides damage, dates that Python does not have.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        if path.is_dir():
            for file in _list_files(path):
                for _ in read_columns(file).batches(CHUNK):
                    pass
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise FileError(f"{path} is damaged or holds what cannot be read: {reason}.") from error


def _check(path: Path) -> str:
    """Look at the first bytes of a file: is it there, and of the kind that its name says?"""
    ending = table_ending(path)
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise FileError(f"cannot read {str(path)!r}: {error}.") from error
    text = head.removeprefix(b"\xef\xbb\xbf").strip()
    if not text:
        raise FileError(f"{path} is empty: a table needs a header and at least one row.")
    found = ".parquet" if head.startswith(b"PAR1") else ".jsonl" if text[:1] == b"{" else ending
    if _READERS[found] is not _READERS[ending]:
        raise FileError(f"{path} is not what its ending says: it looks like {found}. Rename it.")
    if b"\0" in head and ending != ".parquet":
        raise FileError(f"{path} is not text in UTF-8. Save it as UTF-8.")
    return ending


def _read_parquet(path: Path) -> Columns:
    scans: list[pl.LazyFrame] = []
    ends: list[tuple[Path, int]] = []
    known: list[str] = []
    rows = 0
    for file in _list_files(path) if path.is_dir() else [path]:
        _check(file)
        with _reading(file):
            # One file, also in a folder whose name looks like a partition ("task=fluency").
            scan = pl.scan_parquet(
                file, glob=False, hive_partitioning=False, row_index_name=ROW, row_index_offset=rows
            )
            names = scan.collect_schema().names()
            count = scan.select(pl.len()).collect().item()
        if count > DENSEST * file.stat().st_size:
            raise FileError(f"{file} claims {count} rows in {file.stat().st_size} bytes.")
        known = known or names
        for problem, others in (
            ("lacks", [name for name in known if name not in names]),
            ("has further columns:", [name for name in names if name not in known]),
        ):
            if others:
                first = ends[0][0].name
                raise FileError(f"{file} {problem} {list_names(others)}, unlike {first}.")
        scans.append(scan.select(known))
        rows += count
        ends.append((file, rows))
    # A column without a value, or of whole numbers, may be of another type in another file.
    frame = scans[0] if len(scans) == 1 else pl.concat(scans, how="vertical_relaxed")
    with _reading(path):
        frame.collect_schema()
    return Columns(path, frame, ends=tuple(ends))


def _list_files(folder: Path) -> list[Path]:
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    found = [f for f in files if f.suffix.lower() == ".parquet" and f.name[0] not in "._"]
    if not found:
        raise FileError(f"{folder} is a folder without a file whose name ends in .parquet.")
    return found


def _read_csv(path: Path) -> Columns:
    frames: list[pl.DataFrame] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    with _text(path) as file:
        reader = csv.reader(file, strict=True)
        try:
            header = [name.strip() for name in next(filter(None, reader), [])]
            if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
                found = quote(header[0])
                raise FileError(f"{path}: cells must be separated by commas; found {found}.")
            doubled = [name for name in header if header.count(name) > 1]
            if doubled:
                raise FileError(f"{path}: column {quote(doubled[0])} occurs twice in the header.")
            schema = [*((name, pl.String) for name in header), (ROW, pl.Int64)]

            def keep() -> None:
                columns = zip(*rows, strict=True) if rows else ((),) * len(header)
                frames.append(pl.DataFrame([*columns, lines], schema))
                rows.clear()
                lines.clear()

            line = reader.line_num
            for row in reader:
                start, line = line + 1, reader.line_num
                if len(row) == len(header):
                    rows.append(row)
                    lines.append(start)
                elif row:
                    raise FileError(
                        f"{path}: line {start} has {len(row)} cells, the header has {len(header)}."
                    )
                if len(rows) == CHUNK:
                    keep()
            keep()
        except csv.Error as error:
            raise FileError(
                f"{path} is not a CSV table: {error}, line {reader.line_num}."
            ) from error
    return Columns(path, pl.concat(frames).lazy(), "line")


def _read_json_lines(path: Path) -> Columns:
    records: list[dict] = []
    lines: list[int] = []
    with _text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line, object_pairs_hook=_record)
                # Half a surrogate pair, escaped, is text that no file can hold.
                if "\\u" in line:
                    json.dumps(record, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as error:
                raise FileError(f"{path}: line {number} is not valid JSON: {error}.") from error
            if not isinstance(record, dict):
                raise FileError(
                    f"{path}: every line must be one object, {{...}}; line {number} is not."
                )
            records.append(record)
            lines.append(number)
    names = dict.fromkeys(name for record in records for name in record)
    columns = [as_series(name, [record.get(name) for record in records]) for name in names]
    lacking = [list(names.keys() - record.keys()) for record in records]
    hidden = pl.Series(ROW, lines, pl.Int64), pl.Series(LACKING, lacking, pl.List(pl.String))
    return Columns(path, pl.DataFrame([*columns, *hidden]).lazy(), "line")


def _record(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {quote(doubled)} occurs twice")
    return record


@contextmanager
def _text(path: Path) -> Iterator[Any]:
    """Open a file as UTF-8 text, with or without a byte order mark."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8. Save it as UTF-8.") from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


_READERS: dict[str, Callable[[Path], Columns]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}

ENDINGS: Collection[str] = tuple(_READERS)
"""The endings of a table's name."""

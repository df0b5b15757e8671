"""The file formats: a CSV, Parquet or JSON Lines file as named columns, whatever they mean.

Each reader turns a file's structure into columns and remembers where each row stands, so that a
message can name it: the line of a text file as an editor counts it (the first is 1), or the row of
a Parquet file as a data frame counts it (the first is 0).
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cordial_ppl.errors import FileError, InputError, quote
from cordial_ppl.tables.arrow import ArrowCells, open_parquet, reject_doubled


class Absent:
    """The type of `ABSENT`, the cell of a JSON Lines row that lacks the column."""

    def __repr__(self) -> str:
        """Name the cell in messages."""
        return "nothing"


ABSENT = Absent()


@dataclass(frozen=True)
class Columns:
    """The columns of a file, by name, in file order.

    Attributes:
        path: The file.
        cells: The cells of each column: text (CSV), or what the file holds; None for a null.
        rows: Where each row stands in the file.
        unit: What `rows` counts, "line" or "row".
        silent: Columns that say something of other rows of the file, but nothing of these.
    """

    path: Path
    cells: Mapping[str, Sequence | np.ndarray]
    rows: Sequence[int]
    unit: str
    silent: frozenset[str] = frozenset()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def where(self, position: int) -> str:
        """Name the place of a row in the file: "line 7"."""
        return f"{self.unit} {self.rows[position]}"

    def take(self, positions: list[int]) -> "Columns":
        """Keep some rows."""
        cells: dict[str, Sequence | np.ndarray] = {}
        silent = set(self.silent)
        for name, column in self.cells.items():
            plain = isinstance(column, np.ndarray)
            cells[name] = column[positions] if plain else [column[i] for i in positions]
            if not any(map(is_filled, cells[name])) and any(map(is_filled, column)):
                silent.add(name)
        rows = [self.rows[i] for i in positions]
        return replace(self, cells=cells, rows=rows, silent=frozenset(silent))

    def column(self, name: str) -> Sequence | np.ndarray:
        """Find the cells of a column that has to be there.

        Args:
            name: The column's name.

        Returns:
            The cells.

        Raises:
            InputError: The file has no such column.
        """
        if name not in self.cells:
            raise InputError(f"{self.path} has no column {name!r}; found {list_names(self.cells)}.")
        return self.cells[name]


def read_columns(path: str | Path) -> Columns:
    """Read a table by the ending of its name: .csv, .parquet, .jsonl or .ndjson.

    Args:
        path: The file.

    Returns:
        Its columns, with at least one row.

    Raises:
        FileError: The file is missing or empty, its ending is unknown, its contents are not what
            the ending says, or a row does not fit the header.
    """
    path = Path(path)
    columns = _READERS[check_table(path)](path)
    if not len(columns):
        raise no_rows(path)
    return columns


def check_table(path: Path) -> str:
    """Look at the beginning of a file: whether it is there, and of the kind that its name says.

    Args:
        path: The file.

    Returns:
        Its ending.

    Raises:
        FileError: The file is missing or empty, its ending is unknown, or it looks like another.
    """
    ending = table_ending(path)
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise FileError(f"cannot read {str(path)!r}: {error}.") from error
    if not head.strip():
        raise FileError(f"{path} is empty: a table needs a header and at least one row.")
    found = _guess(head)
    if found and _READERS[found] is not _READERS[ending]:
        raise FileError(f"{path} is not what its ending says: it looks like {found}. Rename it.")
    return ending


def no_rows(path: Path) -> FileError:
    """What to raise of a table without rows."""
    return FileError(f"{path} holds no rows: a table needs at least one.")


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


def name_endings(endings: Collection[str]) -> str:
    """Name endings for a message: ".cordial", or ".csv, .jsonl or .parquet"."""
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last


def list_names(names: Iterable[str], shown: int = 10) -> str:
    """Quote names for a message, at most ten: "'a', 'b' and 3 more"; "nothing" if none."""
    quoted = [quote(name) for name in names] or ["nothing"]
    hidden = len(quoted) - shown
    return ", ".join(quoted[:shown]) + (f" and {hidden} more" if hidden > 0 else "")


def is_filled(cell: object) -> bool:
    """Tell a cell with something in it from an empty or absent one."""
    return not (cell is None or cell is ABSENT or (isinstance(cell, str) and not cell.strip()))


def _guess(head: bytes) -> str | None:
    """Guess the ending from the first bytes, where they give it away."""
    if head.startswith(b"PAR1"):
        return ".parquet"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return ".jsonl" if text.startswith(b"{") else None


def _read_csv(path: Path) -> Columns:
    rows: list[list[str]] = []
    lines: list[int] = []
    with _text(path) as file:
        reader = csv.reader(file, strict=True)
        try:
            header = [name.strip() for name in next(filter(None, reader), [])]
            if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
                found = quote(header[0])
                raise FileError(f"{path}: cells must be separated by commas; found {found}.")
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
        except csv.Error as error:
            raise FileError(
                f"{path} is not a CSV table: {error}, line {reader.line_num}."
            ) from error
    reject_doubled(path, header)
    return Columns(path, dict(zip(header, zip(*rows, strict=True), strict=False)), lines, "line")


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
                raise FileError(
                    f"{path}: line {number} is not JSON as it should be: {error}."
                ) from error
            if not isinstance(record, dict):
                raise FileError(
                    f"{path}: every line must be one object, {{...}}; line {number} is not."
                )
            records.append(record)
            lines.append(number)
    names = dict.fromkeys(name for record in records for name in record)
    cells = {name: [record.get(name, ABSENT) for record in records] for name in names}
    return Columns(path, cells, lines, "line")


def _record(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {quote(doubled)} occurs twice")
    return record


def _read_parquet(path: Path) -> Columns:
    with open_parquet(path) as file:
        table = file.read()
    return Columns(path, ArrowCells(table), range(table.num_rows), "row")


@contextmanager
def _text(path: Path) -> Iterator:
    """The file as UTF-8 text, with or without a byte order mark."""
    try:
        with path.open("rb") as file:
            if b"\0" in file.read(512):
                raise FileError(f"{path} is not text in UTF-8. Save it as UTF-8.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8. Save it as UTF-8.") from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


_READERS = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}

ENDINGS = tuple(_READERS)
"""The endings of a table's name."""

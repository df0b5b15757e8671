"""The file formats: a CSV, Parquet or JSON Lines file as named columns, whatever they mean.

polars reads Parquet when it is needed, and it need not fit in memory. The standard library reads
CSV and JSON Lines at once: it tells the line of each row, and polars would accept too short a row.

A message names the line of a text file, where the first is 1, or the row of a Parquet file, where
the first is 0.
"""

import csv
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import batched
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.errors import FileError, list_names, quote
from cordial_ppl.outputs import name_endings
from cordial_ppl.tables.frame import (
    ROW,
    Columns,
    as_series,
    is_filled,
    list_files,
    reading,
)

__all__ = ["ENDINGS", "Columns", "is_filled", "list_names", "read_columns", "table_ending"]

DENSEST = 4
"""Rows a byte beyond which a Parquet file is refused: every text has a different name."""

CHUNK = 1 << 16
"""Rows of a CSV file that are Python objects at a time."""

LONGEST = 2**31 - 1
"""Characters of a cell of a CSV file, at most; the standard library refuses more than 2**17."""


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
    """Find the ending of a table's name, in lower case; raise a `FileError` if it is unknown."""
    ending = Path(path).suffix.lower()
    if ending not in _READERS:
        raise FileError(f"{path}: a table's name must end in {name_endings(ENDINGS)}.")
    return ending


def _check(path: Path) -> str:
    """Check that a file is there and looks like what its ending says; return the ending."""
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
    files = list_files(path) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{path} is a folder without a file whose name ends in .parquet.")
    scans: list[pl.LazyFrame] = []
    starts = [0]
    known: list[str] = []
    for file in files:
        _check(file)
        with reading(file):
            # One file, also in a folder whose name looks like a partition ("task=fluency").
            settings = {"glob": False, "hive_partitioning": False, "row_index_name": ROW}
            scan = pl.scan_parquet(file, **settings, row_index_offset=starts[-1])
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
                first = files[0].name
                raise FileError(f"{file} {problem} {list_names(others)}, unlike {first}.")
        scans.append(scan.select(known))
        starts.append(starts[-1] + count)

    def place(row: int) -> str:
        number = bisect_right(starts, row) - 1
        return f"row {row - starts[number]}" + (f" of {files[number].name}" * path.is_dir())

    # A column without a value, or of whole numbers, may be of another type in another file.
    frame = scans[0] if len(scans) == 1 else pl.concat(scans, how="vertical_relaxed")
    with reading(path):
        frame.collect_schema()
    return Columns(path, frame, place)


def _read_csv(path: Path) -> Columns:
    limit = csv.field_size_limit(LONGEST)
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
            schema = dict.fromkeys(header, pl.String) | {ROW: pl.Int64}
            frames = [pl.DataFrame(schema=schema)]
            for rows in batched(_numbered(path, reader, len(header)), CHUNK):
                frames.append(pl.DataFrame(list(zip(*rows, strict=True)), schema))
        except csv.Error as error:
            place = f"line {reader.line_num}"
            raise FileError(f"{path} is not a CSV table: {error}, {place}.") from error
        finally:
            csv.field_size_limit(limit)
    return Columns(path, pl.concat(frames).lazy(), "line {}".format)


def _numbered(path: Path, reader: Any, size: int) -> Iterator[list]:
    """Rows with the line in which each begins; blank lines are skipped."""
    line = reader.line_num
    for row in reader:
        start, line = line + 1, reader.line_num
        if row and len(row) != size:
            raise FileError(f"{path}: line {start} has {len(row)} cells, the header has {size}.")
        if row:
            yield [*row, start]


def _read_json_lines(path: Path) -> Columns:
    records: dict[int, dict] = {}
    with _text(path) as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                record = json.loads(text)
                # Half a surrogate pair, escaped, is text that no file can hold.
                if "\\u" in text:
                    json.dumps(record, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as error:
                raise FileError(f"{path}: line {line} is not valid JSON: {error}.") from error
            if not isinstance(record, dict):
                raise FileError(
                    f"{path}: every line must be one object, {{...}}; line {line} is not."
                )
            records[line] = record
    names = dict.fromkeys(name for record in records.values() for name in record)
    columns = [as_series(name, [row.get(name) for row in records.values()]) for name in names]
    lines = pl.Series(ROW, list(records), pl.Int64)
    return Columns(path, pl.DataFrame([*columns, lines]).lazy(), "line {}".format)


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
ENDINGS = tuple(_READERS)
"""The endings of a table's name."""

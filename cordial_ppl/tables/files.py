"""The file formats: a CSV, Parquet or JSON Lines file as named columns, whatever they mean.

Parquet is read when it is needed and need not fit in memory. CSV and JSON Lines are read at once,
by the readers of the standard library: these tell the line of every row, and refuse rows of another
length and keys that occur twice.

A message names the line of a text file, where the first is 1, or the row of a Parquet file, where
the first is 0.
"""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.errors import FileError, quote
from cordial_ppl.outputs import name_endings
from cordial_ppl.tables.frame import (
    LACKING,
    ROW,
    Columns,
    as_series,
    is_filled,
    list_names,
    reading,
)

__all__ = ["ENDINGS", "Columns", "is_filled", "list_names", "read_columns", "table_ending"]

DENSEST = 4
"""Rows a byte beyond which a Parquet file is refused: every text has a different name."""

CHUNK = 1 << 16
"""Rows of a CSV file that are Python objects at a time."""


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
    """Find the ending of a table's name, in lower case; one not among `ENDINGS`: `FileError`."""
    ending = Path(path).suffix.lower()
    if ending not in _READERS:
        raise FileError(f"{path}: a table's name must end in {name_endings(ENDINGS)}.")
    return ending


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
        with reading(file):
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
    with reading(path):
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

ENDINGS = tuple(_READERS)
"""The endings of a table's name."""

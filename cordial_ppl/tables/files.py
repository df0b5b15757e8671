"""The file formats: a file as named columns, whatever they mean.

polars reads Parquet when it is needed, and it need not fit in memory; sheets of Excel it reads at
once, with fastexcel. The standard library reads text with separators, and JSON Lines: it tells the
line of each row, and polars would accept too short a row.

A message names the line of a text file or the row of a sheet, where the first is 1, or the row of
a Parquet file, where the first is 0.
"""

import codecs
import csv
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import batched
from pathlib import Path
from typing import Any

import polars as pl

from cordial_ppl.errors import CordialWarning, FileError, list_names, quote
from cordial_ppl.runtime.outputs import name_endings
from cordial_ppl.tables.frame import (
    INDEX,
    ROW,
    Columns,
    as_series,
    first_line,
    is_filled,
    list_files,
    name_index,
    reading,
)

__all__ = ["ENDINGS", "Columns", "is_filled", "list_names", "read_columns"]

DENSEST = 4
"""Rows a byte beyond which a Parquet file is refused: every text has a different name."""

CHUNK = 1 << 16
"""Rows of a CSV file that are Python objects at a time."""

LONGEST = 2**31 - 1
"""Characters of a cell of a CSV file, at most; the standard library refuses more than 2**17."""

SEPARATORS = ",;\t"
"""What may stand between cells; the one that makes most of a header."""

WIDE_MARKS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
"""How text in UTF-16 begins, as Excel writes it."""

SAVE = "Save it as UTF-8 (in Excel: CSV UTF-8)."
"""What to do about another encoding."""

NEEDED = 'fastexcel: pip install -e ".[excel]".'
"""What reading a workbook needs, and how to get it."""


def read_columns(path: str | Path) -> Columns:
    """Read a table by the ending of its name: .csv, .tsv, .txt, .xlsx, .parquet, .jsonl, .ndjson.

    Cells of text files are separated by commas, semicolons or tabs, whichever the header shows.
    Rows without anything in them are skipped, and so are columns without a name or a value.

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


def _check(path: Path) -> str:
    """Check that a file is there and looks like what its ending says; return the ending."""
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise FileError(f"{path}: a table's name must end in {name_endings(ENDINGS)}.")
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise FileError(f"cannot read {str(path)!r}: {error}.") from error
    wide = head.startswith(WIDE_MARKS)
    text = head.decode("utf-16", "ignore").encode() if wide else head
    text = text.removeprefix(codecs.BOM_UTF8).strip()
    if not text:
        raise FileError(f"{path} is empty: a table needs a header and at least one row.")
    starts = {b"PAR1": ".parquet", b"PK\3\4": ".xlsx", b"{": ".jsonl"}
    found = next((own for start, own in starts.items() if text.startswith(start)), ending)
    if _READERS[found] is not _READERS[ending]:
        raise FileError(f"{path} is not what its ending says: it looks like {found}. Rename it.")
    if b"\0" in head and not wide and ending not in (".parquet", ".xlsx"):
        raise FileError(f"{path} is not text in UTF-8. {SAVE}")
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
            scan = name_index(scan)
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

    # A column without a value, or of whole numbers, may be of another type in another file.
    frame = scans[0] if len(scans) == 1 else pl.concat(scans, how="vertical_relaxed")
    with reading(path):
        frame.collect_schema()
    names = [f" of {file.name}" * path.is_dir() for file in files]
    return Columns(path, frame, partial(_name_row, starts, names))


def _name_row(starts: Sequence[int], names: Sequence[str], row: int) -> str:
    """Name a row of Parquet files that begin at these rows, and end a message so."""
    number = bisect_right(starts, row) - 1
    return f"row {row - starts[number]}{names[number]}"


def _read_text(path: Path) -> Columns:
    limit = csv.field_size_limit(LONGEST)
    with _text(path) as file:
        separator, start = _find_separator(file)
        reader = csv.reader(file, delimiter=separator, strict=True)
        try:
            frame = _as_frame(path, _numbered(path, reader, start))
        except csv.Error as error:
            place = f"line {start + reader.line_num}"
            raise FileError(f"{path} is not a CSV table: {error}, {place}.") from error
        finally:
            csv.field_size_limit(limit)
    return Columns(path, frame, "line {}".format, commas=separator != ",")


def _find_separator(file: Any) -> tuple[str, int]:
    """Find what separates the cells of the header, and how many lines come before the table."""
    if named := re.fullmatch(r"sep=(.)\s*", file.readline()):  # As Excel understands it.
        return named[1], 1
    file.seek(0)
    sizes = {}
    for separator in SEPARATORS:
        try:
            rows = csv.reader(file, delimiter=separator)
            sizes[separator] = len(next(filter(None, rows), ()))
        except csv.Error:
            sizes[separator] = 0
        file.seek(0)
    return max(sizes, key=lambda separator: sizes[separator]), 0


def _numbered(path: Path, reader: Any, line: int) -> Iterator[list]:
    """Rows, the header first, with the line in which each begins; some lines came before."""
    size, before = 0, line
    for row in reader:
        start, line = line + 1, before + reader.line_num
        if not any(map(str.strip, row)):
            continue
        size = size or len(row)
        if len(row) != size:
            raise FileError(f"{path}: line {start} has {len(row)} cells, the header has {size}.")
        yield [*row, start]


def _read_sheet(path: Path) -> Columns:
    try:
        import fastexcel
    except ModuleNotFoundError as error:
        raise FileError(f"reading {path} needs {NEEDED}") from error
    try:
        book = fastexcel.read_excel(path)
        first, *others = book.sheet_names
        # Without a header polars keeps the rows where they are; all cells are text, as in a CSV.
        sheet = book.load_sheet(first, header_row=None, dtypes="string")
        rows = sheet.to_polars().fill_null("").iter_rows()
    except (fastexcel.FastExcelError, ValueError) as error:
        raise FileError(f"{path} is damaged or no workbook: {first_line(error)}.") from error
    if others:
        warnings.warn(
            f"{path}: the first sheet is read, {quote(first)}; left out: {list_names(others)}.",
            CordialWarning,
            stacklevel=3,
        )
    filled = ([*row, number] for number, row in enumerate(rows, 1) if any(map(str.strip, row)))
    return Columns(path, _as_frame(path, filled), "row {}".format)


def _as_frame(path: Path, rows: Iterable[list]) -> pl.LazyFrame:
    """Make a frame of rows of text with their numbers; the first has the columns' names."""
    rows = iter(rows)
    names = [name.strip() for name in next(rows, [""])[:-1]]
    doubled = [name for name in names if name and names.count(name) > 1]
    if doubled:
        raise FileError(f"{path}: column {quote(doubled[0])} occurs twice in the header.")
    unnamed = {f"\0{place}": place for place, name in enumerate(names, 1) if not name}
    header = [name or f"\0{place}" for place, name in enumerate(names, 1)]
    schema = dict.fromkeys(header, pl.String) | {ROW: pl.Int64}
    frames = [pl.DataFrame(schema=schema)]
    for some in batched(rows, CHUNK):
        frames.append(pl.DataFrame(list(zip(*some, strict=True)), schema))
    frame = pl.concat(frames)
    frame = frame.drop(name for name in unnamed if not frame[name].str.contains(r"\S").any())
    left = [name for name in unnamed if name in frame.columns]
    if len(left) > 1:
        places = ", ".join(str(unnamed[name]) for name in left)
        raise FileError(f"{path}: columns {places} have values but no name in the header.")
    if not left:
        return frame.lazy()
    if unnamed[left[0]] > 1:
        return frame.rename({left[0]: f"column_{unnamed[left[0]]}"}).lazy()
    # The index of pandas; row numbers say nothing.
    cells = frame[left[0]].cast(pl.Int64, strict=False)
    numbered = cells.equals(pl.Series(range(len(cells)), dtype=pl.Int64))
    index = frame[left[0]] if cells.has_nulls() else cells
    frame = frame.drop(left[0]) if numbered else frame.with_columns(index.alias(INDEX))
    return name_index(frame.drop(left[0], strict=False)).lazy()


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
    """Open a file as text: UTF-8, with or without a byte order mark, or UTF-16 with one."""
    try:
        with path.open("rb") as start:
            wide = start.read(2) in WIDE_MARKS
        with path.open(encoding="utf-16" if wide else "utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8. {SAVE}") from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


_READERS: dict[str, Callable[[Path], Columns]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".txt": _read_text,
    ".xlsx": _read_sheet,
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}
ENDINGS = tuple(_READERS)
"""The endings of the name of a table that is read."""

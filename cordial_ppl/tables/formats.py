"""The file formats: a file as named columns, whatever they mean, and columns as a file.

polars reads Parquet when it is needed, and it need not fit in memory; sheets of Excel it reads at
once, with fastexcel. The standard library reads text with separators, and JSON Lines, in UTF-8 with
or without a byte order mark: polars pads rows that are too short, and names no line where a row is
too long or a quotation mark is missing.

A message names the line of a text file or the row of a sheet, where the first is 1, or the row of
a Parquet file, where the first is 0.
"""

import csv
import json
import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched, starmap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import FileError, as_path, list_names, quote
from cordial_ppl.runtime.outputs import name_endings, replacing
from cordial_ppl.tables.frame import (
    ROW,
    Columns,
    as_series,
    as_text,
    first_line,
    list_files,
    reading,
)
from cordial_ppl.tables.workbook import read_sheet

SINKS = {
    ".csv": pl.LazyFrame.sink_csv,
    ".parquet": pl.LazyFrame.sink_parquet,
    **dict.fromkeys((".jsonl", ".ndjson"), pl.LazyFrame.sink_ndjson),
}
"""Functions that write a table, by the ending of its name."""

CHUNK = 1 << 16
"""Rows of a CSV file that are Python objects at a time."""

SEPARATORS = ",;\t"
"""Characters that separate cells; the one that occurs most in the header does."""


def read_columns(path: str | Path) -> Columns:
    """Read a table by the ending of its name: .csv, .tsv, .txt, .xlsx, .parquet, .jsonl, .ndjson.

    Cells of text files are separated by commas, semicolons or tabs, whichever the header shows.
    Rows without anything in them are skipped. A column without a name is called "column_2" by its
    position, from 1, or skipped if it has no value.

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
    path = as_path(path)
    with reading(path):
        folder = path.is_dir()
        ending = ".parquet" if folder else path.suffix.lower()
        if not folder and (ending in _READERS or path.is_file()):
            path.open("rb").close()
        if ending not in _READERS:
            hint = " Convert other files to a table with `cordial read` first."
            raise FileError(f"{path}: a table's name must end in {name_endings(ENDINGS)}.{hint}")
        columns = _READERS[ending](path)
    if not len(columns):
        raise FileError(f"{path} has no rows. A table needs a header and at least one row.")
    return columns


def _read_parquet(path: Path) -> Columns:
    files = list_files(path) if path.is_dir() else [path]
    if not files:
        raise FileError(f"{path} is a folder without .parquet files.")
    scans: list[pl.LazyFrame] = []
    starts = [0]
    header: list[str] = []
    for file in files:
        with reading(file):
            # One file, also in a folder whose name looks like a partition ("task=fluency").
            settings = {"glob": False, "hive_partitioning": False, "row_index_name": ROW}
            scan = pl.scan_parquet(file, **settings, row_index_offset=starts[-1])
            names = scan.collect_schema().names()
            count = scan.select(pl.len()).collect().item()
        header = header or names
        if others := {*header} ^ {*names}:
            first, one = files[0].name, list_names(sorted(others))
            raise FileError(f"{file} and {first} need the same columns; only one file has {one}.")
        scans.append(scan.select(header))
        starts.append(starts[-1] + count)

    def name_row(row: int) -> str:
        number = bisect_right(starts, row) - 1
        return f"row {row - starts[number]}" + f" of {files[number].name}" * path.is_dir()

    # A column without a value, or of whole numbers, may be of another type in another file.
    frame = pl.concat(scans, how="vertical_relaxed")
    frame.collect_schema()
    return Columns(path, frame, name_row)


def _read_text(path: Path) -> Columns:
    # The standard library refuses cells of more than 2**17 characters.
    limit = csv.field_size_limit(2**31 - 1)
    with path.open(encoding="utf-8-sig", newline="") as file:
        mark = file.buffer.peek().startswith(BOM_UTF8)  # pyright: ignore[reportAttributeAccessIssue]
        header = next(filter(str.strip, file), "")
        separator = max(SEPARATORS, key=header.count)
        file.seek(0)
        reader = csv.reader(file, delimiter=separator, strict=True)
        # Each row with the line in which it begins.
        rows = zip(iter(lambda: reader.line_num + 1, None), reader, strict=False)
        try:
            frame = _as_frame(path, rows)
        except csv.Error as error:
            problem = f"{path} is not a valid CSV table: {error} (line {reader.line_num})."
            raise FileError(problem) from error
        finally:
            csv.field_size_limit(limit)
    return Columns(path, frame, "line {}".format, separator=separator, mark=mark)


def _read_sheet(path: Path) -> Columns:
    return Columns(path, _as_frame(path, read_sheet(path)), "row {}".format)


def _as_frame(path: Path, rows: Iterable[tuple[int, Sequence[str]]]) -> pl.LazyFrame:
    """Make a frame of numbered rows of text without the empty ones; the first names the columns."""
    filled = ((number, row) for number, row in rows if any(map(str.strip, row)))
    header = [name.strip() for name in next(filled, (0, ()))[1]]
    names = [name or f"column_{position}" for position, name in enumerate(header, 1)]
    doubled = [name for name, times in Counter(names).items() if times > 1]
    if doubled:
        raise FileError(f"{path}: column {quote(doubled[0])} occurs twice in the header.")

    def check(number: int, row: Sequence[str]) -> list[Any]:
        if len(row) != len(names):
            raise FileError(f"{path}: line {number} has {len(row)} cells; expected {len(names)}.")
        return [*row, number]

    schema = dict.fromkeys(names, pl.String) | {ROW: pl.Int64}
    cells = batched(starmap(check, filled), CHUNK)
    parts = (pl.DataFrame(list(chunk), schema, orient="row") for chunk in cells)
    frame = pl.concat([pl.DataFrame(schema=schema), *parts])
    unnamed = {*names} - {*header}
    filled = frame.select(pl.col(name).str.contains(r"\S").any() for name in unnamed)
    return frame.drop([cells.name for cells in filled if not cells.item()]).lazy()


def _read_json_lines(path: Path) -> Columns:
    records: dict[int, dict] = {}
    with path.open(encoding="utf-8-sig") as file:
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
                problem = f"every line must be a JSON object, {{...}}; line {line} is not."
                raise FileError(f"{path}: {problem}")
            records[line] = record
    names = dict.fromkeys(name for record in records.values() for name in record)
    columns = [as_series(name, [row.get(name) for row in records.values()]) for name in names]
    lines = pl.Series(ROW, list(records), pl.Int64)
    return Columns(path, pl.DataFrame([*columns, lines]).lazy(), "line {}".format)


_READERS: dict[str, Callable[[Path], Columns]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _read_text),
    ".xlsx": _read_sheet,
    ".parquet": _read_parquet,
    **dict.fromkeys((".jsonl", ".ndjson"), _read_json_lines),
}
ENDINGS = tuple(_READERS)
"""The endings of the name of a table that is read."""


def write_table(
    path: str | Path,
    columns: Mapping[str, Sequence | np.ndarray] | pl.LazyFrame,
    like: Columns | None = None,
) -> None:
    """Write a table by the ending of its name: .csv, .parquet, .jsonl or .ndjson.

    Numbers keep their full precision; None becomes an empty cell or a null. A column whose cells
    are of several types, or integers from 2**63 up, becomes text. JSON has no NaN and no infinity,
    which become nulls.

    Args:
        path: The file; one that is there already is replaced.
        columns: The cells of each column, by name, all of one length; or a frame of polars, which
            is written as it is computed and need not fit in memory.
        like: The table that it is made of, whose form a CSV file takes if that is wanted.

    Raises:
        FileError: The ending is unknown or the file cannot be written; nothing is left behind.
    """
    ending = as_path(path, "write").suffix.lower()
    if ending not in SINKS:
        raise FileError(f"{path}: the name of an output table must end in {name_endings(SINKS)}.")
    with replacing(path) as temporary:
        if not isinstance(columns, pl.LazyFrame):
            columns = pl.DataFrame([as_series(*column) for column in columns.items()]).lazy()
        style: dict[str, Any] = {}
        if like is not None and like.keep_form and ending == ".csv":
            names = {"item_id": like.origin.get("item_id", "item_id")}
            columns = columns.rename(names, strict=False)
            style = {"separator": like.separator, "include_bom": like.mark}
            style["decimal_comma"] = like.separator == ";" and like.has_commas
        for name, kind in columns.collect_schema().items():
            if not _fits(kind, ending):
                # An element of an array reaches Python as an internal object of polars.
                cells = pl.col(name).arr.to_list() if isinstance(kind, pl.Array) else pl.col(name)
                columns = columns.with_columns(cells.map_elements(as_text, pl.String))
        try:
            # polars would hold back Ctrl-C in the thread that calls it.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(SINKS[ending], columns, temporary, **style).result()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise FileError(f"cannot write {path}: {first_line(error)}.") from error


def _fits(kind: Any, ending: str) -> bool:
    """Tell a type that a format can hold."""
    if ending == ".parquet":
        return kind != pl.Struct([])
    inside = re.search("Binary|Duration|Object", str(kind))
    return inside is None and not (ending == ".csv" and kind.is_nested())

"""Writing: a file appears whole under its name, or not at all."""

import csv
import json
import math
import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import FileError, InputError, quote
from cordial_ppl.tables.files import ENDINGS, name_endings, table_ending

Cells = dict[str, list]
"""The cells of each column, by name."""

_UNFINISHED: set[Path] = set()


def write_table(path: str | Path, columns: Mapping[str, Sequence | np.ndarray]) -> None:
    """Write a table by the ending of its name: .csv, .parquet, .jsonl or .ndjson.

    Numbers keep their full precision; None becomes an empty cell or a null. JSON has no NaN and no
    infinity, which become nulls there; Parquet's integers end at 2**63, larger ones become text.

    Args:
        path: The file; one that is there already is replaced.
        columns: The cells of each column, by name, all of one length.

    Raises:
        FileError: The ending is unknown or the file cannot be written; nothing is left behind.
        InputError: The columns differ in length.
    """
    ending = table_ending(path)
    cells = {name: _python_values(column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in cells.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns must have one length; found {lengths}.")
    with replacing(path) as temporary:
        if ending == ".parquet":
            _write_parquet(temporary, cells)
        else:
            with _TEXT_WRITERS[ending](temporary, list(cells)) as write:
                write(cells)


@contextmanager
def writing(path: str | Path, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Write a table part by part; it takes its place when all is written.

    Args:
        path: The file; one that is there already is replaced.
        schema: Names and types of the columns, a `pyarrow.Schema`.

    Yields:
        A function that writes a `pyarrow.Table` below what is written already.

    Raises:
        FileError: The ending is unknown or the file cannot be written; nothing is left behind.
    """
    import pyarrow.parquet

    ending = table_ending(path)
    with replacing(path) as temporary:
        if ending == ".parquet":
            with pyarrow.parquet.ParquetWriter(temporary, schema) as file:
                yield file.write_table
        else:
            with _TEXT_WRITERS[ending](temporary, schema.names) as write:
                yield lambda table: write(table.to_pydict())


def check_writable(path: str | Path, *, endings: Collection[str] | None = ENDINGS) -> None:
    """Find out before the work whether a file can be written after it.

    Args:
        path: The file.
        endings: The endings that its name may have; None for any.

    Raises:
        FileError: The ending is none of them, the folder is missing or may not be written to, or
            the path is a folder.
    """
    if endings is not None and Path(path).suffix.lower() not in endings:
        raise FileError(f"{path}: the name must end in {name_endings(endings)}.")
    temporary = _open_beside(path)
    temporary.unlink()


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file beside `path` to write to, which then takes its place.

    Args:
        path: The file to replace or make.

    Yields:
        The temporary file, empty.

    Raises:
        FileError: The file cannot be written; nothing is left behind.
    """
    temporary = _open_beside(path)
    _UNFINISHED.add(temporary)
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}.") from error
    except UnicodeEncodeError as error:
        half = quote(error.object[error.start : error.end])
        raise FileError(f"cannot write {path}: {half} is no character of a text.") from error
    finally:
        _discard(temporary)


def check_folder(path: str | Path) -> None:
    """Find out before the work whether a folder can be made after it.

    Args:
        path: The folder.

    Raises:
        FileError: It is there already with something in it, is a file, or the folder that it
            would be in is missing or may not be written to.
    """
    if os.path.isdir(path) and not os.listdir(path):
        return
    if os.path.lexists(path):
        raise FileError(f"cannot write {path}: it is there already. Remove it or name another.")
    _open_beside(path).unlink()


@contextmanager
def making_folder(path: str | Path) -> Iterator[Path]:
    """Give a temporary folder beside `path` to fill, which then takes its name.

    Args:
        path: The folder to make, which may be there if it is empty.

    Yields:
        The temporary folder, empty.

    Raises:
        FileError: The folder cannot be made; nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{uuid.uuid4().hex}")
    _UNFINISHED.add(temporary)
    try:
        temporary.mkdir()
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}.") from error
    finally:
        _discard(temporary)


def discard_unfinished() -> None:
    """Remove what is being written: for a program that ends there and then."""
    for temporary in tuple(_UNFINISHED):
        _discard(temporary)


def _discard(temporary: Path) -> None:
    if temporary.is_dir():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        temporary.unlink(missing_ok=True)
    _UNFINISHED.discard(temporary)


def _open_beside(path: str | Path) -> Path:
    """Make an empty file in the folder that `path` (or what it links to) is in."""
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:
        raise FileError(f"cannot write {quote(str(path))}: {error}.") from error
    if os.path.isdir(target):
        raise FileError(f"cannot write {path}: it is a folder.")
    if os.path.exists(target) and not os.path.isfile(target):
        # Taking the place of a device or a pipe would destroy it.
        raise FileError(f"cannot write {path}: it is a device or a pipe, not a file.")
    temporary = target.with_name(f".{uuid.uuid4().hex}{target.suffix}")
    try:
        # A name that is too long shows only when it is asked for.
        with suppress(FileNotFoundError):
            target.stat()
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}.") from error
    return temporary


def _python_values(column: Sequence | np.ndarray) -> list:
    if isinstance(column, np.ndarray):
        return column.tolist()
    return [cell.item() if isinstance(cell, np.generic) else cell for cell in column]


@contextmanager
def _writing_csv(path: Path, names: Sequence[str]) -> Iterator[Callable[[Cells], None]]:
    with path.open("w", encoding="utf-8", newline="") as file:
        header = csv.writer(file, lineterminator="\n")
        header.writerow(names)

        def write(cells: Cells) -> None:
            # A lone carriage return would end a row when it is read, but alone it is not quoted.
            columns = cells.values()
            returns = any(isinstance(c, str) and "\r" in c for column in columns for c in column)
            quoting = csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
            rows = csv.writer(file, lineterminator="\n", quoting=quoting)
            rows.writerows(zip(*columns, strict=True))

        yield write


@contextmanager
def _writing_json_lines(path: Path, names: Sequence[str]) -> Iterator[Callable[[Cells], None]]:
    with path.open("w", encoding="utf-8", newline="") as file:

        def write(cells: Cells) -> None:
            for row in zip(*cells.values(), strict=True):
                record = _without_nan(dict(zip(names, row, strict=True)))
                text = json.dumps(record, ensure_ascii=False, allow_nan=False, default=str)
                file.write(text + "\n")

        yield write


def _without_nan(cell: object) -> object:
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, dict):
        return {name: _without_nan(part) for name, part in cell.items()}
    return [_without_nan(part) for part in cell] if isinstance(cell, list | tuple) else cell


def _write_parquet(path: Path, cells: Cells) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileError("writing Parquet needs pyarrow: pip install pyarrow.") from error

    def column(values: list):
        try:
            return pyarrow.array(values)
        except (pyarrow.ArrowException, OverflowError):
            # Cells of different types or integers of any size, as a JSON Lines file may hold.
            return pyarrow.array([None if value is None else str(value) for value in values])

    table = pyarrow.table({name: column(values) for name, values in cells.items()})
    try:
        pyarrow.parquet.write_table(table, path)
    except pyarrow.ArrowException as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"Parquet cannot hold this table: {reason}. Write .jsonl.") from error


_TEXT_WRITERS = {
    ".csv": _writing_csv,
    ".jsonl": _writing_json_lines,
    ".ndjson": _writing_json_lines,
}

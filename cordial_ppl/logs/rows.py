"""The rows of a log, JSON objects or those of a table, each with the place where it stands."""

import codecs
import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from cordial_ppl.errors import CordialError, FileError, InputError, naming, quote
from cordial_ppl.tables.formats import ENDINGS, read_columns
from cordial_ppl.tables.frame import ROW

JSON = (".jsonl", ".ndjson")
"""Endings of tables that are read as JSON."""

LONGEST, SHOWN = 40, 16
"""Characters of a field's name, and number of fields, that a message shows."""

STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an object of another form raises."""


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        location: Where it stands: "line 7", "element 3".
        value: Its fields.
        key: Its name, if it is an element of an object by name.
    """

    location: str
    value: Mapping[str, Any]
    key: str | None = None


def say_fields(fields: Mapping[str, Sequence[Any]]) -> str:
    """List fields with some of their values for a message: "judge ('gpt-4'), score (4, 5)"."""
    named = []
    for name, cells in list(fields.items())[:SHOWN]:
        values = f" ({', '.join(map(quote, cells))})" if cells else ""
        named.append((f"{name[:LONGEST]}..." if len(name) > LONGEST else name) + values)
    rest = len(fields) - len(named)
    return (", ".join(named) or "nothing") + (f" and {rest} more" if rest else "")


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a table, of a JSON Lines file, or of a JSON file: a list, or one object.

    Args:
        path: The file; a list may be larger than memory.

    Yields:
        Its rows.

    Raises:
        FileError: The file cannot be read, is not JSON, ends in the middle of an object, or holds
            something that is no object.
    """
    with _opened(path) as file:
        first = _first_character(path, file)
        ending = path.suffix.lower()
        if ending in ENDINGS and ending not in JSON and first not in (b"[", b"{"):
            columns = read_columns(path)
            numbers = columns.collect(ROW).to_series()
            for number, *cells in zip(numbers, *columns.cells.values(), strict=True):
                yield Row(columns.name_row(number), dict(zip(columns.cells, cells, strict=True)))
            return
        for location, value in (_elements if first == b"[" else _lines)(path, file):
            if not isinstance(value, dict):
                raise FileError(f"{path}: {location} must be a JSON object; found {quote(value)}.")
            yield Row(location, value)


@contextmanager
def at(location: str, words: str) -> Iterator[None]:
    """Name the place of an error, and turn what an object of another form raises into one."""
    try:
        with naming(location):
            yield
    except CordialError:
        raise
    except STUMBLES as error:
        lacking = f": {error} is missing" if isinstance(error, KeyError) else ""
        raise InputError(f"{location} does not have the form of {words}{lacking}.") from error


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file after its byte order mark, and say what is wrong with it."""
    try:
        with path.open("rb") as file:
            file.seek(3 if file.read(3) == codecs.BOM_UTF8 else 0)
            yield file
    except CordialError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except RecursionError as error:
        raise FileError(f"{path} is nested too deeply.") from error
    except json.JSONDecodeError as error:
        raise FileError(
            f"{path} must be JSON, or one JSON object per line; it breaks at line {error.lineno}, "
            f"column {error.colno}, where it may have been cut off."
        ) from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} must be text in UTF-8; it is not: {error.reason}.") from error
    except ValueError as error:
        # A whole number of thousands of digits.
        raise FileError(f"{path}: {error}.") from error


def _first_character(path: Path, file: BinaryIO) -> bytes:
    """Return the first character that is no space; the file is where it was."""
    start = file.tell()
    text = file.read(4096).lstrip()
    file.seek(start)
    if not text:
        raise FileError(f"{path} is empty.")
    return text[:1]


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Read the values of a file that has one on each line, or one in all."""
    started = False
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            # An object over several lines; or the error is raised again, with the lines above.
            text = line if started else line + file.read()
            yield "the file", json.loads("\n" * (number - 1) + text.decode())
            return
        started = True
        yield f"line {number}", value


def _elements(path: Path, file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Read the elements of a list: the file is mapped, and one at a time becomes objects."""
    import msgspec

    view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    try:
        values = msgspec.json.decode(view[file.tell() :], type=list[msgspec.Raw])
    except msgspec.DecodeError:
        # Python's parser takes NaN, and says where the file breaks.
        values = json.loads(file.read())
    if not values:
        raise FileError(f"{path} is an empty list.")
    for number, value in enumerate(values):
        raw = isinstance(value, msgspec.Raw)
        yield f"element {number}", json.loads(bytes(value)) if raw else value

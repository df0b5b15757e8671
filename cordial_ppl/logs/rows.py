"""The rows of a file, JSON objects or those of a table, each with the place where it stands."""

import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cordial_ppl.errors import CordialError, FileError, InputError, naming, quote
from cordial_ppl.tables import ENDINGS, read_columns
from cordial_ppl.tables.frame import ROW, reading

JSON = (".jsonl", ".ndjson")
"""Endings of tables that are read as JSON."""

STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an object of another form raises."""


Row = tuple[str, Mapping[str, Any]]
"""Where a row of a file stands, "line 7" or "element 3", and its fields."""


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a table, of a JSON Lines file, or of a JSON file: a list, or one object.

    Args:
        path: The file. An object of objects by name has a row for each, with its name as `key`;
            a log of Inspect is read by its own package.

    Yields:
        Its rows.

    Raises:
        FileError: The file cannot be read, is not JSON, ends in the middle of an object, or holds
            something that is no object.
    """
    ending = path.suffix.lower()
    if ending in ENDINGS and ending not in JSON:
        columns = read_columns(path)
        numbers = columns.collect(ROW).to_series()
        for number, *cells in zip(numbers, *columns.cells.values(), strict=True):
            yield columns.name_row(number), dict(zip(columns.cells, cells, strict=True))
        return
    if ending == ".eval":
        yield "the log", _read_inspect(path)
        return
    try:
        with reading(path):
            for location, value in _read(path):
                yield from _read_object(path, location, value)
    except CordialError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        # Whole numbers of thousands of digits are no JSON either.
        problem = f"{path} is not valid JSON or JSON Lines, or was cut off: {error}."
        raise FileError(problem) from error


def _read_object(path: Path, location: str, value: Any) -> Iterator[Row]:
    """Take an object as a row, or as a row for each of the objects that it names."""
    if not isinstance(value, dict):
        raise FileError(f"{path}: {location} must be a JSON object; found {quote(value)}.")
    cells = list(value.values())
    by_name = all(isinstance(one, dict) and {*one} & {*cells[0]} for one in cells)
    if "eval" in value and "plan" in value:
        yield "the log", _read_inspect(path)
    elif by_name and len(cells) > 1:
        yield from ((key, {"key": key, **one}) for key, one in value.items())
    else:
        yield location, value


def _read(path: Path) -> Iterator[tuple[str, Any]]:
    """Read the values of a file: one on each line, one in all, or those of a list."""
    location = None
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                location, value = f"line {number}", json.loads(line)
            except json.JSONDecodeError:
                # A value over several lines; or the error is raised again, with the lines above.
                text = line if location else line + file.read()
                location, value = "the file", json.loads("\n" * (number - 1) + text)
            if isinstance(value, list):
                yield from ((f"element {position}", one) for position, one in enumerate(value))
            else:
                yield location, value
    if location is None:
        raise FileError(f"{path} is empty.")


@contextmanager
def parsing(noun: str) -> Iterator[None]:
    """Turn what an object of another form raises into an `InputError`."""
    try:
        yield
    except CordialError:
        raise
    except STUMBLES as error:
        lacking = f": {error} is missing" if isinstance(error, KeyError) else f" ({error})"
        raise InputError(f"{noun} has an unknown format{lacking}.") from error


def load(module: str, extra: str) -> Any:
    """Import a package of an extra; an `InputError` says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f'{module} is missing. Run pip install "cordial-ppl[{extra}]".') from error


def _read_inspect(path: Path) -> dict[str, Any]:
    """Read a log with Inspect's package, as one object."""
    with naming(path):
        read_eval_log = load("inspect_ai.log", "inspect").read_eval_log
    try:
        return read_eval_log(str(path), resolve_attachments=True).model_dump(mode="json")
    except Exception as error:  # Whatever a damaged archive makes the package raise.
        raise FileError(f"Inspect cannot read {path}: {error!r:.200}") from error

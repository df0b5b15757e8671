"""The objects of a JSON file, one by one, each with the place where it stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError


class Row(NamedTuple):
    """An object of a file.

    Attributes:
        place: Where it stands: "line 7", "element 3".
        value: The object.
    """

    place: str
    value: dict[str, Any]


def json_rows(path: Path) -> Iterator[Row]:
    """Read the objects of a JSON Lines file, or of a JSON file that is a list or one object.

    Args:
        path: The file.

    Yields:
        Its objects.

    Raises:
        FileError: The file cannot be read, is not JSON, ends in the middle of an object, or holds
            something that is no object.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = _first_filled(file)
            if first is None:
                raise FileError(f"{path} is empty.")
            number, line = first
            if (value := _object(line)) is not None:
                yield Row(f"line {number}", value)
                yield from _lines(path, file, number)
                return
            file.seek(0)
            yield from _whole(path, file.read())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} must be text in UTF-8; it is not at byte {error.start}."
        ) from error


def _first_filled(file: Any) -> tuple[int, str] | None:
    for number, line in enumerate(iter(file.readline, ""), start=1):
        if line.strip():
            return number, line
    return None


def _object(line: str) -> dict[str, Any] | None:
    """The object that a line is; None if it is none, as in a file that goes over several lines."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _lines(path: Path, file: Any, number: int) -> Iterator[Row]:
    for line in iter(file.readline, ""):
        number += 1
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            cut = " The file may have been cut off there." if not line.endswith("\n") else ""
            raise FileError(
                f"{path}: line {number} must be a JSON object; it is not at column {error.colno}."
                f"{cut}"
            ) from error
        if not isinstance(value, dict):
            raise FileError(
                f"{path}: line {number} must be a JSON object; found {type(value).__name__}."
            )
        yield Row(f"line {number}", value)


def _whole(path: Path, text: str) -> Iterator[Row]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileError(
            f"{path} must be JSON, or JSON objects a line each; it is not at line {error.lineno}, "
            f"column {error.colno}. It may have been cut off there."
        ) from error
    if isinstance(value, dict):
        yield Row("the file", value)
        return
    if not isinstance(value, list):
        raise FileError(f"{path} must hold JSON objects; found {type(value).__name__}.")
    for number, element in enumerate(value):
        if not isinstance(element, dict):
            raise FileError(
                f"{path}: element {number} must be an object; found {type(element).__name__}."
            )
        yield Row(f"element {number}", element)

"""The objects of a JSON file, one by one, each with the place where it stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

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
            number, line = _first_filled(path, file)
            if line.lstrip().startswith("{") and (value := _object(line)) is not None:
                yield Row(f"line {number}", value)
                yield from _lines(path, file, number)
            elif line.lstrip().startswith("["):
                yield from _elements(path, line + file.read())
            else:
                yield _whole(path, line + file.read(), number)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} must be text in UTF-8; it is not: {error.reason}.") from error
    except RecursionError as error:
        raise FileError(f"{path} is nested too deeply.") from error


def _first_filled(path: Path, file: TextIO) -> tuple[int, str]:
    for number, line in enumerate(iter(file.readline, ""), start=1):
        if line.strip():
            return number, line
    raise FileError(f"{path} is empty.")


def _object(line: str) -> dict[str, Any] | None:
    """The object that a line is; None if it is none, as in a file that goes over several lines."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def _lines(path: Path, file: TextIO, number: int) -> Iterator[Row]:
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
        yield Row(f"line {number}", _as_object(path, f"line {number}", value))


def _elements(path: Path, text: str) -> Iterator[Row]:
    """Read a list an element at a time: as objects, all of them would take many times the room."""
    decoder, number = json.JSONDecoder(), 0
    end = _after_space(text, text.index("[") + 1)
    if text[end : end + 1] == "]":
        raise FileError(f"{path} is an empty list.")
    while True:
        try:
            value, end = decoder.raw_decode(text, end)
        except json.JSONDecodeError as error:
            raise _broken(path, f"element {number}", error.lineno, error.colno) from error
        yield Row(f"element {number}", _as_object(path, f"element {number}", value))
        number, end = number + 1, _after_space(text, end)
        if text[end : end + 1] == "]" and not text[end + 1 :].strip():
            return
        if text[end : end + 1] != ",":
            line = text.count("\n", 0, end) + 1
            raise _broken(path, f"after element {number - 1}", line, end - text.rfind("\n", 0, end))
        end = _after_space(text, end + 1)


def _whole(path: Path, text: str, line: int) -> Row:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise _broken(path, "the file", error.lineno + line - 1, error.colno) from error
    return Row("the file", _as_object(path, "the file", value))


def _after_space(text: str, start: int) -> int:
    while text[start : start + 1].isspace():
        start += 1
    return start


def _broken(path: Path, place: str, line: int, column: int) -> FileError:
    return FileError(
        f"{path} must be JSON, or JSON objects a line each; it is not at line {line}, column "
        f"{column} ({place}). It may have been cut off there."
    )


def _as_object(path: Path, place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FileError(f"{path}: {place} must be a JSON object; found {type(value).__name__}.")
    return value

"""The objects of a JSON file, one by one, each with the place where it stands."""

import codecs
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOBase
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError
from cordial_ppl.formats.elements import Broken, elements

KINDS = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
"""What JSON values are called."""

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard", b"BZh": "bzip2"}
"""First bytes of files that have to be unpacked."""


LONGEST = 40
"""Characters of a field's name that a message shows."""

SHOWN = 8
"""Fields that a message names."""


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
    with _text(path) as file:
        if _first_character(path, file) == "[":
            yield from _elements(path, file)
        else:
            yield from _objects(path, file)


def name_fields(value: Iterable[str]) -> str:
    """Name the first fields of an object for a message: "doc, target"; "nothing" if none."""
    names = (f"{name[:LONGEST]}..." if len(name) > LONGEST else name for name in value)
    return ", ".join(islice(names, SHOWN)) or "nothing"


def looks_like_json(path: Path) -> bool:
    """Say whether a file begins as JSON objects or a list of them do.

    Args:
        path: The file.

    Returns:
        Whether it does.

    Raises:
        FileError: The file cannot be read, is empty, or is text that has to be converted first.
    """
    try:
        with _text(path) as file:
            return _first_character(path, file) in "{["
    except FileError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            return False
        raise


@contextmanager
def _text(path: Path) -> Iterator[TextIOBase]:
    try:
        with path.open("rb") as file:
            head = file.read(4)
        for mark, packing in PACKED.items():
            if head.startswith(mark):
                raise FileError(f"{path} is packed with {packing}: unpack it first.")
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FileError(f"{path} must be text in UTF-8; it is in UTF-16. Save it as UTF-8.")
        with path.open(encoding="utf-8-sig") as file:
            yield file
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} must be text in UTF-8; it is not: {error.reason}.") from error
    except RecursionError as error:
        raise FileError(f"{path} is nested too deeply.") from error
    except Broken as error:
        raise FileError(
            f"{path} must be JSON, or JSON objects a line each; it is not at line {error.line}, "
            f"column {error.column} ({error.place}). It may have been cut off there."
        ) from error
    except ValueError as error:
        # A whole number of thousands of digits.
        raise error if isinstance(error, FileError) else FileError(f"{path}: {error}.") from error


def _first_character(path: Path, file: TextIOBase) -> str:
    """The first character that is no space; the file is where it was."""
    while text := file.read(4096):
        if text := text.lstrip():
            file.seek(0)
            return text[0]
    raise FileError(f"{path} is empty.")


def _objects(path: Path, file: TextIOBase) -> Iterator[Row]:
    lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    number, line = next(lines)
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        # One object that goes over several lines.
        yield _whole(path, line + file.read(), number)
        return
    yield Row(f"line {number}", _as_object(path, f"line {number}", value))
    for number, line in lines:
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            cut = " The file may have been cut off there." if not line.endswith("\n") else ""
            raise FileError(
                f"{path}: line {number} must be a JSON object; it is not at column {error.colno}."
                f"{cut}"
            ) from error
        yield Row(f"line {number}", _as_object(path, f"line {number}", value))


def _elements(path: Path, file: TextIOBase) -> Iterator[Row]:
    number = -1
    for number, value in enumerate(elements(file)):
        yield Row(f"element {number}", _as_object(path, f"element {number}", value))
    if number < 0:
        raise FileError(f"{path} is an empty list.")


def _whole(path: Path, text: str, line: int) -> Row:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise Broken(error.lineno + line - 1, error.colno, "the file") from error
    return Row("the file", _as_object(path, "the file", value))


def _as_object(path: Path, place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        found = KINDS.get(type(value), "null")
        raise FileError(f"{path}: {place} must be a JSON object; found {found}.")
    return value

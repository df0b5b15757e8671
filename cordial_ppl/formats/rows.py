"""The objects of a JSON file, one by one, each with the place where it stands."""

import codecs
import json
import mmap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from cordial_ppl.errors import FileError

KINDS = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}
"""What JSON values are called."""

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard", b"BZh": "bzip2"}
"""First bytes of files that have to be unpacked."""

LONGEST, SHOWN = 40, 8
"""Characters of a field's name, and number of fields, that a message shows."""


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
        path: The file; a list may be larger than memory.

    Yields:
        Its objects.

    Raises:
        FileError: The file cannot be read, is not JSON, ends in the middle of an object, or holds
            something that is no object.
    """
    with _opened(path) as file:
        found = _elements if _first_character(path, file) == b"[" else _lines
        for place, value in found(path, file):
            if not isinstance(value, dict):
                kind = KINDS.get(type(value), "null")
                raise FileError(f"{path}: {place} must be a JSON object; found {kind}.")
            yield Row(place, value)


def name_fields(value: Iterable[str]) -> str:
    """Name the first fields of an object for a message: "doc, target"; "nothing" if none."""
    names = (f"{name[:LONGEST]}..." if len(name) > LONGEST else name for name in value)
    return ", ".join(islice(names, SHOWN)) or "nothing"


def looks_like_json(path: Path) -> bool:
    """Say whether a file begins as a JSON object or list; a `FileError` if it cannot be read."""
    with _opened(path) as file:
        return _first_character(path, file) in (b"{", b"[")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file after its byte order mark, and say what is wrong with it."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
            for mark, packing in PACKED.items():
                if head.startswith(mark):
                    raise FileError(f"{path} is packed with {packing}: unpack it first.")
            if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise FileError(f"{path} must be text in UTF-8; it is in UTF-16. Save it as UTF-8.")
            file.seek(3 if head.startswith(codecs.BOM_UTF8) else 0)
            yield file
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} must be text in UTF-8; it is not: {error.reason}.") from error
    except RecursionError as error:
        raise FileError(f"{path} is nested too deeply.") from error
    except json.JSONDecodeError as error:
        raise FileError(
            f"{path} must be JSON, or JSON objects a line each; it is not at line {error.lineno}, "
            f"column {error.colno}. It may have been cut off there."
        ) from error
    except ValueError as error:
        # A whole number of thousands of digits.
        raise error if isinstance(error, FileError) else FileError(f"{path}: {error}.") from error


def _first_character(path: Path, file: BinaryIO) -> bytes:
    """The first character that is no space; the file is where it was."""
    start = file.tell()
    while text := file.read(4096):
        if text := text.lstrip():
            file.seek(start)
            return text[:1]
    raise FileError(f"{path} is empty.")


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """The values of a file that has one on each line, or one in all."""
    del path
    lines = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    first, line = next(lines)
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        # One object that goes over several lines; blank lines before it count.
        yield "the file", json.loads("\n" * (first - 1) + (line + file.read()).decode())
        return
    yield f"line {first}", value
    for number, line in lines:
        try:
            yield f"line {number}", json.loads(line)
        except json.JSONDecodeError as error:
            above = "\n" * (number - 1)
            raise json.JSONDecodeError(
                error.msg, above + error.doc, error.pos + len(above)
            ) from None


def _elements(path: Path, file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """The elements of a list: the file is mapped, and one element at a time becomes objects."""
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

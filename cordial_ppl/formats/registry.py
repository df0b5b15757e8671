"""The formats by name, and which one a file has."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.formats import openai
from cordial_ppl.formats.evidence import Record
from cordial_ppl.formats.rows import json_rows


class Format(NamedTuple):
    """A format of logs.

    Attributes:
        name: Its name, as `--from` takes it.
        words: Which tool writes it.
        recognises: Whether a file has it, told by its path and first JSON object, if it has one.
        read: The records of a file.
    """

    name: str
    words: str
    recognises: Callable[[Path, Mapping[str, Any] | None], bool]
    read: Callable[[Path], Iterator[Record]]


FORMATS: dict[str, Format] = {
    name: Format(name, words, module.recognises, module.read)
    for name, words, module in (
        ("openai", "responses of servers that speak OpenAI's protocols, batch results", openai),
    )
}


def find_format(path: Path, name: str = "auto") -> Format:
    """Find out what format a file has.

    Args:
        path: The file.
        name: The format's name; "auto" to tell by the file.

    Returns:
        The format.

    Raises:
        FileError: The file cannot be read, or no format knows it.
        InputError: There is no such format.
    """
    if name != "auto":
        if name not in FORMATS:
            raise InputError(f"a format must be auto or {', '.join(FORMATS)}; found {name!r}.")
        return FORMATS[name]
    first = _first_object(path)
    for found in FORMATS.values():
        if found.recognises(path, first):
            return found
    shown = f"its first object has {', '.join(list(first)[:8])}" if first else "it is not JSON"
    raise FileError(
        f"{path} is no log that is known by its contents: {shown}. "
        f"Say what it is: --from {', '.join(FORMATS)}."
    )


def _first_object(path: Path) -> Mapping[str, Any] | None:
    try:
        with path.open("rb") as file:
            if file.read(1) == b"":
                raise FileError(f"{path} is empty.")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    try:
        return next((row.value for row in json_rows(path)), None)
    except FileError:
        return None

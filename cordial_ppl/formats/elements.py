"""The elements of a JSON list one by one, of which a file may hold more than memory does."""

import json
from collections.abc import Iterator
from io import TextIOBase
from typing import Any

CHUNK = 1 << 20
"""Characters that are read at once, more where an element has more."""

LONGEST = 1 << 26
"""Characters of the longest element that is waited for before it counts as broken."""

NUMERIC = "+-.0123456789Ee"

SPACES = " \t\n\r"


class Broken(Exception):
    """Text is no JSON.

    Attributes:
        line: The line, from 1.
        column: The column, from 1.
        place: What is there: "element 3".
    """

    def __init__(self, line: int, column: int, place: str):
        super().__init__(line, column, place)
        self.line, self.column, self.place = line, column, place


def elements(file: TextIOBase) -> Iterator[Any]:
    """Read the elements of a list.

    Args:
        file: A text that begins with the list.

    Yields:
        Its elements.

    Raises:
        Broken: It is no list, or something follows it.
    """
    text, number = _Text(file), 0
    text.take("[", "the list")
    if text.peek() != "]":
        yield text.value("element 0")
        while text.peek() == ",":
            number += 1
            text.take(",", "")
            yield text.value(f"element {number}")
    text.take("]", f"after element {number}")
    if text.peek():
        raise text.broken("after the list")


class _Text:
    """A text of which a piece is in memory."""

    def __init__(self, file: TextIOBase):
        self.file = file
        self.piece, self.start, self.ended = "", 0, False
        # Lines, and characters of the last one, before the piece.
        self.lines, self.columns = 0, 0
        self.decode = json.JSONDecoder().raw_decode

    def peek(self) -> str:
        """The next character that is no space; none at the end."""
        while True:
            while self.start < len(self.piece):
                if self.piece[self.start] not in SPACES:
                    return self.piece[self.start]
                self.start += 1
            if self.ended:
                return ""
            self._read()

    def take(self, character: str, place: str) -> None:
        """Go past a character, which has to be there."""
        if self.peek() != character:
            raise self.broken(place)
        self.start += 1

    def value(self, place: str) -> Any:
        """Go past a value."""
        self.peek()
        while True:
            try:
                value, end = self.decode(self.piece, self.start)
            except json.JSONDecodeError as error:
                if self.ended or len(self.piece) - self.start > LONGEST:
                    raise self.broken(place, error.pos) from error
            else:
                # A number at the end of the piece may go on: 1, 1.5, 1.5e9.
                if self.ended or self.piece[end : end + 1] not in NUMERIC:
                    self.start = end
                    return value
            self._read()

    def broken(self, place: str, at: int | None = None) -> Broken:
        """Say where the text is no JSON."""
        at = self.start if at is None else at
        newline = self.piece.rfind("\n", 0, at)
        column = at - newline if newline >= 0 else self.columns + at + 1
        return Broken(self.lines + self.piece.count("\n", 0, at) + 1, column, place)

    def _read(self) -> None:
        """Forget what was gone past, and read on: as much again as is kept, which is tried anew."""
        newline = self.piece.rfind("\n", 0, self.start)
        self.lines += self.piece.count("\n", 0, self.start)
        self.columns = self.start - newline - 1 if newline >= 0 else self.columns + self.start
        kept = self.piece[self.start :]
        more = self.file.read(max(CHUNK, len(kept)))
        self.piece, self.start, self.ended = kept + more, 0, not more

"""The answers of one person, in a file of JSON Lines that only grows.

A row is an answer about a text: a label, that it cannot be rated, that it is left for later, or
that the answer before is undone. It is on disk when `append` returns. As a table of labels, the
last row of each text counts (`tables.label_table`).
"""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from cordial_ppl.errors import FileError, quote

LABEL, SKIP, UNDO = "label", "skip", "undo"
"""What a row may say of its text, in column `label_event`, besides that it is "unratable"."""

BEGINNING, ANOTHER = b'{"item_id"', "Name a different file with -o."
"""How a row begins, and what to do where a file has none."""

UNREADABLE = msgspec.MsgspecError, UnicodeDecodeError
"""What a line that is no row, or is not in UTF-8, raises."""


class Row(TypedDict):
    """An answer, and how its text was chosen, as in a plan."""

    item_id: str
    label: str | None
    annotator: str
    label_event: Literal["label", "unratable", "skip", "undo"]
    label_row: int
    label_note: NotRequired[str]
    label_time: NotRequired[str]
    stratum: NotRequired[int]
    probability_by: NotRequired[str]


class AnswerLog:
    """The answers in a file, which is made if it is not there and continued if it is.

    What a process that was killed has left of a last row is removed.

    Args:
        path: The file.
        annotator: Who answers.
        options: The options that a label may be.

    Raises:
        FileError: The file cannot be written, is open in another process, or holds something else
            or answers of somebody else.
    """

    def __init__(self, path: Path, annotator: str, options: Sequence[str]):
        self.path, self.annotator = path, annotator
        self.standing: list[Row] = []
        self.count = 0
        try:
            path.touch()
            self._file = path.open("r+b", buffering=0)
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror}.") from error
        try:
            self._lock()
            self._read(options)
        except BaseException:
            self._file.close()
            raise

    def _read(self, options: Sequence[str]) -> None:
        """Read the answers that there are."""
        content = self._file.read()
        *lines, rest = content.split(b"\n")
        self._size, whole = len(content) - len(rest), False
        with suppress(*UNREADABLE):
            msgspec.json.decode(rest)
            lines, whole = [*lines, rest], True  # An editor has left out the last line's end.
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._replay(self._check(line, number, options))
        if whole:
            self._size = len(content)
            self._write(b"\n")
        elif rest and not self.count and not rest.startswith(BEGINNING):
            raise FileError(f"{self.path} was not written by `cordial label`. {ANOTHER}")
        elif rest:
            self._file.truncate(self._size)

    def _lock(self) -> None:
        """Keep other processes from writing to the file while this one does."""
        with suppress(ImportError):  # On Windows nothing is locked.
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = f"{self.path} is already open in `cordial label`. Stop that run first."
                raise FileError(problem) from error

    def _check(self, line: bytes, number: int, options: Sequence[str]) -> Row:
        """Read a row, and check that it is one of this person's."""
        where = f"line {number} of {self.path}"
        try:
            row = msgspec.json.decode(line, type=Row)
        except UNREADABLE as error:
            raise FileError(f"{where} was not written by `cordial label`. {ANOTHER}") from error
        who, label = row["annotator"], row["label"]
        if who != self.annotator:
            people = f"{quote(who)}, not {quote(self.annotator)}"
            raise FileError(f"{where} was written by {people}. Use one file per person. {ANOTHER}")
        if (row["label_event"] == LABEL) != (label in options):
            problem = f"{quote(label)}, but the options are {', '.join(options)}"
            raise FileError(f"{where} has the label {problem}. {ANOTHER}")
        return row

    def _replay(self, row: Row) -> None:
        """Add a row to the answers that stand; undoing takes the last of them away."""
        self.count += 1
        if row["label_event"] != UNDO:
            self.standing.append(row)
        elif self.standing:
            self.standing.pop()

    @property
    def by_item(self) -> dict[str, Row]:
        """The answer about each text that stands; of several, such as after a skip, the last."""
        return {row["item_id"]: row for row in self.standing}

    def append(self, item: str, event: str, label: str | None = None, **more: Any) -> None:
        """Write an answer to disk.

        Args:
            item: The text.
            event: As in column `label_event`.
            label: The option, of a label.
            more: Further cells.

        Raises:
            FileError: It could not be written, and is not among the answers.
        """
        row: Any = {"item_id": item, "label": label, "annotator": self.annotator}
        time = datetime.now(UTC).isoformat(timespec="seconds")
        row |= {"label_event": event, **more, "label_time": time, "label_row": self.count + 1}
        self._write(msgspec.json.encode(row) + b"\n")
        self._replay(row)

    def _write(self, line: bytes) -> None:
        """Write behind what is known to be whole, and wait for the disk; all of it or nothing."""
        if not self._is_unchanged():
            problem = f"{self.path} was changed by another program. Run the same command again."
            raise FileError(problem)
        try:
            self._file.seek(self._size)
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._size)
            raise FileError(f"cannot write {self.path}: {error.strerror}.") from error
        self._size += len(line)

    def _is_unchanged(self) -> bool:
        """Whether the path still leads to what was written, all of it and nothing else."""
        held, size = os.fstat(self._file.fileno()), self._size
        with suppress(OSError):
            return held.st_size == size and os.path.samestat(held, self.path.stat())
        return False

    def close(self) -> None:
        """Close the file; without an answer there is none."""
        if not self._size and self._is_unchanged():
            self.path.unlink()
        self._file.close()

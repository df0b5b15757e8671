"""The exceptions and the warning category of the package, and the parts of their messages.

Every exception derives from `CordialError`; if the input is at fault it is a `ValueError` too. A
message says what was expected, what came (with its row and column), and what to do.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import batched, starmap
from pathlib import Path
from traceback import extract_tb
from typing import Any, SupportsInt

LONGEST = 60
"""Characters of a value that a message quotes."""

Where = Callable[[int], str]
"""Turns a position into the place that a message names: "row 7" of an array, "line 9" of a file."""

PACKAGE = str(Path(__file__).parent)

FULL = 2000
"""Characters of a message that are shown; a longer one loses its middle."""

HARMLESS = "\n\t\xa0\u202f\u200c\u200d"
"""Unseen characters of lines, numbers and scripts; others may move, hide or reorder text."""


class CordialError(Exception):
    """Any error that the package raises on purpose."""

    def __str__(self) -> str:
        """Return the message, at a readable length."""
        return shorten(super().__str__())


class InputError(CordialError, ValueError):
    """The data or an argument is invalid: a label, a reading, an option, a table."""


Value = str | float | tuple[str, ...] | Mapping[str, int]


class SettingNeeded(InputError):
    """Input that another setting would make valid, such as other options or the choice of a reader.

    The message names the setting as an argument of a function; the command line, as an option.

    Args:
        problem: what is wrong, in whole sentences.
        advice: what to do, up to the setting: "Name the options".
        setting: the setting: "options", "reader", "id", "round" ....
        value: what it may be: one text or number, several, or numbers by name.
        more: another setting that would do as well, and its value.
    """

    def __init__(self, problem: str, advice: str, setting: str, value: Value, *more: Any):
        """Keep the parts."""
        super().__init__(problem, advice, setting, value, *more)
        self.problem, self.advice, self.setting, self.value = problem, advice, setting, value

    def __str__(self) -> str:
        """Return the message for the caller of a function."""
        return self.written(_as_argument)

    def written(self, write: Callable[[str, Any], str]) -> str:
        """Return the message, with settings as a function writes them."""
        needed = " or ".join(starmap(write, batched(self.args[2:], 2)))
        return shorten(f"{self.problem} {self.advice}: {needed}.")


def _as_argument(setting: str, value: Any) -> str:
    """Write a setting as an argument of a function."""
    several = isinstance(value, tuple) and len(value) > 1
    return f"{setting}=({','.join(map(repr, value))})" if several else f"{setting}={value!r}"


class SettingsClash(InputError):
    """Two settings that exclude each other, whose names the command line writes as options."""

    def __str__(self) -> str:
        """Return the message for the caller of a function."""
        return f"{' and '.join(self.args)} cannot be used together. Remove one of them."


class FileError(InputError):
    """A file cannot be read or written, has the wrong format, or was changed."""


class ChannelError(CordialError, ValueError):
    """A channel model breaks the contract of a channel."""


class ServerError(CordialError):
    """A server does not answer, or answers in an unexpected way."""


class Refused(ServerError):
    """A model does not answer a question, and would not if it were repeated."""


class NotFittedError(CordialError, ValueError, AttributeError):
    """An estimator was asked to predict before it was fitted.

    The bases are those of scikit-learn's error of that name.
    """


class CordialWarning(UserWarning):
    """The input was repaired or looks suspicious."""


def as_path(path: Any, verb: str = "read") -> Path:
    """Make a path of text, or of what stands for a path; raise a `FileError` for anything else."""
    try:
        if "\0" not in os.fspath(path):
            return Path(path)
    except TypeError:  # Bytes are no text.
        pass
    raise FileError(f"cannot {verb} {quote(path)}: a path must be text without null characters.")


def warn(message: str) -> None:
    """Warn, at the line of the user's that called the package."""
    warnings.warn(message, CordialWarning, skip_file_prefixes=(PACKAGE,))


def shorten(message: str) -> str:
    """Leave out the middle of a long message."""
    half = FULL // 2
    return message if len(message) <= FULL else f"{message[:half]} ... {message[-half:]}"


def escape(text: str) -> str:
    """Write characters that nobody sees as JSON does; a terminal obeys some of them."""
    unseen = [char for char in {*text} - {*HARMLESS} if not char.isprintable()]
    units = {char: char.encode("utf-16-be", "surrogatepass").hex("|", 2) for char in unseen}
    written = {char: r"\u" + unit.replace("|", r"\u") for char, unit in units.items()}
    return text.translate(str.maketrans(written))


@contextmanager
def naming(source: str | Path) -> Iterator[None]:
    """Put a source before the message of an error, unless it is of a file and names it already."""
    try:
        yield
    except CordialError as error:
        # A task may be called "labels", a word of any message.
        if isinstance(error, FileError) and str(source) in str(error).replace(":", " ").split():
            raise
        problem, *rest = error.args
        raise type(error)(f"{source}: {problem}", *rest) from error


def say_error(error: BaseException, source: str | Path) -> str:
    """Describe an error in a file, with its line: "ValueError: ... (line 7)"."""
    frames = extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(source)]
    text = getattr(error, "msg", None) or str(error)
    line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return words + (f" (line {line})" if line else "")


def quote(value: object) -> str:
    """Quote a value for a message: "'good'", "2.5", "'aaaaa..."."""
    try:
        text = f"{value:g}" if isinstance(value, float) else repr(value)
    except Exception:  # A number of thousands of digits, or a broken object.
        return f"a value of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def list_names(names: Iterable[str], shown: int = 10) -> str:
    """Quote names for a message, at most ten: "'a', 'b' and 3 more"; "nothing" if none."""
    return abridge(list(names), shown, quote) or "nothing"


def abridge(items: Sequence[Any], shown: int, write: Callable[[Any], str] = str) -> str:
    """List things for a message, at most so many: "a, b and 3 more"."""
    hidden = len(items) - shown
    return ", ".join(map(write, items[:shown])) + (f" and {hidden} more" if hidden > 0 else "")


def count(number: int, noun: str) -> str:
    """Count things: "1 text", "20 texts"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def name_row(position: int) -> str:
    """Name a row of an array, counted from 0: "row 7"."""
    return f"row {position}"


def name_rows(positions: Iterable[SupportsInt], where: Where | None = None) -> str:
    """Name rows for a message: "row 3", "rows 3 and 17", "rows 3, 17, 20 and 12 more".

    Args:
        positions: at least one, counted from 0.
        where: names a position, a noun before a number; by default "row 7".
    """
    rows = list(map(int, positions))
    names = list(map(where or name_row, rows[:3]))
    if len(rows) == 1 or "," in names[0]:
        return names[0] + f" and {len(rows) - 1} more" * (len(rows) > 1)
    noun = names[0].partition(" ")[0]
    numbers = [name.partition(" ")[2] for name in names]
    hidden = len(rows) - len(names)
    last = f"{hidden} more" if hidden else numbers.pop()
    return f"{noun}s {', '.join(numbers)} and {last}"

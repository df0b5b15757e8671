"""What can go wrong, by whose fault: the exceptions and the warning category of the package.

Every exception derives from `CordialError`; where the input is at fault it is a `ValueError` too.
A message says what was expected, what came (with its row and column), and what to do.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

import numpy as np

LONGEST = 60
"""Characters of what came that a message quotes."""

Where = Callable[[int], str]
"""Turns a position into the place that a message names: "row 7" of an array, "line 9" of a file."""


FULL = 2000
"""Characters of a message that are shown; what is left out of a longer one is in its middle."""


class CordialError(Exception):
    """Any error that the package raises on purpose."""

    def __str__(self) -> str:
        """Say it, at a length that can be read."""
        return shorten(super().__str__())


class InputError(CordialError, ValueError):
    """The data or an argument is at fault: a label, a reading, an option, a table."""


class FileError(InputError):
    """A file cannot be read or written, is not what its ending says, or was tampered with."""


class ChannelError(CordialError, ValueError):
    """A channel model breaks the contract of a channel."""


class ServerError(CordialError):
    """A server that was asked does not answer, or not as it should."""


class NotFittedError(CordialError, ValueError, AttributeError):
    """An estimator was asked to predict before it was fitted.

    The bases are those of scikit-learn's error of that name.
    """


class CordialWarning(UserWarning):
    """Something was repaired or looks doubtful, and the user should know of it."""


def shorten(message: str) -> str:
    """Leave out the middle of a message that quotes a whole file."""
    half = FULL // 2
    return message if len(message) <= FULL else f"{message[:half]} ... {message[-half:]}"


@contextmanager
def naming(place: str | Path) -> Iterator[None]:
    """Put a place before what is wrong there: the name of a file, or a key in it."""
    try:
        yield
    except CordialError as error:
        problem, *rest = error.args
        raise type(error)(f"{place}: {problem}", *rest) from error


def say_error(error: BaseException, source: str | Path) -> str:
    """Say what went wrong in a file, and in which line of it: "ValueError: ... (line 7)"."""
    lines = [
        frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(source)
    ]
    text = getattr(error, "msg", None) or str(error)
    line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return words + (f" (line {line})" if line else "")


def quote(value: object) -> str:
    """Quote what came for a message, in a few words: "'good'", "2.5", "'aaaaa..."."""
    try:
        text = f"{value:g}" if isinstance(value, float) else repr(value)
    except Exception:  # A number of thousands of digits, or an object that is broken.
        return f"a value of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def name_row(position: int) -> str:
    """Name a row of an array, counted from 0: "row 7"."""
    return f"row {position}"


def name_rows(
    positions: Sequence[int] | np.ndarray, where: Where | None = None, shown: int = 3
) -> str:
    """Name rows for a message: "row 3", "rows 3 and 17", "rows 3, 17, 20 and 12 more".

    Args:
        positions: Positions of the rows, at least one, counted from 0.
        where: Names one of them, a noun before a number; by default "row 7".
        shown: How many are named before the rest are counted.

    Returns:
        The rows in words.
    """
    places = [(where or name_row)(int(i)) for i in positions[:shown]]
    if len(positions) == 1:
        return places[0]
    noun = places[0].partition(" ")[0]
    numbers = [place.partition(" ")[2] for place in places]
    hidden = len(positions) - len(places)
    last = f"{hidden} more" if hidden else numbers.pop()
    return f"{noun}s {', '.join(numbers)} and {last}"

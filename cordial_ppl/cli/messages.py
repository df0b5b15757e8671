"""Messages on stderr: errors and warnings, one line each."""

import csv
import io
import os
import shlex
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from cordial_ppl import progress
from cordial_ppl.errors import (
    ChannelError,
    CordialError,
    CordialWarning,
    InputError,
    SettingNeeded,
    shorten,
)

STDERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def count(number: int, noun: str) -> str:
    """Count things: "1 text", "20 texts"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def say(message: str) -> None:
    """Print one line on stderr."""
    progress.clear()
    STDERR.print(" ".join(message.split("\n")))


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let Ctrl-C end the program at once, with status 130.

    Python would otherwise wait for threads that compile. Unfinished files are removed.
    """
    from cordial_ppl.tables import discard_unfinished

    def leave(*_: object) -> None:
        progress.clear(for_good=True)
        discard_unfinished()
        os._exit(130)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors and warnings of the package into lines on stderr, and errors into a status.

    Raises:
        typer.Exit: 2 where the input is at fault, 130 after Ctrl-C, 1 for another error of the
            package; any other exception passes through.
    """
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            say(f"warning: {message}")

    with warnings.catch_warnings():
        # A user of the program can do nothing about other libraries' warnings.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CordialWarning)
        warnings.showwarning = show
        try:
            yield
        except CordialError as error:
            say(f"error: {_in_options(error)}")
            at_fault = isinstance(error, InputError | ChannelError)
            raise typer.Exit(2 if at_fault else 1) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error


def _in_options(error: CordialError) -> str:
    """The message, with the options of the program in place of arguments of functions."""
    if isinstance(error, SettingNeeded):
        settings = " ".join(as_option(*each) for each in error.needed)
        return shorten(f"{error.problem} {error.advice}: {settings}.")
    return str(error)


def as_option(setting: str, value: str | tuple[str, ...]) -> str:
    """Write a setting as it is typed in a shell: "--options 1,2,3"."""
    text = io.StringIO()
    if isinstance(value, str):
        text.write(value)
    else:
        csv.writer(text, lineterminator="").writerow(value)
    return f"--{setting} {shlex.quote(text.getvalue())}"

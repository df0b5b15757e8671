"""What the user is told on stderr: errors, warnings and progress, each in one line."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from cordial_ppl.cli.options import as_option
from cordial_ppl.errors import ChannelError, CordialError, CordialWarning, InputError, shorten
from cordial_ppl.scale import SettingNeeded

STDERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def count(number: int, noun: str) -> str:
    """Count things: "1 text", "20 texts"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def say(message: str) -> None:
    """Print one line on stderr."""
    STDERR.print(" ".join(message.split("\n")))


@contextmanager
def working(on: str, quiet: bool) -> Iterator[None]:
    """Show on a terminal that something takes a moment."""
    if quiet or not STDERR.is_terminal:
        yield
    else:
        with STDERR.status(f"{on} ..."):
            yield


@contextmanager
def progressing(quiet: bool) -> Iterator[Callable[[float, str], None]]:
    """Show on a terminal how far long work is, and how long it may still take."""
    if quiet or not STDERR.is_terminal:
        yield lambda share, label: None
        return
    from rich.progress import Progress, TimeElapsedColumn

    columns = *Progress.get_default_columns(), TimeElapsedColumn()
    with Progress(*columns, console=STDERR, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda share, label: bar.update(task, completed=share, description=label)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let Ctrl-C end the program there and then, with status 130.

    Threads that compile would otherwise be waited for.  What is only half written is removed.
    """
    from cordial_ppl.tables import discard_unfinished

    def leave(*_: object) -> None:
        STDERR.show_cursor()
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
            package; what nobody raised on purpose is let through.
    """
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            say(f"warning: {message}")

    with warnings.catch_warnings():
        # What libraries warn of each other is nothing that a user of the program can act on.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CordialWarning)
        warnings.showwarning = show
        try:
            yield
        except CordialError as error:
            say(f"error: {_to_typist(error)}")
            at_fault = isinstance(error, InputError | ChannelError)
            raise typer.Exit(2 if at_fault else 1) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error


def _to_typist(error: CordialError) -> str:
    """The message, with the options of the program in place of arguments of functions."""
    if isinstance(error, SettingNeeded):
        setting = as_option(error.setting, error.value)
        return shorten(f"{error.problem} {error.advice}: {setting}.")
    return str(error)

"""Errors and warnings of the package as lines on stderr and a status; Ctrl-C."""

import csv
import io
import shlex
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from cyclopts import CycloptsError

from cordial_ppl.cli import leave
from cordial_ppl.cli.output import say
from cordial_ppl.errors import (
    ChannelError,
    CordialError,
    CordialWarning,
    InputError,
    SettingNeeded,
    SettingsClash,
    Value,
    shorten,
)
from cordial_ppl.runtime.platform import counting_memory

REPEATED = {"channels": "channel", "leave_out": "leave-out", "units": "unit"}
"""Settings of several values whose option is given for each."""

RENAMED = {"passing": "pass"}
"""Settings whose option has another name."""


def leaving_at_once() -> AbstractContextManager[None]:
    """Let Ctrl-C end the program at once, with status 130.

    Python would otherwise wait for threads that compile. Unfinished files are removed.
    """
    inside = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return nullcontext() if inside else interrupting(lambda number, _: leave(128 + number))


@contextmanager
def interrupting(handler: Any = signal.default_int_handler) -> Iterator[None]:
    """Handle Ctrl-C meanwhile, by default as a `KeyboardInterrupt`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors and warnings of the package into lines on stderr, and errors into a status.

    Raises:
        SystemExit: 2 where the input or the command is at fault, 130 after Ctrl-C, 1 for another
            error of the package; any other exception passes through.
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
            with counting_memory():
                yield
        except CordialError as error:
            say(f"error: {_in_options(error)}")
            at_fault = isinstance(error, InputError | ChannelError)
            raise SystemExit(2 if at_fault else 1) from error
        except CycloptsError as error:
            say(f"error: {_on_one_line(error)}")
            raise SystemExit(2) from error
        except KeyboardInterrupt as error:
            raise SystemExit(130) from error


def _on_one_line(error: CycloptsError) -> str:
    """Say what is wrong with what was typed, and where to look."""
    # A converter's own error is behind the one that is raised.
    if isinstance(error.__cause__, CordialError):
        return _in_options(error.__cause__)
    words = " ".join(str(error).split())
    words = words if words.endswith((".", "?")) else f"{words}."
    command = " ".join(["cordial", *(error.command_chain or ())])
    return f"{words[:1].lower()}{words[1:]} Try '{command} -h' for help."


def _in_options(error: CordialError) -> str:
    """Return the message, with the options of the program in place of arguments of functions."""
    if isinstance(error, SettingNeeded):
        settings = " ".join(as_option(*each) for each in error.needed)
        return shorten(f"{error.problem} {error.advice}: {settings}.")
    if isinstance(error, SettingsClash):
        return str(SettingsClash(*map(_as_flag, error.args)))
    return str(error)


def _as_flag(setting: str) -> str:
    """Write the name of a setting as it is typed."""
    return f"--{RENAMED.get(setting, setting).replace('_', '-')}"


def as_option(setting: str, value: Value) -> str:
    """Write a setting as it is typed in a shell: "--options 1,2,3"."""
    if isinstance(value, str | int | float):
        return f"{_as_flag(setting)} {shlex.quote(str(value))}"
    parts = value if isinstance(value, tuple) else [f"{k}={v}" for k, v in value.items()]
    if setting in REPEATED:
        return " ".join(as_option(REPEATED[setting], part) for part in parts)
    return f"{_as_flag(setting)} {shlex.quote(join_names(parts))}"


def join_names(names: Iterable[str]) -> str:
    """Write names with commas between, as they are typed; one with a comma stands in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()

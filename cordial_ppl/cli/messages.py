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

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from cordial_ppl.cli.config_file import hint
from cordial_ppl.cli.leaving import leave
from cordial_ppl.cli.output import say
from cordial_ppl.errors import (
    ChannelError,
    CordialError,
    CordialWarning,
    InputError,
    SettingNeeded,
    SettingsClash,
    Value,
    quote,
    shorten,
)

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
def warning_in_lines() -> Iterator[None]:
    """Show warnings of the package as lines, each once, and no others."""
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
        yield


def complain(program: str, error: CordialError | CycloptsError) -> int:
    """Print an error in a line; return the exit status.

    Args:
        program: What was called, such as "cordial fit".
        error: An error of the package, or of what was typed.
    """
    if isinstance(error, CycloptsError):
        say(f"{program}: {describe_usage(error)}")
        return 2
    say(f"{program}: {_in_options(error)}")
    return 2 if isinstance(error, InputError | ChannelError) else 1


def describe_usage(error: CycloptsError) -> str:
    """Describe what is wrong with what was typed, and what to do."""
    name = error.argument.name if error.argument else ""
    name = name if error.argument is None or error.argument.index is None else name[2:].upper()
    advice = f"See '{' '.join(['cordial', *(error.command_chain or ())])} --help'."
    match error:
        case UnknownOptionError():
            option = error.token.keyword or error.token.value
            near = hint(option, (name for each in error.argument_collection for name in each.names))
            return f"there is no option {option}.{near} {advice}"
        case UnknownCommandError() if error.unused_tokens and error.app:
            word = error.unused_tokens[0]
            near = hint(word, (name for name in error.app if name[0] != "-"))
            kind = "option" if word.startswith("-") else "command"
            return f"there is no {kind} {word}.{near} {advice}"
        case UnusedCliTokensError() if error.unused_tokens:
            return f"nothing is expected at {quote(error.unused_tokens[0])}. {advice}"
        case MissingArgumentError() if error.keyword or error.argument and error.argument.tokens:
            return f"{error.keyword or name} needs a value. {advice}"
        case MissingArgumentError():
            return f"{name} is missing. {advice}"
    token, words = getattr(error, "token", None), " ".join(str(error).split())
    source = f"{token.source}: " if token and token.source != "cli" else ""
    return f"{source}{words[:1].lower()}{words[1:]} {advice}"


def _in_options(error: CordialError) -> str:
    """Return the message, with the options of the program in place of arguments of functions."""
    if isinstance(error, SettingNeeded):
        option = as_option(error.setting, error.value)
        return shorten(f"{error.problem} {error.advice}: {option}.")
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

"""Errors and warnings of the package as lines on stderr and a status; Ctrl-C."""

import csv
import io
import shlex
import signal
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cyclopts import CycloptsError, MissingArgumentError, UnusedCliTokensError

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


@contextmanager
def interrupting() -> Iterator[None]:
    """Handle Ctrl-C meanwhile as a `KeyboardInterrupt`."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
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
        say(f"{program}: {_describe_usage(error)} See '{program} --help'.")
        return 2
    say(f"{program}: {_in_options(error)}")
    return 2 if isinstance(error, InputError | ChannelError) else 1


def _describe_usage(error: CycloptsError) -> str:
    """Describe what is wrong with what was typed."""
    argument = error.argument
    if isinstance(error, MissingArgumentError) and argument:
        name = argument.name if argument.index is None else argument.name[2:].upper()
        return f"{name} {'needs a value' if error.keyword or argument.tokens else 'is missing'}."
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"nothing is expected at {quote(error.unused_tokens[0])}."
    words, token = " ".join(str(error).split()), getattr(error, "token", None)
    source = f"{token.source}: " if token and token.source != "cli" else ""
    return f"{source}{words[:1].lower()}{words[1:]}"


def _in_options(error: CordialError) -> str:
    """Return the message, with the options of the program in place of arguments of functions."""
    if isinstance(error, SettingNeeded):
        option = _as_option(error.setting, error.value)
        return shorten(f"{error.problem} {error.advice}: {option}.")
    if isinstance(error, SettingsClash):
        return str(SettingsClash(*map(_as_flag, error.args)))
    return str(error)


def _as_flag(setting: str) -> str:
    """Write the name of a setting as it is typed."""
    return f"--{RENAMED.get(setting, setting).replace('_', '-')}"


def _as_option(setting: str, value: Value) -> str:
    """Write a setting as it is typed in a shell: "--options 1,2,3"."""
    if isinstance(value, str | int | float):
        return f"{_as_flag(setting)} {shlex.quote(str(value))}"
    parts = value if isinstance(value, tuple) else [f"{k}={v}" for k, v in value.items()]
    if setting in REPEATED:
        return " ".join(_as_option(REPEATED[setting], part) for part in parts)
    return f"{_as_flag(setting)} {shlex.quote(_join_names(parts))}"


def _join_names(names: Iterable[str]) -> str:
    """Write names with commas between, as they are typed; one with a comma stands in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()

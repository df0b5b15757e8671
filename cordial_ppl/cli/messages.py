"""Errors and warnings of the package as lines on stderr and a status; Ctrl-C."""

import csv
import io
import shlex
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cyclopts import CycloptsError, MissingArgumentError, UnusedCliTokensError

from cordial_ppl import errors
from cordial_ppl.cli.output import say

SPELLED = {"channels": "channel", "units": "unit", "passing": "pass"}
"""Settings whose option has another name."""

REPEATED = ("channels", "leave_out", "units")
"""Settings of several values whose option is typed for each."""


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
        warnings.simplefilter("always", errors.CordialWarning)
        warnings.showwarning = show
        yield


def complain(program: str, error: errors.CordialError | CycloptsError) -> int:
    """Print an error in a line, with options in place of arguments; return the exit status.

    Args:
        program: What was called, such as "cordial fit".
        error: An error of the package, or of what was typed.
    """
    text, status = str(error), 2
    if isinstance(error, CycloptsError):
        text = f"{_describe_usage(error)} See '{program} --help'."
    elif isinstance(error, errors.SettingNeeded):
        needed = _as_typed(error.setting, error.value)
        text = errors.shorten(f"{error.problem} {error.advice}: {needed}.")
    elif isinstance(error, errors.SettingsClash):
        text = str(errors.SettingsClash(*map(_as_option, error.args)))
    elif not isinstance(error, errors.InputError | errors.ChannelError):
        status = 1
    say(f"{program}: {text}")
    return status


def _describe_usage(error: CycloptsError) -> str:
    """Describe what is wrong with what was typed."""
    argument = error.argument
    if isinstance(error, MissingArgumentError) and argument:
        name = argument.name
        if argument.index is not None:
            name = name.removeprefix("--").upper()
        return f"{name} {'needs a value' if error.keyword or argument.tokens else 'is missing'}."
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"nothing is expected at {errors.quote(error.unused_tokens[0])}."
    words, token = " ".join(str(error).split()), getattr(error, "token", None)
    source = f"{token.source}: " if token and token.source != "cli" else ""
    return f"{source}{words[:1].lower()}{words[1:]}"


def _as_option(setting: str) -> str:
    """Write the name of a setting as it is typed."""
    return f"--{SPELLED.get(setting, setting).replace('_', '-')}"


def _as_typed(setting: str, value: Any) -> str:
    """Write a setting as it is typed in a shell: "--options 1,2,3"."""
    values = [value] if isinstance(value, str | int | float) else value
    if isinstance(values, dict):
        values = [f"{name}={number}" for name, number in values.items()]
    if isinstance(value, tuple) and setting not in REPEATED:
        # A name with a comma stands in quotes.
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(values)
        values = [text.getvalue()]
    return " ".join(f"{_as_option(setting)} {shlex.quote(str(each))}" for each in values)

"""What the program prints: results on stdout; warnings and errors as lines on stderr; pictures."""

import csv
import io
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cyclopts import CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError

from cordial_ppl import errors
from cordial_ppl.runtime import progress
from cordial_ppl.runtime.outputs import replacing
from cordial_ppl.runtime.text_table import align

SPELLED = {"channels": "channel", "units": "unit", "passing": "pass"}
"""Settings whose option has another name."""

REPEATED = ("channels", "leave_out", "units")
"""Settings whose option is passed once per value."""


EXAMPLES = {"--by": "--by system", "NEW": "new.csv", "--output": "-o FILE"}
"""Example input for arguments that were not passed."""


def say(message: str) -> None:
    """Print one line on stderr."""
    progress.clear()
    print(errors.escape(" ".join(message.split("\n"))), file=sys.stderr)


class Result(NamedTuple):
    """What a command has to say.

    Attributes:
        content: All of it, for programs.
        result: What goes into no file; it is printed even if the user wants quiet.
        text: What people get, on stdout.
        warnings: What deserves a look, which is printed even if the user wants quiet.
        done: Lines on stderr, such as "wrote out.csv: 60 texts".
        status: The exit status.
    """

    content: Mapping[str, Any]
    result: str = ""
    text: str = ""
    warnings: Iterable[str] = ()
    done: Iterable[str] = ()
    status: int = 0


def as_markdown(command: str, result: Result, shown: Sequence[str] = ()) -> Result:
    """Set what a command says in Markdown; names inside, in a block of code, mean nothing there.

    Args:
        command: The command.
        result: What it says.
        shown: The warnings that were shown while it ran.
    """
    answer = {0: "", 3: ": no", 4: ": cannot say"}.get(result.status, "")
    warned = "\n".join(f"warning: {each}" for each in (*shown, *result.warnings))
    parts = result.result, result.text or "\n".join(result.done), warned
    text = "\n\n".join(errors.escape(part) for part in parts if part)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    block = f"\n\n{fence}text\n{text}\n{fence}" if text else ""
    return result._replace(result=f"### cordial {command}{answer}{block}", text="")


def show(result: Result, *, json: bool, quiet: bool) -> None:
    """Print what a command has to say; of numbers in JSON, NaN and infinity become null."""
    if json:
        import msgspec

        encoded = msgspec.json.encode(result.content, enc_hook=_encode)
        text = errors.escape(msgspec.json.format(encoded, indent=2).decode())
        # As bytes, for JSON is UTF-8 everywhere.
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
        return
    for text in filter(None, (result.result, "" if quiet else result.text)):
        print(errors.escape(text))
    # A summary has warnings of its own among its lines.
    warned = [line for line in result.text.splitlines() if line.startswith("warning: ")]
    for line in warned if quiet else result.done:
        say(line)
    for warning in result.warnings:
        say(f"warning: {warning}")


def _encode(value: Any) -> Any:
    """Encode the path of a file, or a number or array of NumPy's."""
    return str(value) if isinstance(value, Path) else value.tolist()


def draw(path: Path, drawing: Callable[[], Any]) -> str:
    """Save the picture of an axis that a function draws; return what was done."""
    from cordial_ppl.plots.figure import looking

    with looking(), replacing(path) as temporary:
        drawing().figure.savefig(temporary, format=path.suffix.removeprefix("."))
    return f"wrote {path}"


def as_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set out a small table, its first column to the left and numbers to the right."""
    return "\n".join([title, *align(header, *rows)])


@contextmanager
def interrupting() -> Iterator[None]:
    """Handle Ctrl-C meanwhile as a `KeyboardInterrupt`."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def warning() -> Iterator[list[str]]:
    """Show warnings of the package as lines, each once, and no others; list what was shown."""
    shown: list[str] = []

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in shown:
            shown.append(str(message))
            say(f"warning: {message}")

    with warnings.catch_warnings():
        # A user of the program can do nothing about other libraries' warnings.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", errors.CordialWarning)
        warnings.showwarning = show
        yield shown


def complain(program: str, error: errors.CordialError | CycloptsError) -> int:
    """Print an error in a line, with options in place of arguments; return the exit status.

    Args:
        program: What was called, such as "cordial fit".
        error: An error of the package, or of what was typed.
    """
    text = str(error)
    if isinstance(error, CycloptsError):
        text = f"{_describe_usage(error)} See '{program} --help'."
    elif isinstance(error, errors.SettingNeeded):
        text = error.written(_as_typed)
    elif isinstance(error, errors.SettingsClash):
        text = str(errors.SettingsClash(*map(_as_option, error.args)))
    say(f"{program}: {text}")
    return 2 if isinstance(error, CycloptsError | errors.InputError | errors.ChannelError) else 1


def _describe_usage(error: CycloptsError) -> str:
    """Describe what is wrong with what was typed."""
    if isinstance(error, MissingArgumentError) and (argument := error.argument):
        name = argument.name if argument.index is None else argument.name.removeprefix("--").upper()
        if error.keyword or argument.tokens:
            return f"{name} needs a value."
        example = f" (example: {EXAMPLES[name]})" if name in EXAMPLES else ""
        return f"{name} is missing{example}."
    words = [word.partition("=")[0] for word in error.root_input_tokens or ()]
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        twice = "LABELS was set by --labels; " * ("--labels" in words and "--readings" not in words)
        return f"{twice}unexpected argument {errors.quote(error.unused_tokens[0])}."
    if isinstance(error, UnknownOptionError) and "--readers" in words:
        several = "`cordial fuse --readers gpt,qwen` for several, or no option for a saved fusion"
        return f"use `--rating gpt` for one judge, {several}."
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

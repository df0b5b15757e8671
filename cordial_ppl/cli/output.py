"""Output of the commands: lines on stderr, results on stdout, pictures."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.runtime import progress


def say(message: str) -> None:
    """Print one line on stderr."""
    progress.clear()
    print(" ".join(message.split("\n")), file=sys.stderr)


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


def show(result: Result, *, json: bool, quiet: bool) -> None:
    """Print what a command has to say; of numbers in JSON, NaN and infinity become null."""
    if json:
        import msgspec

        encoded = msgspec.json.encode(result.content, enc_hook=_encode)
        # As bytes, for JSON is UTF-8 everywhere.
        sys.stdout.flush()
        sys.stdout.buffer.write(msgspec.json.format(encoded, indent=2) + b"\n")
        sys.stdout.buffer.flush()
        return
    for text in (result.result, "" if quiet else result.text):
        if text:
            print(text)
    for line in () if quiet else result.done:
        say(line)
    for warning in result.warnings:
        say(f"warning: {warning}")


def _encode(value: Any) -> Any:
    """Encode the path of a file, or a number or array of NumPy's."""
    return str(value) if isinstance(value, Path) else value.tolist()


def draw(path: Path, drawing: Callable[[], Any]) -> str:
    """Save the picture of an axis that a function draws; return what was done."""
    from cordial_ppl.plots.figure import looking
    from cordial_ppl.runtime.outputs import replacing

    with looking(), replacing(path) as temporary:
        drawing().figure.savefig(temporary, format=path.suffix.removeprefix("."))
    return f"wrote {path}"


def as_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set out a small table, its first column to the left and numbers to the right."""
    from cordial_ppl.runtime.text_table import align

    return "\n".join([title, *align(header, *rows)])

"""Output of the commands: lines on stderr, results on stdout, and checks of files to write."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from cordial_ppl.errors import InputError
from cordial_ppl.runtime import progress
from cordial_ppl.runtime.outputs import check_writable

if TYPE_CHECKING:
    from cordial_ppl.cli.options import Shown

STDERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
STDOUT = Console(highlight=False, markup=False, soft_wrap=True)


def count(number: int, noun: str) -> str:
    """Count things: "1 text", "20 texts"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def say(message: str) -> None:
    """Print one line on stderr."""
    progress.clear()
    STDERR.print(" ".join(message.split("\n")))


def finish(
    shown: "Shown",
    content: Mapping[str, Any],
    done: str = "",
    text: str = "",
    warnings: Iterable[str] = (),
) -> None:
    """Print what came out: all of it as JSON, or a text, warnings, and a line about the files.

    Args:
        shown: Choice of what is printed.
        content: What programs get.
        done: The line, for stderr: "wrote out.csv: 60 texts".
        text: What people get, on stdout.
        warnings: What deserves a look, which is printed even if `quiet`.
    """
    if shown.json:
        show_json(content)
        return
    if text and not shown.quiet:
        STDOUT.print(text)
    for warning in warnings:
        say(f"warning: {warning}")
    if done and not shown.quiet:
        say(done)


def check_outputs(
    outputs: Sequence[tuple[Path, Collection[str]]], inputs: Collection[Path]
) -> None:
    """Check before the work that outputs can be written and replace nothing that is needed.

    Args:
        outputs: The files to write, each with the endings that its name may have; none for those
            of a table.
        inputs: The files that are read.

    Raises:
        InputError: One cannot be written, is one of the inputs, or is written twice.
    """
    for path, endings in outputs:
        if not endings:
            from cordial_ppl.tables.writing import SINKS

            endings = SINKS
        check_writable(path, endings=endings)
        for source in inputs:
            if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
                raise InputError(
                    f"the output {path} would replace the input {source}: name another."
                )
    for path, _ in outputs[1:]:
        if path.absolute() == outputs[0][0].absolute():
            raise InputError(f"two outputs would both be {path}: name another for one.")


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table on stdout, its first column to the left and numbers to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k else "left")
    for row in rows:
        table.add_row(*row)
    STDOUT.print(table)


def show_json(content: Mapping[str, Any]) -> None:
    """Print JSON on stdout; NaN and infinity, which JSON lacks, become null."""
    encoded = msgspec.json.encode(content, enc_hook=np.generic.item)
    typer.echo(msgspec.json.format(encoded, indent=2).decode())

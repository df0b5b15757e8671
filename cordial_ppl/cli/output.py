"""Output of the commands: where it goes, small tables, and JSON for programs."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from cordial_ppl.errors import InputError
from cordial_ppl.runtime.outputs import check_writable
from cordial_ppl.tables.writing import SINKS

STDOUT = Console(highlight=False, markup=False, soft_wrap=True)


def check_output(
    path: Path, inputs: Collection[Path], endings: Collection[str] = tuple(SINKS)
) -> None:
    """Check before the work that the output can be written and replaces no input.

    Args:
        path: The file to write.
        inputs: The files that are read.
        endings: The endings that its name may have; by default a table's.

    Raises:
        InputError: It cannot be written, or is one of the inputs.
    """
    check_writable(path, endings=endings)
    for source in inputs:
        if os.path.exists(path) and os.path.exists(source) and path.samefile(source):
            raise InputError(f"the output {path} would replace the input {source}: name another.")


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table on stdout, its first column to the left and numbers to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k else "left")
    for row in rows:
        table.add_row(*row)
    STDOUT.print(table)


def show_json(content: dict[str, Any]) -> None:
    """Print JSON on stdout; NaN and infinity, which JSON lacks, become null."""
    typer.echo(
        msgspec.json.format(
            msgspec.json.encode(content, enc_hook=np.generic.item), indent=2
        ).decode()
    )

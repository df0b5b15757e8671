"""Output of the commands: the calibrated table, the summary, and JSON for programs."""

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from cordial_ppl.bulk.predictor import predict_texts, rename_extras
from cordial_ppl.cli.messages import say
from cordial_ppl.errors import InputError
from cordial_ppl.tables import ReaderTables, ReadingTable, check_writable
from cordial_ppl.tables.files import ENDINGS

if TYPE_CHECKING:
    from cordial_ppl.cordial.stack import Stack
    from cordial_ppl.fusion import Fusion
    from cordial_ppl.summary import Summary

STDOUT = Console(highlight=False, markup=False, soft_wrap=True)


def check_output(path: Path, inputs: Collection[Path], endings: Collection[str] = ENDINGS) -> None:
    """Check before the work that the output can be written and replaces no input.

    Args:
        path: The file to write.
        inputs: The files that are read.
        endings: The endings that its name may have; by default a table's.

    Raises:
        InputError: It cannot be written, or is one of the inputs.
    """
    check_writable(path, endings=endings)
    for given in inputs:
        if os.path.exists(path) and os.path.exists(given) and path.samefile(given):
            raise InputError(f"the output {path} would replace the input {given}: name another.")


def calibrated_columns(
    calibrator: "Stack | Fusion", table: ReadingTable | ReaderTables
) -> dict[str, Sequence | np.ndarray]:
    """Calibrate the readings of a table.

    Args:
        calibrator: A fitted calibrator.
        table: The readings.

    Returns:
        The columns `item_id`, `p_<option>`, `mean`, `low`, `high`, `label` and the extras.

    Raises:
        InputError: A covariate that the calibrator was fitted with is missing or no number.
    """
    extra = {name: table.covariate(name) for name in calibrator.covariates_}
    found = predict_texts(calibrator, table.logits, extra)
    columns: dict[str, Sequence | np.ndarray] = {"item_id": table.item_ids, **found}
    return columns | passed_on(table, columns)


def passed_on(table: ReadingTable | ReaderTables, columns: Collection[str]) -> dict[str, list]:
    """List the extra columns of the readings; one whose name is taken becomes `input_...`."""
    kind = table.kind if isinstance(table, ReadingTable) else None
    names = rename_extras(table.extras, columns, kind)
    return {new: table.extras[old] for old, new in names.items()}


def show_summary(summary: "Summary") -> None:
    """Print a summary on stdout."""
    STDOUT.print(summary.text)


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a small table on stdout, its first column to the left and numbers to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k else "left")
    for row in rows:
        table.add_row(*row)
    STDOUT.print(table)


def show_json(content: dict[str, Any]) -> None:
    """Print JSON on stdout."""
    typer.echo(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2))


def show_fit(
    calibrator: "Stack", counts: dict[str, Any], done: str, *, json: bool, quiet: bool
) -> None:
    """Show what was fitted: its summary and one line on stderr, or all of it as JSON."""
    summary = calibrator.describe()
    if json:
        show_json({**counts, "summary": summary.to_dict()})
    elif not quiet:
        show_summary(summary)
        say(done)

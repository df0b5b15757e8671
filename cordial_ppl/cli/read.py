"""`cordial read`: readings out of judgments, logs of other tools, and any rows by their fields."""

from dataclasses import dataclass
from pathlib import Path

import typer

from cordial_ppl.cli.options import TableOrNot
from cordial_ppl.cli.output import show_json
from cordial_ppl.cli.records import Shown, split_names
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing

ROWS = 5
"""Rows that --dry-run shows."""


@dataclass(frozen=True)
class Fields:
    """Which fields of the rows hold what, and how answers are read: arguments of `logs.read`."""

    item: str | None = None
    answer: str | None = None
    reader: str | None = None
    task: str | None = None
    label: str | None = None
    annotator: str | None = None
    where: list[str] | None = None
    swapped: str | None = None
    reverse: bool = False
    after: str | None = None
    round: str | None = None
    score: str | None = None


def read(
    file: Path,
    fields: Fields,
    shown: Shown,
    output: TableOrNot = None,
    labels: TableOrNot = None,
    dry_run: bool = False,
    from_: str = "auto",
    options: str | None = None,
    spell: list[str] | None = None,
    explain: int = 0,
) -> None:
    """Make tables of readings and of labels from a file of judgments or a log."""
    from cordial_ppl.cli.reading import (
        as_json,
        describe,
        explain_text,
        read_spellings,
        show_rows,
        warn,
    )
    from cordial_ppl.logs import read as read_file
    from cordial_ppl.tables import write_table

    if output is None and labels is None and not dry_run:
        raise InputError(
            "say what to write: readings (-o OUT), labels (--labels LABELS) or both; or look "
            "first: --dry-run."
        )
    if fields.label and labels is None and not dry_run:
        raise InputError("--label names labels: say where to write them, --labels LABELS.")
    with doing(f"reading {file}"):
        table = read_file(
            file,
            **vars(fields),
            form=from_,
            options=split_names("--options", options),
            spell=read_spellings(spell),
            explain=max(explain, ROWS * dry_run),
            labels=labels is not None or dry_run,
        )
    with naming(file):
        if labels is not None and not table.labels["item_id"]:
            raise InputError(
                "there are no labels in it; name their field, --label FIELD, or leave --labels out."
            )
        if output is not None and not len(table):
            raise InputError("there are labels in it but no readings; leave -o out.")
    if output is not None and not dry_run:
        write_table(output, table.readings)
    if labels is not None and not dry_run:
        write_table(labels, table.labels)
    if shown.json:
        return show_json(as_json(table, table.name))
    if dry_run:
        show_rows(table, ROWS)
    for text in table.explained[:explain]:
        typer.echo(explain_text(text, table.options))
    if not shown.quiet and dry_run:
        describe(table, table.name, "would be written", "would be written")
    elif not shown.quiet:
        describe(table, table.name, output and f"in {output}", labels and f"in {labels}")
    warn(table)

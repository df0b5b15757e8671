"""`cordial read`: readings out of judgments, logs of other tools, and any rows by their fields."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cordial_ppl.cli.options import (
    After,
    Explain,
    Json,
    Options,
    Quiet,
    ReadingsOrNot,
    Rounding,
    Spelled,
    option,
    split_options,
)
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing

ROWS = 5
"""Rows that --dry-run shows."""

ROUND = "Answers between options: 3.5 is rounded, or half a 3 and half a 4 (split)."
FIELD = "FIELD[,FIELD...]"
ITEM = "The field that names the text; several with commas between make one name."
ANSWER = "The field of the judge's answer; several are tasks of their own."
READER = "The field that names the reader; or the reader to take; FIELD=NAME does both."
TASK = "The field that names the task; or the task to take; FIELD=NAME does both."
WHERE = "A condition on the rows to take, FIELD=VALUE or FIELD!=VALUE; may be repeated."
SWAPPED = "Fields whose answers are on the reversed scale, or a flag that says so."


@dataclass(frozen=True)
class Named:
    """Which fields of the rows hold what."""

    item: Annotated[str | None, option(FIELD, ITEM)] = None
    answer: Annotated[str | None, option(FIELD, ANSWER)] = None
    reader: Annotated[str | None, option("FIELD or NAME", READER)] = None
    task: Annotated[str | None, option("FIELD or NAME", TASK)] = None
    label: Annotated[str | None, option(FIELD, "The field of a person's label.")] = None
    annotator: Annotated[str | None, option("FIELD", "The field that names that person.")] = None
    where: Annotated[list[str] | None, option("CONDITION", WHERE)] = None
    swapped: Annotated[str | None, option(FIELD, SWAPPED)] = None

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of `cordial_ppl.read`."""
        return vars(self)


def read(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON, JSON Lines, CSV, Parquet, or a log.")
    ],
    named: Named,
    out: ReadingsOrNot = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="LABELS", help="Table of the labels that the file holds, to write."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show five rows as they would be read; write nothing.")
    ] = False,
    form: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help="The file's format; auto tells by it.")
    ] = "auto",
    options: Options = None,
    spell: Spelled = None,
    after: After = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The options go from the best to the worst.")
    ] = False,
    round: Annotated[Rounding | None, option(None, ROUND)] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A scorer of Inspect to read; of several values, NAME.KEY."
        ),
    ] = None,
    explain: Explain = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a table of readings, and of labels, from a file of judgments or a log."""
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.cli.reading import (
        as_json,
        explain_text,
        read_spellings,
        report,
        show_rows,
        warn,
    )
    from cordial_ppl.logs import read as read_file
    from cordial_ppl.tables import write_table

    written = [path for path in (out, labels) if path is not None]
    if not written and not dry_run:
        raise InputError(
            "say what to write: readings (-o OUT), labels (--labels LABELS) or both; or look "
            "first: --dry-run."
        )
    if named.label and labels is None and not dry_run:
        raise InputError("--label names labels: say where to write them, --labels LABELS.")
    for path in written:
        check_output(path, [source])
    if out is not None and labels is not None and out.absolute() == labels.absolute():
        raise InputError(f"readings and labels are two tables; both would be {out}.")
    with doing(f"reading {source}"):
        table = read_file(
            source,
            **named.settings,
            form=form,
            options=split_options(options),
            spell=read_spellings(spell),
            after=after,
            reverse=reverse,
            round=round and round.value,
            score=score,
            explain=max(explain, ROWS * dry_run),
            labels=labels is not None or dry_run,
        )
    with naming(source):
        if labels is not None and not table.labels["item_id"]:
            raise InputError(
                "there are no labels in it; name their field, --label FIELD, or leave --labels out."
            )
        if out is not None and not len(table):
            raise InputError("there are labels in it but no readings; leave -o out.")
    if not dry_run:
        if out is not None:
            write_table(out, table.readings)
        if labels is not None:
            write_table(labels, table.labels)
    if json:
        return show_json(as_json(table, table.name))
    if dry_run:
        show_rows(table, ROWS)
    for text in table.explained[:explain]:
        typer.echo(explain_text(text, table.options))
    if not quiet:
        report(table, table.name, out, labels, dry_run)
    warn(table)

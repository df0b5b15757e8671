"""`cordial read`: readings out of judgments, logs of other tools, and any rows by their fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from cordial_ppl.cli.options import (
    ADVANCED,
    COLUMNS,
    FILES,
    After,
    Names,
    Spell,
    TableOrNot,
    Written,
    names,
    option,
)
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import Rounding
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing

ROWS = 5
"""Rows that --dry-run shows."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Fields:
    """Which fields of the rows hold what, and how answers are read: arguments of `logs.read`."""

    item: Annotated[
        Names,
        names(COLUMNS, "Field that names the text; several fields make one name.", "FIELD,..."),
    ] = None
    answer: Annotated[
        Names,
        names(
            COLUMNS,
            "Field of the judge's answer; several fields are tasks of their own.",
            "FIELD,...",
        ),
    ] = None
    reader: Annotated[
        str | None,
        option(COLUMNS, "Field that names the judge; or the NAME to take; or FIELD=NAME.", "FIELD"),
    ] = None
    task: Annotated[
        str | None,
        option(COLUMNS, "Field that names the task; or the NAME to take; or FIELD=NAME.", "FIELD"),
    ] = None
    label: Annotated[Names, names(COLUMNS, "Field of a person's label.", "FIELD,...")] = None
    annotator: Annotated[str | None, option(COLUMNS, "Field that names that person.", "FIELD")] = (
        None
    )
    where: Annotated[
        Sequence[str],
        option(COLUMNS, "Rows to take, FIELD=VALUE or FIELD!=VALUE; may be repeated.", "CONDITION"),
    ] = ()
    swapped: Annotated[
        Names,
        names(
            COLUMNS,
            "Fields whose answers are on the reversed scale, or a flag for it.",
            "FIELD,...",
        ),
    ] = None
    reverse: Annotated[
        bool, option(COLUMNS, "The options are named from the best to the worst.")
    ] = False
    after: After = None
    round: Rounding = None
    score: Annotated[
        str | None, option(ADVANCED, "Scorer of Inspect; of several values, NAME.KEY.", "NAME")
    ] = None


def read(
    file: Annotated[Path, option(FILES, "Judgments or a log: JSON, JSON Lines, CSV, Parquet ...")],
    *,
    fields: Fields = Fields(),  # noqa: B008
    output: TableOrNot = None,
    labels: Annotated[
        Path | None, Written(), option(FILES, "Table to write of the labels in FILE.", "LABELS")
    ] = None,
    dry_run: Annotated[
        bool, option(FILES, "Show five rows as they would be read; write nothing.")
    ] = False,
    from_: Annotated[
        str, option(ADVANCED, "Format of FILE, if it is not recognised.", "FORMAT", name="--from")
    ] = "auto",
    options: Annotated[
        Names, names(COLUMNS, "Options of the scale in order, if FILE does not name them.")
    ] = None,
    spell: Spell = (),
    explain: Annotated[
        int, option(ADVANCED, "Show for N texts which tokens fed which option.", "N")
    ] = 0,
) -> Result:
    """Make tables of readings and of labels from a file of judgments or a log."""
    from cordial_ppl.cli import reading
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
            options=options,
            spell=reading.read_spellings(spell),
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
    written = [path and f"in {path}" for path in (output, labels)]
    written = ["would be written"] * 2 if dry_run else written
    result = [reading.set_out(table, ROWS)] if dry_run else []
    result += [reading.explain_text(text, table.options) for text in table.explained[:explain]]
    return Result(
        reading.as_json(table, table.name),
        "\n".join(result),
        warnings=reading.list_doubts(table),
        done=reading.describe(table, table.name, *written),
    )

"""`cordial read`: readings out of judgments, logs of other tools, and any rows by their fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cordial_ppl.cli.options import TableOrNot
from cordial_ppl.cli.output import Result
from cordial_ppl.cli.records import Names
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.progress import doing

ROWS = 5
"""Rows that --dry-run shows."""


@dataclass(frozen=True)
class Fields:
    """Which fields of the rows hold what, and how answers are read: arguments of `logs.read`."""

    item: Names = None
    answer: Names = None
    reader: str | None = None
    task: str | None = None
    label: Names = None
    annotator: str | None = None
    where: Sequence[str] = ()
    swapped: Names = None
    reverse: bool = False
    after: str | None = None
    round: str | None = None
    score: str | None = None


def read(
    file: Path,
    fields: Fields,
    output: TableOrNot = None,
    labels: TableOrNot = None,
    dry_run: bool = False,
    from_: str = "auto",
    options: Names = None,
    spell: Sequence[str] = (),
    explain: int = 0,
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

"""`cordial read`: readings out of judgments, logs of other tools, and any rows by their fields."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from cordial_ppl.cli.output import Result, as_table
from cordial_ppl.cli.records import Rounding, split_pairs
from cordial_ppl.errors import InputError, count, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.logs import Collected

ROWS, WIDTH = 5, 32
"""Rows that --dry-run shows, and characters of a cell."""


def _field(help: str, value: str = "FIELD", group: Any = COLUMNS) -> Parameter:
    return option(group, help, value)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Fields:
    """Which fields of the rows hold what: arguments of `logs.read`."""

    item: Annotated[
        str | None, _field("Field that names the text; several make one name.", "FIELD,...")
    ] = None
    answer: Annotated[
        str | None, _field("Field of the judge's answer; several are tasks.", "FIELD,...")
    ] = None
    choices: Annotated[str | None, _field("Field of the options that a list of numbers is of.")] = (
        None
    )
    reader: Annotated[
        str | None, _field("Field that names the judge; or the NAME to take; or FIELD=NAME.")
    ] = None
    task: Annotated[
        str | None, _field("Field that names the task; or the NAME to take; or FIELD=NAME.")
    ] = None
    label: Annotated[str | None, _field("Field of a person's label.", "FIELD,...")] = None
    annotator: Annotated[str | None, _field("Field that names that person.")] = None
    rows: Annotated[
        str | None,
        _field("Where the rows are; each has the one around it as `outer`.", "FIELD,..."),
    ] = None
    where: Annotated[
        Sequence[str],
        _field("Rows to take, FIELD=VALUE or FIELD!=VALUE; may be repeated.", "CONDITION"),
    ] = ()
    people: Annotated[
        str | None, _field("Rows whose answers are labels, as source=HUMAN.", "CONDITION")
    ] = None
    model: Annotated[str | None, _field("Field of the judge's model.", group=ADVANCED)] = None
    prompt: Annotated[str | None, _field("Field of the judge's prompt.", group=ADVANCED)] = None


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
    reverse: Annotated[
        bool, option(COLUMNS, "The options are named from the best to the worst.")
    ] = False,
    spell: Spell = (),
    after: After = None,
    round: Rounding = None,
) -> Result:
    """Make tables of readings and of labels from a file of judgments or a log.

    A FIELD is a key of the rows, or else a JMESPath expression, such as scores[0].value.
    """
    from cordial_ppl.logs import read as read_file
    from cordial_ppl.tables import write_table

    if output is None and labels is None and not dry_run:
        raise InputError(
            "say what to write: readings (-o OUT), labels (--labels LABELS) or both; or look "
            "first: --dry-run."
        )
    with doing(f"reading {file}"):
        collected = read_file(
            file,
            form=from_,
            options=options,
            spell=spelled(spell),
            after=after,
            reverse=reverse,
            round=round,
            **vars(fields),
        )
    with naming(file):
        if labels is not None and not collected.labels["item_id"]:
            raise InputError(
                "there are no labels in it; name their field, --label FIELD, or leave --labels out."
            )
        if output is not None and not len(collected):
            raise InputError("there are labels in it but no readings; leave -o out.")
    if output is not None and not dry_run:
        write_table(output, collected.readings)
    if labels is not None and not dry_run:
        write_table(labels, collected.labels)
    return Result(
        as_json(collected),
        set_out(collected) if dry_run else "",
        done=describe(collected, output or dry_run, labels or dry_run, collected.form),
    )


def spelled(spellings: Sequence[str]) -> dict[str, str]:
    """Read what --spell says: options by the texts that mean them."""
    form = "OPTION=TEXT, such as 1=A"
    return {text: option for option, text in split_pairs("--spell", spellings, form, str)}


def describe(
    collected: "Collected", readings: Path | bool | None, labels: Path | bool | None, name: str
) -> Iterator[str]:
    """Say what was read.

    Args:
        collected: The readings and labels.
        readings: The table of readings that was written; True if it would be.
        labels: The same of the labels.
        name: The preset, or the model that was asked.
    """
    from cordial_ppl.logs.finder import SOURCES

    for number, noun, path in (
        (len(collected), f"reading of {', '.join(collected.options)}", readings),
        (len(collected.labels["item_id"]) if labels else 0, "label", labels),
    ):
        if path and number:
            where = "would be written" if path is True else f"in {path}"
            first, _, rest = noun.partition(" ")
            yield f"{count(number, first)} {rest} ({name}) {where}".replace("  ", " ")
    if sources := [f"{collected.answers[key]} {words}" for key, words in SOURCES.items()
                   if collected.answers[key]]:  # fmt: skip
        yield f"answers found: {', '.join(sources)}"
    if collected.unnamed:
        yield "the log does not name its texts: item_id is their order, from 0 (--item names them)"
    if collected.floored:
        floored = ", ".join(f"{name} in {number}" for name, number in collected.floored.items())
        yield (
            "options that were not returned got the smallest log-probability that was: "
            f"{floored} of {count(len(collected), 'text')}"
        )


def as_json(collected: "Collected") -> dict[str, Any]:
    """Return all of it for programs."""
    return {
        "format": collected.form,
        "options": list(collected.options),
        "readings": len(collected),
        "labels": len(collected.labelings),
        "answers": dict(collected.answers),
        "unread": collected.unread,
        "lost": collected.lost,
        "other_questions": dict(collected.otherwise),
        "pooled": collected.pooled,
        "unnamed": collected.unnamed,
        "floored": dict(collected.floored),
    }


def set_out(collected: "Collected") -> str:
    """Set out the first texts as they are read: a row each."""
    table = dict(collected.readings) or collected.labels
    kind = collected.values[0].kind if collected.values else ""
    names = [n for n in ("item_id", "reader", "task", "annotator", "user", "label") if n in table]
    columns = {name: list(map(str, table[name][:ROWS])) for name in names}
    if collected.values:
        columns["answer"] = collected.beginnings[:ROWS]
        columns |= {o: [f"{v:.4g}" for v in table[f"{kind}_{o}"][:ROWS]] for o in collected.options}
        pairs = zip(collected.labels["item_id"], collected.labels["label"], strict=True)
        labels = dict(pairs) if collected.labelings else {}
        if labels:
            columns["label"] = [labels.get(item, "") for item in columns["item_id"]]
    rows = [
        [cell if len(cell) <= WIDTH else f"{cell[: WIDTH - 3]}..." for cell in row]
        for row in zip(*columns.values(), strict=True)
    ]
    return as_table(f"The first {count(len(rows), 'row')} as they are read", [*columns], rows)

"""`cordial read` and `cordial ask`: readings out of files of judgments, and out of models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from cordial_ppl.cli.command import command
from cordial_ppl.cli.messages import interrupting
from cordial_ppl.cli.options import (
    ADVANCED,
    COLUMNS,
    FILES,
    MODEL,
    TABLE,
    TABLE_OUT,
    Names,
    Natural,
    Number,
    Out,
    Rounding,
    Spellings,
    Written,
    listing,
    option,
    split_pairs,
)
from cordial_ppl.cli.output import Result, as_table, say
from cordial_ppl.errors import InputError, ServerError, count, naming
from cordial_ppl.runtime.progress import doing

if TYPE_CHECKING:
    from cordial_ppl.logs import Collected

ROWS, WIDTH = 5, 32
"""Rows that --dry-run shows, and characters of a cell."""

After = Annotated[
    str | None,
    option("What the answer follows, where it is not found without.", "REGEX", ADVANCED),
]
Field = Annotated[str | None, Parameter(metavar="FIELD")]
Fields = Annotated[str | None, Parameter(metavar="FIELD,...")]


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which fields of the rows hold what, and how answers are read: arguments of `logs.read`."""

    item: Fields = None
    "Field that names the text; several make one name."
    answer: Fields = None
    "Field of the judge's answer; several are tasks."
    reader: Field = None
    "Field that names the judge; or the NAME to take; or FIELD=NAME."
    task: Field = None
    "Field that names the task; or the NAME to take; or FIELD=NAME."
    label: Fields = None
    "Field of a person's label."
    annotator: Field = None
    "Field that names that person."
    rows: Fields = None
    "Where the rows are; each has the one around it as `outer`."
    where: Annotated[Sequence[str], Parameter(metavar="CONDITION")] = ()
    "Rows to take, FIELD=VALUE or FIELD!=VALUE; may be repeated."
    people: Annotated[str | None, Parameter(metavar="CONDITION")] = None
    "Rows whose answers are labels, as source=HUMAN."
    options: Names = None
    "Options of the scale in order, as 1,2,3,4,5, if FILE does not name them."
    reverse: bool = False
    "The options are named from the best to the worst."
    form: Annotated[str, Parameter(name="--from", metavar="FORMAT", group=ADVANCED)] = "auto"
    "Format of FILE, if it is not recognised."
    after: After = None
    round: Rounding = None
    "Between options: half-up, nearest-even, or split into two halves."
    model: Annotated[Field, Parameter(group=ADVANCED)] = None
    "Field of the judge's model."
    prompt: Annotated[Field, Parameter(group=ADVANCED)] = None
    "Field of the judge's prompt."


CHOSEN = Chosen()


@command
def read(
    file: Annotated[Path, option("Judgments or a log: JSON, JSON Lines, CSV, Parquet ...")],
    /,
    *,
    fields: Chosen = CHOSEN,
    output: Annotated[Written | None, Out, TABLE_OUT] = None,
    labels: Annotated[
        Written | None,
        option("Table to write of the labels that FILE holds.", "LABELS", FILES),
    ] = None,
    dry_run: Annotated[
        bool, option("Show five rows as they would be read; write nothing.", group=FILES)
    ] = False,
    spell: Spellings = (),
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
            spell=spelled(spell),
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
    for number, noun, path in (
        (len(collected), f"reading of {', '.join(collected.options)}", readings),
        (len(collected.labels["item_id"]) if labels else 0, "label", labels),
    ):
        if path and number:
            where = "would be written" if path is True else f"in {path}"
            first, _, rest = noun.partition(" ")
            yield f"{count(number, first)} {rest} ({name}) {where}".replace("  ", " ")
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
    from cordial_ppl.logs.collected import LOST, REASONS

    left = {
        key: rows
        for key in (*REASONS, "other")
        if (rows := collected.kept.get(key, []) + collected.notes.get(key, []))
    }
    return {
        "format": collected.form,
        "options": list(collected.options),
        "readings": len(collected),
        "labels": len(collected.labelings),
        "kept": len(collected.outcomes) - len(collected),
        "unread": [row for key in left.keys() - {*LOST, "other"} for row in left[key]],
        "lost": {key: left[key] for key in (*LOST, "other") if key in left},
        "pooled": len(collected.notes.get("pooled", ())),
        "unnamed": collected.unnamed,
        "floored": dict(collected.floored),
    }


def set_out(collected: "Collected") -> str:
    """Set out the first texts as they are read: a row each."""
    from cordial_ppl.logs.collected import quote_beginning

    table = dict(collected.readings) or collected.labels
    kind = collected.values[0].kind if collected.values else ""
    names = [n for n in ("item_id", "reader", "task", "annotator", "user", "label") if n in table]
    columns = {name: list(map(str, table[name][:ROWS])) for name in names}
    if collected.values:
        columns["answer"] = [*map(quote_beginning, collected.records[:ROWS])]
        for name in collected.options:
            cells = table[f"{kind}_{name}"][:ROWS]
            columns[name] = ["" if cell is None else f"{cell:.4g}" for cell in cells]
        pairs = zip(collected.labels["item_id"], collected.labels["label"], strict=True)
        labels = dict(pairs) if collected.labelings else {}
        if labels:
            columns["label"] = [labels.get(item, "") for item in columns["item_id"]]
    rows = [
        [cell if len(cell) <= WIDTH else f"{cell[: WIDTH - 3]}..." for cell in row]
        for row in zip(*columns.values(), strict=True)
    ]
    return as_table(f"The first {count(len(rows), 'row')} as they are read", [*columns], rows)


AFile = Annotated[Path | None, Parameter(metavar="FILE", group=FILES)]


@Parameter(name="*", group=MODEL)
@dataclass(frozen=True, kw_only=True)
class Questions:
    """Whom to ask what, and how: the prompt, the server, and what is taken of the answers."""

    options: Annotated[tuple[str, ...], listing("A,B,...", group=COLUMNS)]
    "Options of the scale in order, as 1,2,3,4,5."
    model: Annotated[str, Parameter(metavar="NAME")]
    "Model to ask."
    prompt: AFile = None
    "The whole prompt: {text}, {options}, other columns of TEXTS."
    reader: Annotated[str | None, Parameter(metavar="NAME", group=COLUMNS)] = None
    "Name of the judge, for the column `reader`; by default the model's."
    task: Annotated[str | None, Parameter(metavar="NAME", group=COLUMNS)] = None
    "Name of the task, for the column `task`."
    question: Annotated[str | None, Parameter(metavar="TEXT")] = None
    "What to ask."
    permutations: Number = 1
    "Orders of the options to average over."
    server: Annotated[str | None, Parameter(metavar="URL")] = None
    "Such as http://localhost:8000/v1; by default OPENAI_BASE_URL, or OpenAI."
    local: bool = False
    "Run a Hugging Face model on this machine; NAME is a folder or a name."
    samples: Natural = 0
    "Sample N answers a text, for models without log-probabilities."
    spell: Spellings = ()
    after: After = None
    key_variable: Annotated[str | None, Parameter(metavar="NAME", group=ADVANCED)] = None
    "Environment variable of the key; by default OPENAI_API_KEY, for OpenAI's address alone."
    max_tokens: Annotated[Number, Parameter(group=ADVANCED)] = 16
    "Longest answer, in tokens."
    concurrency: Annotated[Number, Parameter(group=ADVANCED)] = 8
    "Questions asked at a time."


@command
def ask(
    texts: Annotated[Path, option(f"Table {TABLE}: item_id, text, other columns of the prompt.")],
    /,
    *,
    output: Annotated[Written, Out, TABLE_OUT],
    wanted: Questions,
) -> Result:
    """Ask a model to rate texts, and make a table of readings of its answers.

    Answers are kept in OUT.answers.jsonl as they come: the same command resumes.
    """
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.logs import collect
    from cordial_ppl.logs.ask.asking import Asking
    from cordial_ppl.logs.ask.chat import Chat
    from cordial_ppl.logs.ask.local import LocalModel
    from cordial_ppl.logs.ask.prompt import Prompt, read_template, read_texts
    from cordial_ppl.logs.finder import Finder
    from cordial_ppl.logs.spellings import Spellings
    from cordial_ppl.tables import write_table

    scale = Scale(wanted.options)
    # What is wrong is refused before anything is asked.
    Finder(Spellings(scale, spelled(wanted.spell)), wanted.after)
    template = read_template(wanted.prompt, wanted.question)
    made = Prompt(scale, template, wanted.permutations)
    fields, extras = read_texts(texts, made)
    if wanted.local:
        if wanted.server or wanted.key_variable or wanted.samples:
            raise InputError("--server, --key-variable, --samples: not with --local.")
        with doing(f"loading {wanted.model}"):
            asked = LocalModel(wanted.model, scale.options)
    else:
        names = "samples", "max_tokens", "concurrency"
        limits = {name: getattr(wanted, name) for name in names}
        asked = Chat(wanted.model, wanted.server, wanted.key_variable, **limits)
    path = output.with_name(f"{output.name}.answers.jsonl")
    asking = Asking(made, fields, asked, path)
    try:
        with interrupting():
            asking.run()
    except (ServerError, KeyboardInterrupt):
        say(f"Answers are kept in {path}: the same command resumes.")
        raise
    records = asking.records(wanted.reader or wanted.model, wanted.task)
    collected = collect(records, scale, spelled(wanted.spell), before=wanted.after)
    row_of = {item: row for row, item in enumerate(fields)}
    rows = [row_of[item] for item in collected.readings["item_id"]]
    passed = {name: [cells[row] for row in rows] for name, cells in extras.items()}
    write_table(output, collected.readings | passed)
    content = as_json(collected) | {"missing": asking.refused}
    done = describe(collected, output, None, wanted.model)
    return Result(content, warnings=[*collected.doubts], done=done)

"""`cordial read` and `cordial ask`: readings out of files of judgments, and out of models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from cordial_ppl.cli import options as shared
from cordial_ppl.cli.command import command
from cordial_ppl.cli.output import Result, as_table, interrupting, say
from cordial_ppl.errors import InputError, ServerError, count, naming
from cordial_ppl.runtime.progress import doing

ROWS = 5
"""Number of rows shown if no table is written."""

ANSWER = "Regular expression for the text before each rating, if ratings are not found without it."
TEXTS = f"Table {shared.TABLE}: item_id, text, and any other columns that the prompt uses."

LABELS_OUT = shared.option(f"Table of labels to write {shared.TABLE}.", "LABELS", shared.FILES)
After = Annotated[str | None, shared.option(ANSWER, "REGEX", shared.ADVANCED)]
Field = Annotated[str | None, Parameter(metavar="FIELD")]
Fields = Annotated[str | None, Parameter(metavar="FIELD,...")]


@Parameter(name="*", group=shared.COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which fields of the rows hold what, and how answers are read: arguments of `logs.read`."""

    item: Fields = None
    "Field that identifies the text; several fields are joined into one id."
    answer: Fields = None
    "Field with the judge's answer. If you name several fields, each becomes a task."
    reader: Field = None
    "Field that names the judge; FIELD=NAME (NAME in known formats) selects one."
    task: Field = None
    "Field that names the task; FIELD=NAME (NAME in known formats) selects one."
    label: Fields = None
    "Field with the human label."
    annotator: Field = None
    "Field that names the person who gave the label."
    rows: Fields = None
    "Path to a nested list of rows. Refer to fields of the enclosing row as `outer.FIELD`."
    where: Annotated[Sequence[str], Parameter(metavar="CONDITION")] = ()
    "Use only rows that meet this condition, FIELD=VALUE or FIELD!=VALUE; may be repeated."
    people: Annotated[str | None, Parameter(metavar="CONDITION")] = None
    "Treat answers in rows that meet this condition, such as source=HUMAN, as human labels."
    options: shared.Names = None
    "Scale options from worst to best, such as 1,2,3,4,5, if FILE does not list them."
    reverse: bool = False
    "Reverse the scale; use this if the options run from best to worst."
    model: Annotated[Field, Parameter(group=shared.ADVANCED)] = None
    "Field that names the judge's model."
    prompt: Annotated[Field, Parameter(group=shared.ADVANCED)] = None
    "Field with the judge's prompt or the prompt's name."
    form: Annotated[str, Parameter(name="--from", metavar="FORMAT", group=shared.ADVANCED)] = "auto"
    "Format of FILE, if it is not recognised automatically."
    after: After = None
    round: shared.Rounding = None
    "How to round values between two options: half-up, nearest-even, or split (a share to each)."


@command
def read(
    file: Annotated[Path, shared.option("Log of judgments (.json, .jsonl, .csv, .parquet ...).")],
    /,
    *,
    fields: Chosen = Chosen(),
    output: Annotated[shared.Written | None, shared.Out, shared.TABLE_OUT] = None,
    labels: Annotated[shared.Written | None, LABELS_OUT] = None,
    spell: shared.Spellings = (),
) -> Result:
    """Extract a table of readings and a table of labels from a log of judgments.

    FIELD is a key of the rows or a JMESPath expression, such as scores[0].value. Without -o and
    --labels, the command only shows the first rows.
    """
    from cordial_ppl.logs import read as read_file

    with doing(f"reading {file}"):
        collected = read_file(file, spell=spelled(spell), **vars(fields))
    with naming(file):
        if labels is not None and not collected.labels["item_id"]:
            raise InputError(
                "found no labels. Name the label field with --label FIELD, or remove --labels."
            )
        if output is not None and not len(collected):
            raise InputError("found labels but no readings. Remove -o.")
    return report(collected, output, labels, {})


def spelled(spellings: Sequence[str]) -> dict[str, str]:
    """Read what --spell says: options by the texts that mean them."""
    pairs = shared.split_pairs("--spell", spellings, "OPTION=TEXT, such as 1=A", str)
    return {text: option for option, text in pairs}


def report(
    collected: Any, output: Path | None, labels: Path | None, more: dict[str, list]
) -> Result:
    """Write tables of what was read, or set out their first rows if there is no file to write.

    Args:
        collected: The readings and labels.
        output: The table of readings to write.
        labels: The table of labels to write.
        more: Further columns of the readings.
    """
    from cordial_ppl.tables import write_table

    done, shown, number = [], [], count(len(collected), "reading")
    # A column of the texts replaces none of what was read.
    readings = collected.readings | {**more, **collected.readings}
    answers = {"answer": [record.quoted for record in collected.records[:ROWS]]}
    for words, path, table, first in (
        (f"{number} on the scale {', '.join(collected.options)}", output, readings, answers),
        (count(len(collected.labels["label"]), "label"), labels, collected.labels, {}),
    ):
        if path is not None:
            write_table(path, table)
            done.append(f"wrote {words} ({collected.form}) to {path}")
        elif output is labels is None and table.get("item_id"):
            cells = {name: column[:ROWS] for name, column in (first | table).items()}
            texts = [[_show(cell) for cell in row] for row in zip(*cells.values(), strict=True)]
            shown.append(as_table(f"{words} ({collected.form}), first rows", [*cells], texts))
    if collected.unnamed:
        done.append("the log has no ids for its texts, so item_id numbers them from 0; see --item")
    content = {"format": collected.form, "options": list(collected.options)}
    content |= {"readings": len(collected), "labels": len(collected.labelings)}
    content |= {"unread": collected.kept, "notes": collected.notes, "unnamed": collected.unnamed}
    return Result(content, "\n".join(shown), done=done)


def _show(cell: Any) -> str:
    """Write a cell in a line, a number with four decimals."""
    text = "" if cell is None else str(round(cell, 4) if isinstance(cell, float) else cell)
    return " ".join(text.split())


@Parameter(name="*", group=shared.MODEL)
@dataclass(frozen=True, kw_only=True)
class Questions:
    """Whom to ask what, and how: the prompt, the server, and what is taken of the answers."""

    options: Annotated[tuple[str, ...], shared.listing("A,B,...", group=shared.COLUMNS)]
    "Scale options from worst to best, such as 1,2,3,4,5."
    model: Annotated[str, Parameter(metavar="NAME")]
    "Model to ask."
    prompt: shared.File = None
    "File with the full prompt; {text}, {options} and {COLUMN} (any column of TEXTS) are filled in."
    reader: Annotated[str | None, Parameter(metavar="NAME", group=shared.COLUMNS)] = None
    "Judge name to write to column `reader`; by default the model's name."
    task: Annotated[str | None, Parameter(metavar="NAME", group=shared.COLUMNS)] = None
    "Task name to write to column `task`."
    question: Annotated[str | None, Parameter(metavar="TEXT")] = None
    "Question to ask about each text."
    permutations: shared.Number = 1
    "Number of orderings of the options to average over."
    server: Annotated[str | None, Parameter(metavar="URL")] = None
    "Server URL, such as http://localhost:8000/v1. Default: OPENAI_BASE_URL if set, or OpenAI."
    local: bool = False
    "Run a Hugging Face model on this machine; --model is the model's name or folder."
    samples: shared.Natural = 0
    "Sample N answers per text, for models without log-probabilities."
    spell: shared.Spellings = ()
    after: After = None
    key_variable: Annotated[str | None, Parameter(metavar="NAME", group=shared.ADVANCED)] = None
    "Environment variable with the API key; by default OPENAI_API_KEY for OpenAI, otherwise none."
    max_tokens: Annotated[shared.Number, Parameter(group=shared.ADVANCED)] = 16
    "Maximum length of an answer, in tokens."
    concurrency: Annotated[int, shared.whole(1, 64), Parameter(group=shared.ADVANCED)] = 8
    "Number of questions to ask at the same time (at most 64)."


@command
def ask(
    texts: Annotated[Path, shared.option(TEXTS)],
    /,
    *,
    output: Annotated[shared.Written, shared.Out, shared.TABLE_OUT],
    wanted: Questions,
) -> Result:
    """Ask a model to rate texts, and write its answers as a table of readings.

    Each answer is saved to OUT.answers.jsonl as it arrives. To resume, run the same command again.
    """
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.logs import collect, spellings
    from cordial_ppl.logs.ask.asking import ask_texts
    from cordial_ppl.logs.ask.chat import CHAT, Chat
    from cordial_ppl.logs.ask.local import LocalModel
    from cordial_ppl.logs.ask.prompt import Prompt, read_template
    from cordial_ppl.logs.finder import Finder

    scale, spell = Scale(wanted.options), spelled(wanted.spell)
    # What is wrong is refused before anything is asked.
    Finder(spellings.Spellings(scale, spell), wanted.after)
    prompt = Prompt(scale, read_template(wanted.prompt, wanted.question), wanted.permutations)
    fields, extras = prompt.read_texts(texts)
    if wanted.local:
        if wanted.server or wanted.key_variable or wanted.samples:
            raise InputError("do not combine --local with --server, --key-variable or --samples.")
        with doing(f"loading {wanted.model}"):
            model = LocalModel(wanted.model, scale.options)
    else:
        names = ("key_variable", "samples", "max_tokens", "concurrency")
        settings = {name: getattr(wanted, name) for name in names}
        model = Chat(wanted.model, wanted.server, options=scale.options, **settings)
        if model.endpoint != CHAT and (wanted.samples or wanted.permutations > 1):
            raise InputError("a decision model supports neither --samples nor --permutations.")
    path = output.with_name(f"{output.name}.answers.jsonl")
    try:
        with interrupting():
            records = ask_texts(prompt, fields, model, path)
    except (ServerError, KeyboardInterrupt):
        say(f"The answers so far are in {path}. To resume, run the same command again.")
        raise
    reader = wanted.reader or wanted.model
    records = [replace(record, reader=reader, task=wanted.task) for record in records]
    collected = collect(records, scale, spell=spell, before=wanted.after)
    collected.form = wanted.model
    return report(collected, output, None, extras)._replace(warnings=[*collected.doubts])

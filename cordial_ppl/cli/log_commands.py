"""`cordial read` and `cordial ask`: readings out of files of judgments, and out of models."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

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
    Seed,
    Spellings,
    Written,
    listing,
    option,
)
from cordial_ppl.cli.output import Result, say
from cordial_ppl.errors import InputError, ServerError, count, naming
from cordial_ppl.runtime.progress import doing

ROWS = 5
"""Rows that --dry-run shows."""


After = Annotated[
    str | None,
    option("What the answer follows, where it is not found without.", "REGEX", ADVANCED),
]
Field = Annotated[str | None, Parameter(metavar="FIELD", group=COLUMNS)]
Fields = Annotated[tuple[str, ...] | None, listing("FIELD,...", group=COLUMNS)]


@Parameter(name="*", group=COLUMNS)
@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Which fields of the rows hold what, and how answers are read: arguments of `logs.read`."""

    item: Fields = None
    "Field that names the text; several fields make one name."
    answer: Fields = None
    "Field of the judge's answer; several fields are tasks of their own."
    reader: Field = None
    "Field that names the judge; or the NAME to take; or FIELD=NAME."
    task: Field = None
    "Field that names the task; or the NAME to take; or FIELD=NAME."
    label: Fields = None
    "Field of a person's label."
    annotator: Field = None
    "Field that names that person."
    where: Annotated[Sequence[str], Parameter(metavar="CONDITION")] = ()
    "Rows to take, FIELD=VALUE or FIELD!=VALUE; may be repeated."
    options: Names = None
    "Options of the scale in order, as 1,2,3,4,5, if FILE does not name them."
    reverse: bool = False
    "The options are named from the best to the worst."
    form: Annotated[str, Parameter(name="--from", metavar="FORMAT", group=ADVANCED)] = "auto"
    "Format of FILE, if it is not recognised."
    swapped: Annotated[Fields, Parameter(group=ADVANCED)] = None
    "Fields whose answers are on the reversed scale, or a flag that says so."
    after: After = None
    round: Rounding = None
    "Between options: half-up, nearest-even, or split into two halves."
    score: Annotated[str | None, Parameter(metavar="NAME", group=ADVANCED)] = None
    "Scorer of Inspect to read; of several values, NAME.KEY."


CHOSEN = Chosen()


@command
def read(
    file: Annotated[
        Path,
        option("Judgments or a log: JSON, JSON Lines, CSV, Parquet or a log's own format."),
    ],
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
    explain: Annotated[
        Natural,
        option("Show for N texts which tokens fed which option.", group=ADVANCED),
    ] = 0,
) -> Result:
    """Make tables of readings and of labels from a file of judgments or a log."""
    from cordial_ppl.cli import log_words
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
            spell=log_words.read_spellings(spell),
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
    result = [log_words.set_out(table, ROWS)] if dry_run else []
    result += [log_words.explain_text(text, table.options) for text in table.explained[:explain]]
    return Result(
        log_words.as_json(table, table.name),
        "\n".join(result),
        warnings=log_words.list_doubts(table),
        done=log_words.describe(table, table.name, *written),
    )


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
    demonstrations: AFile = None
    "Table of labelled texts to show as examples."
    reader: Annotated[str | None, Parameter(metavar="NAME", group=COLUMNS)] = None
    "Name of the judge, for the column `reader`; by default the model's."
    task: Annotated[str | None, Parameter(metavar="NAME", group=COLUMNS)] = None
    "Name of the task, for the column `task`."
    question: Annotated[str | None, Parameter(metavar="TEXT")] = None
    "What to ask."
    shots: Number = 10
    "Examples to show."
    permutations: Number = 1
    "Orders of the options to average over."
    server: Annotated[str | None, Parameter(metavar="URL")] = None
    "Such as http://localhost:8000/v1; by default OPENAI_BASE_URL, or OpenAI."
    local: bool = False
    "Run a Hugging Face model on this machine; NAME is a folder or a name."
    samples: Natural = 0
    "Sample N answers a text, for models without log-probabilities."
    seed: Seed = 0
    spell: Spellings = ()

    after: After = None
    key_variable: Annotated[str | None, Parameter(metavar="NAME", group=ADVANCED)] = None
    "Variable of the key; by default OPENAI_API_KEY, for OpenAI and servers on this machine only."
    max_tokens: Annotated[Number | None, Parameter(group=ADVANCED)] = None
    "Longest answer, in tokens; by default 16."
    concurrency: Annotated[Number | None, Parameter(group=ADVANCED)] = None
    "Questions asked at a time; by default 8."


@command
def ask(
    texts: Annotated[Path, option(f"Table {TABLE}: item_id, text, other columns of the prompt.")],
    /,
    *,
    output: Annotated[Written, Out, TABLE_OUT],
    wanted: Questions,
) -> Result:
    """Ask a model to rate texts, and make a table of readings of its answers.

    Answers are kept in OUT.cache as they come: the same command resumes an interrupted run.
    """
    from cordial_ppl.cli.log_words import as_json, describe, list_doubts, read_spellings
    from cordial_ppl.data.scale import Scale
    from cordial_ppl.logs import collect
    from cordial_ppl.logs.answers import as_pattern
    from cordial_ppl.logs.ask.asking import Asking, name_failures
    from cordial_ppl.logs.ask.cache import open_cache
    from cordial_ppl.logs.ask.prompt import Prompt, read_template
    from cordial_ppl.logs.ask.questions import read_questions
    from cordial_ppl.logs.spellings import Spellings
    from cordial_ppl.tables import write_table

    scale = Scale(wanted.options)
    spellings, before = read_spellings(wanted.spell), as_pattern(wanted.after)
    # A spelling that is wrong is refused before anything is asked.
    Spellings(scale, spellings)
    questions = read_questions(
        texts,
        Prompt(scale, read_template(wanted.prompt), wanted.question),
        demonstrations=wanted.demonstrations,
        shots=wanted.shots,
        permutations=wanted.permutations,
        seed=wanted.seed,
    )
    if wanted.local:
        from cordial_ppl.logs.ask.local import LocalModel

        values = (
            ("--server", wanted.server),
            ("--key-variable", wanted.key_variable),
            ("--samples", wanted.samples),
        )
        values += ("--max-tokens", wanted.max_tokens), ("--concurrency", wanted.concurrency)
        if unused := [name for name, value in values if value]:
            raise InputError(f"{', '.join(unused)}: for servers only, not with --local.")
        with doing(f"loading {wanted.model}"):
            asked = LocalModel.load(wanted.model, scale.options)
    else:
        from cordial_ppl.logs.ask.chat import Chat
        from cordial_ppl.logs.ask.server import Server

        asked = Chat(
            Server(wanted.model, wanted.server, wanted.key_variable),
            samples=wanted.samples,
            max_tokens=wanted.max_tokens or 16,
            concurrency=wanted.concurrency or 8,
        )
    cache = output.with_name(f"{output.name}.cache")
    with open_cache(cache) as answers:
        asking = Asking(questions, asked, answers)
        try:
            with interrupting():
                asking.run()
        except (ServerError, KeyboardInterrupt) as error:
            progress = f"{asking.done:,} of {len(questions):,} answers are in {cache}"
            if isinstance(error, ServerError):
                raise ServerError(f"{error} {progress}: the same command resumes.") from error
            say(f"stopped: {progress}; the same command resumes")
            raise
        records = asking.records(wanted.reader or wanted.model, wanted.task)
        with doing("reading the answers"):
            collection = collect(records, scale=scale, spellings=spellings, before=before)
    extras, dropped = questions.pass_on(collection.readings)
    write_table(output, collection.readings | extras)
    read, written = asking.tokens
    content = as_json(collection, wanted.model)
    content |= {"requests": asking.asked, "tokens_read": read, "tokens_written": written}
    content |= {"missing": asking.failures, "held_back": dropped}
    done = [*describe(collection, wanted.model, f"in {output}")]
    if asking.asked:
        done.insert(0, f"{asking.done:,} of {len(questions):,} answers, {asking.taken}")
    doubts = [*list_doubts(collection)]
    if asking.failures:
        lost = f"{count(len(asking.failures), 'text')} without an answer left out"
        doubts.insert(0, f"{lost}: {name_failures(asking.failures)}")
    if wanted.samples and (collection.unread or collection.count("unread")):
        doubts.append("if answers ended before they named an option, raise --max-tokens")
    if dropped:
        names = ", ".join(dropped)
        doubts.append(f"columns that would be taken for readings are not passed on: {names}")
    return Result(content, warnings=doubts, done=done)

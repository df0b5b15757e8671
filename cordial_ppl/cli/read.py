"""`cordial read`: readings out of logs that other tools write."""

from pathlib import Path
from typing import Annotated

import typer

from cordial_ppl.cli.messages import working
from cordial_ppl.cli.options import (
    After,
    Explain,
    Json,
    Options,
    Quiet,
    Reader,
    ReadingsOrNot,
    Spelled,
    Task,
    split_options,
)
from cordial_ppl.errors import CordialError, FileError, InputError, naming

Guess = Annotated[
    bool, typer.Option("--guess", help="Take answers from prose that announces none.")
]


def read(
    source: Annotated[
        Path, typer.Argument(metavar="FROM", help="The log: see docs/reading.md for the formats.")
    ],
    out: ReadingsOrNot = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="LABELS", help="Table of the labels that the log holds, to write."),
    ] = None,
    form: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help="The log's format; auto tells by it.")
    ] = "auto",
    options: Options = None,
    spell: Spelled = None,
    after: After = None,
    guess: Guess = False,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The options go from the best to the worst.")
    ] = False,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A scorer of Inspect to read; of several values, NAME.KEY."
        ),
    ] = None,
    task: Task = None,
    reader: Reader = None,
    explain: Explain = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a table of readings, and of labels, from a log of another tool."""
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.cli.reading import as_json, explain_text, read_spellings, report, warn
    from cordial_ppl.formats import collect, find_format, of_scorer
    from cordial_ppl.formats.answers import as_pattern
    from cordial_ppl.scale import Scale
    from cordial_ppl.tables import write_table

    names = split_options(options)
    written = [path for path in (out, labels) if path is not None]
    if not written:
        raise InputError("say what to write: readings (-o OUT), labels (--labels LABELS) or both.")
    for path in written:
        check_output(path, [source])
    if out is not None and labels is not None and out.absolute() == labels.absolute():
        raise InputError(f"readings and labels are two tables; both would be {out}.")
    found = find_format(source, form)
    if score is not None:
        found = of_scorer(found, score)
    try:
        with working(f"reading {source}", quiet):
            collected = collect(
                found.read(source),
                scale=None if names is None else Scale(names),
                spellings=read_spellings(spell),
                before=as_pattern(after, guess),
                guess=guess,
                reverse=reverse,
                task=task,
                reader=reader,
                explain=explain,
                labels=labels is not None,
            )
            if labels is not None and not collected.labels["item_id"]:
                raise InputError("there are no labels in it; leave --labels out.")
            if out is not None and not len(collected):
                raise InputError("there are labels in it but no readings; leave -o out.")
    except FileError:
        raise
    except CordialError as error:
        with naming(source):
            raise error
    if out is not None:
        write_table(out, collected.readings)
    if labels is not None:
        write_table(labels, collected.labels)
    if json:
        return show_json(as_json(collected, found.name))
    for text in collected.explained:
        typer.echo(explain_text(text, collected.options))
    if not quiet:
        report(collected, found.name, out, labels)
    warn(collected, guess, found.remedy)

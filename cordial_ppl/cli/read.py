"""`cordial read`: readings out of logs that other tools write."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cordial_ppl.cli.messages import count, say, working
from cordial_ppl.cli.options import Options, Quiet, Reader, Task, split_options
from cordial_ppl.errors import InputError

if TYPE_CHECKING:
    from cordial_ppl.formats import Collected, Explained

SHARE = 0.5
"""Probability of the options below which the reader mostly says something else."""


def read(
    source: Annotated[
        Path, typer.Argument(metavar="FROM", help="The log: see docs/reading.md for the formats.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Table of readings (.csv, .parquet, .jsonl)."
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(metavar="LABELS", help="Table of the labels that the log holds, to write."),
    ] = None,
    form: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help="The log's format; auto tells by it.")
    ] = "auto",
    options: Options = None,
    spell: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=TEXT",
            help="Another way in which the model writes an option, such as 1=A; may be repeated.",
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="What the answer follows, where it cannot be found without."
        ),
    ] = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="The options go from the best to the worst.")
    ] = False,
    task: Task = None,
    reader: Reader = None,
    explain: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Show for N texts which tokens fed which option."),
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Make a table of readings, and of labels, from a log of another tool."""
    from cordial_ppl.errors import naming
    from cordial_ppl.formats import collect, find_format
    from cordial_ppl.formats.answers import as_pattern
    from cordial_ppl.scale import Scale
    from cordial_ppl.tables import check_writable, write_table

    names = split_options(options)
    scale = None if names is None else Scale(names)
    spellings, pattern = _spellings(spell), as_pattern(after)
    for path in (out, labels):
        if path is not None:
            check_writable(path)
    found = find_format(source, form)
    with working(f"reading {source}", quiet), naming(source):
        collected = collect(
            found.read(source),
            scale=scale,
            spellings=spellings,
            before=pattern,
            reverse=reverse,
            task=task,
            reader=reader,
            explain=explain,
        )
        if labels is not None and not collected.labels["item_id"]:
            raise InputError("there are no labels in it; leave --labels out.")
    write_table(out, collected.readings)
    if labels is not None:
        write_table(labels, collected.labels)
    for text in collected.explained:
        typer.echo(_explain(text, collected))
    if not quiet:
        _report(collected, found.name, out, labels)


def _spellings(given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given or []:
        option, equals, spelling = text.partition("=")
        if not (option.strip() and equals and spelling.strip()):
            raise InputError(f"--spell must be OPTION=TEXT, such as 1=A; found {text!r}.")
        found[spelling] = option.strip()
    return found


def _report(found: "Collected", name: str, out: Path, labels: Path | None) -> None:
    """Say what was read, and what deserves a look."""
    options = found.scale.options
    say(f"{count(len(found), 'reading')} of {', '.join(options)} ({name}) in {out}")
    if labels is not None:
        say(f"{count(len(found.labels['item_id']), 'label')} in {labels}")
    if found.unnamed:
        say("the log does not name its texts: item_id is their order, from 0")
    if found.unread:
        rest = f" and {len(found.unread) - 3} more" if len(found.unread) > 3 else ""
        say(
            f"warning: {count(len(found.unread), 'answer')} that name no option are left out: "
            f"{', '.join(found.unread[:3])}{rest}"
        )
    if found.unread_samples:
        say(f"warning: {count(found.unread_samples, 'sample')} that name no option are not counted")
    if found.floored:
        places = ", ".join(f"{name} in {number}" for name, number in found.floored.items())
        say(
            "options that were not returned got the smallest log-probability that was: "
            f"{places} of {count(len(found), 'text')}"
        )
    if found.guessed:
        say(
            f"warning: in {count(found.guessed, 'text')} the first token had to speak for an "
            "option of several, or for options that begin alike"
        )
    if found.share < SHARE:
        say(
            f"warning: the options have {found.share:.2f} of the probability on average; the rest "
            "goes to other tokens. Does the model write the options otherwise (--spell)?"
        )


def _explain(text: "Explained", found: "Collected") -> str:
    """Which tokens fed which option, a line an option."""
    lines = [f"{text.item_id} ({text.place})"]
    if text.reading is None:
        return f"{lines[0]}: names no option"
    for k, option in enumerate(found.scale.options):
        parts = ", ".join(f"{word!r} {score:.4g}" for word, score in text.reading.parts[k])
        note = " (first token only)" if k in text.reading.guessed else ""
        words = parts or ("the smallest returned" if k in text.reading.floored else "nothing")
        lines.append(f"  {option:>12} {text.reading.values[k]:10.4f}  {words}{note}")
    return "\n".join(lines)

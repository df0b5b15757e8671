"""`cordial read`: readings out of logs that other tools write."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cordial_ppl.cli.messages import count, say, working
from cordial_ppl.cli.options import Json, Options, Quiet, Reader, Task, split_options
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
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="Table of readings (.csv, .parquet, .jsonl)."
        ),
    ] = None,
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
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a table of readings, and of labels, from a log of another tool."""
    from cordial_ppl.cli.output import check_output, show_json
    from cordial_ppl.errors import naming
    from cordial_ppl.formats import collect, find_format
    from cordial_ppl.formats.answers import as_pattern
    from cordial_ppl.scale import Scale
    from cordial_ppl.tables import write_table

    names = split_options(options)
    scale = None if names is None else Scale(names)
    spellings, pattern = _spellings(spell), as_pattern(after)
    written = [path for path in (out, labels) if path is not None]
    if not written:
        raise InputError("say what to write: readings (-o OUT), labels (--labels LABELS) or both.")
    for path in written:
        check_output(path, [source])
    if len(written) == 2 and written[0].absolute() == written[1].absolute():
        raise InputError(f"readings and labels are two tables; both would be {out}.")
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
            labels=labels is not None,
        )
        if labels is not None and not collected.labels["item_id"]:
            raise InputError("there are no labels in it; leave --labels out.")
        if out is not None and not len(collected):
            raise InputError("there are labels in it but no readings; leave -o out.")
    if out is not None:
        write_table(out, collected.readings)
    if labels is not None:
        write_table(labels, collected.labels)
    if json:
        return show_json(_as_json(collected, found.name))
    for text in collected.explained:
        typer.echo(_explain(text, collected))
    if not quiet:
        _report(collected, found.name, out, labels)
    _warn(collected)


def _spellings(given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given or []:
        option, equals, spelling = text.partition("=")
        if not (option.strip() and equals and spelling.strip()):
            raise InputError(f"--spell must be OPTION=TEXT, such as 1=A; found {text!r}.")
        found[spelling] = option.strip()
    return found


def _report(found: "Collected", name: str, out: Path | None, labels: Path | None) -> None:
    """Say what was read."""
    if out is not None:
        say(f"{count(len(found), 'reading')} of {', '.join(found.options)} ({name}) in {out}")
    if labels is not None:
        say(f"{count(len(found.labels['item_id']), 'label')} ({name}) in {labels}")
    if found.unnamed:
        say("the log does not name its texts: item_id is their order, from 0")
    if found.floored:
        places = ", ".join(f"{name} in {number}" for name, number in found.floored.items())
        say(
            "options that were not returned got the smallest log-probability that was: "
            f"{places} of {count(len(found), 'text')}"
        )


def _warn(found: "Collected") -> None:
    """Say what deserves a look."""
    if found.unread:
        rest = f" and {len(found.unread) - 3} more" if len(found.unread) > 3 else ""
        say(
            f"warning: {count(len(found.unread), 'answer')} that name no option are left out: "
            f"{', '.join(found.unread[:3])}{rest}"
        )
    if found.unread_samples:
        say(f"warning: {count(found.unread_samples, 'sample')} that name no option are not counted")
    if found.guessed:
        say(
            f"warning: in {count(found.guessed, 'text')} the first token had to speak for an "
            "option of several, or for options that begin alike"
        )
    if found.lone:
        say(
            f"warning: in {count(found.lone, 'text')} a single option was returned, and the others "
            "share what it leaves. Ask for more alternatives (top_logprobs) if the log has few."
        )
    if found.share < SHARE:
        say(
            f"warning: the options have {found.share:.2f} of the probability on average; the rest "
            "goes to other tokens. Does the model write the options otherwise (--spell)?"
        )


def _as_json(found: "Collected", name: str) -> dict[str, Any]:
    """All of it for programs."""
    return {
        "format": name,
        "options": list(found.options),
        "readings": len(found),
        "labels": len(found.labels["item_id"]),
        "unread": found.unread,
        "unread_samples": found.unread_samples,
        "floored": dict(found.floored),
        "guessed": found.guessed,
        "lone": found.lone,
        "share": None if math.isnan(found.share) else found.share,
        "unnamed": found.unnamed,
        "explained": [
            {"item_id": text.item_id, "place": text.place, "parts": _parts(text, found.options)}
            for text in found.explained
        ],
    }


def _parts(text: "Explained", options: tuple[str, ...]) -> dict[str, Any] | None:
    if text.reading is None:
        return None
    return {option: dict(text.reading.parts[k]) for k, option in enumerate(options)}


def _explain(text: "Explained", found: "Collected") -> str:
    """Which tokens fed which option, a line an option."""
    lines = [f"{text.item_id} ({text.place})"]
    if text.reading is None:
        return f"{lines[0]}: names no option"
    width = max(map(len, found.options))
    for k, option in enumerate(found.options):
        parts = ", ".join(f"{word!r} {score:.4g}" for word, score in text.reading.parts[k])
        note = " (first token only)" if k in text.reading.guessed else ""
        words = parts or ("the smallest returned" if k in text.reading.floored else "nothing")
        lines.append(f"  {option:>{width}} {text.reading.values[k]:10.4f}  {words}{note}")
    return "\n".join(lines)

"""What `cordial read` and `cordial ask` say of readings: what was read, what deserves a look."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cordial_ppl.cli.messages import count, say
from cordial_ppl.cli.output import show_table
from cordial_ppl.errors import InputError
from cordial_ppl.logs import Collected, Explained
from cordial_ppl.logs.answers import LOST, SOURCES
from cordial_ppl.logs.reading import Reading

WIDTH = 32
"""Characters of a cell that is shown."""

SHARE = 0.5
"""Probability of the options below which the reader mostly says something else."""

DOUBTS = {
    "unread": ("sample", "{} without an option not counted"),
    "dropped": ("answer", "{} without an option in some order of the options: position effects do "
    "not cancel there"),
    "guessed": ("text", "{} in which the first token had to stand for an option of several tokens, "
    "or for options that begin alike"),
    "lone": ("text", "{} with a single option returned; the others share what it leaves. Ask for "
    "more alternatives (top_logprobs) if the log has few."),
}  # fmt: skip
"""Attributes of readings that deserve a look, and how they are told."""


def read_spellings(spellings: list[str] | None) -> dict[str, str]:
    """Read what --spell says: options by the texts that mean them."""
    options: dict[str, str] = {}
    for text in spellings or []:
        option, equals, spelling = text.partition("=")
        if not (option.strip() and equals and spelling.strip()):
            raise InputError(f"--spell must be OPTION=TEXT, such as 1=A; found {text!r}.")
        options[spelling] = option.strip()
    return options


def report(
    table: Collected, name: str, out: Path | None, labels: Path | None, dry_run: bool = False
) -> None:
    """Say what was read, and where it is written."""
    if out is not None or dry_run and len(table):
        where = "would be written" if dry_run else f"in {out}"
        say(f"{count(len(table), 'reading')} of {', '.join(table.options)} ({name}) {where}")
    if labels is not None or dry_run and table.labels["item_id"]:
        where = "would be written" if dry_run else f"in {labels}"
        say(f"{count(len(table.labels['item_id']), 'label')} ({name}) {where}")
    if places := _tell(table, SOURCES):
        say(f"answers found: {', '.join(places)}")
    if table.unnamed:
        say("the log does not name its texts: item_id is their order, from 0 (--item names them)")
    if table.between:
        number = count(table.between, "label")
        say(f"{number} between two options, written as they are: see --round of cordial calibrate")
    if table.floored:
        places = ", ".join(f"{name} in {number}" for name, number in table.floored.items())
        say(
            "options that were not returned got the smallest log-probability that was: "
            f"{places} of {count(len(table), 'text')}"
        )


def warn(table: Collected) -> None:
    """Say what deserves a look."""
    # Those of a file have been told when it was read.
    for words in table.doubts if table.form is None else ():
        say(f"warning: {words}")
    if table.pooled and table.form and table.form.namings:
        texts = "1 text has" if table.pooled == 1 else f"{table.pooled} texts have"
        say(
            f"warning: {texts} several rows, which count as answers to one question. If they "
            "are of different texts, name what tells these apart: --item FIELD,FIELD. If a row is "
            "of one person's label, name the person: --annotator FIELD"
        )
    graders = [name for name, graded in table.scored.items() if graded]
    if scores := graders or (list(table.scored) if table.unread else []):
        say(
            "warning: these are the answers of the model that was tested; the scores that they got "
            f"are read by --score {' or '.join(scores)}."
        )
    for name, (noun, words) in DOUBTS.items():
        if number := table.count(name):
            say(f"warning: {words.format(count(number, noun))}")
    if lost := _tell(table, LOST):
        say(
            f"warning: of the answers without an option {' and '.join(lost)}. --after says what "
            "answers follow, --spell how options are written."
        )
    remedy = table.form.remedy if table.form else ""
    if table.hard and remedy and len(table):
        say(
            "warning: the log has no log-probabilities: every reading is a single answer, which "
            f"says much less. Ask for them: {remedy}."
        )
    if table.share < SHARE:
        say(
            f"warning: the options have {table.share:.2f} of the probability on average; the rest "
            "goes to other tokens. Does the model write the options otherwise (--spell)?"
        )


def _tell(table: Collected, words: dict[str, str]) -> list[str]:
    return [
        f"{table.answers[key]} {phrase}" for key, phrase in words.items() if key in table.answers
    ]


def as_json(table: Collected, name: str) -> dict[str, Any]:
    """All of it for programs."""
    explained = [
        {
            "item_id": text.item_id,
            "place": text.location,
            # Lists, for the answers to one prompt may have the same tokens.
            "orders": [
                order and dict(zip(table.options, order.parts, strict=True))
                for order in _orders(text)
            ],
        }
        for text in table.explained
    ]
    return {
        "format": name,
        "options": list(table.options),
        "readings": len(table),
        "labels": len(table.labels["item_id"]),
        "answers": dict(table.answers),
        "unread_samples": table.count("unread"),
        **{name: table.count(name) for name in ("several", "dropped", "guessed", "lone")},
        **{
            name: getattr(table, name)
            for name in ("unread", "failed", "pooled", "unnamed", "scored")
        },
        "floored": dict(table.floored),
        "share": None if math.isnan(table.share) else table.share,
        "explained": explained,
    }


def show_rows(table: Collected, number: int) -> None:
    """Print the first texts as they are read: a row each, of those that are there."""
    tasks = table.labels.get("task", [None] * len(table.labels["item_id"]))
    labels: dict[tuple[str, str | None], str] = {}
    for *key, label in zip(table.labels["item_id"], tasks, table.labels["label"], strict=True):
        previous = labels.get((key[0], key[1]))
        labels[key[0], key[1]] = label if previous is None else f"{previous}, {label}"
    rows = [
        {
            "item_id": text.item_id,
            "reader": text.reader,
            "task": text.task,
            "answer": text.beginning,
            **_values(text, table.options),
            "label": labels.get((text.item_id, text.task), labels.get((text.item_id, None))),
        }
        for text in table.explained[:number]
    ] or [
        {"item_id": item, "task": task, "label": label}
        for (item, task), label in list(labels.items())[:number]
    ]
    header = [name for name in dict.fromkeys(chain(*rows)) if any(row.get(name) for row in rows)]
    cells = [[_one_line(row.get(name)) for name in header] for row in rows]
    show_table(f"The first {count(len(rows), 'row')} as they are read", header, cells)


def _one_line(cell: object) -> str:
    text = " ".join(str(cell or "").split())
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def _values(text: Explained, options: Sequence[str]) -> dict[str, str]:
    if text.reading is None:
        return dict.fromkeys(options, "-")
    return {o: f"{value:.4g}" for o, value in zip(options, text.reading.values, strict=True)}


def _orders(text: Explained) -> tuple[Reading | None, ...]:
    """What a text's reading is made of: one reading, or one for each order of the options."""
    return tuple((text.reading and text.reading.orders) or (text.reading,))


def explain_text(text: Explained, options: Sequence[str]) -> str:
    """Which tokens fed which option, a line an option; in every order, if there are several."""
    name, orders = f"{text.item_id} ({text.location})", _orders(text)
    if text.reading is None:
        return f"{name}: no option"
    if len(orders) == 1:
        return "\n".join([name, *_lines(text.reading, options)])
    lines = [f"{name}: the mean of {len(orders)} orders"]
    for number, order in enumerate(orders, start=1):
        lines.append(f"  order {number}" + ("" if order else ": no option"))
        lines += _lines(order, options) if order else []
    return "\n".join(lines)


def _lines(reading: Reading, options: Sequence[str]) -> Iterator[str]:
    width = max(map(len, options))
    for k, option in enumerate(options):
        parts = ", ".join(f"{word!r} {score:.4g}" for word, score in reading.parts[k])
        note = " (first token only)" if k in reading.guessed else ""
        words = parts or ("the smallest returned" if k in reading.floored else "nothing")
        yield f"  {option:>{width}} {reading.values[k]:10.4f}  {words}{note}"

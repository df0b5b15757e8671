"""What `cordial read` and `cordial ask` say of readings: what was read, what deserves a look."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from cordial_ppl.cli.output import as_table
from cordial_ppl.cli.records import split_pairs
from cordial_ppl.errors import count
from cordial_ppl.logs import Collected, Explained
from cordial_ppl.logs.answers import LOST, SOURCES
from cordial_ppl.logs.reading import Reading

WIDTH = 32
"""Characters of a cell that is shown."""

SHARE = 0.5
"""Probability of the options below which the judge mostly says something else."""

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


def read_spellings(spellings: Sequence[str]) -> dict[str, str]:
    """Read what --spell says: options by the texts that mean them."""
    return {
        text: option
        for option, text in split_pairs("--spell", spellings, "OPTION=TEXT, such as 1=A", str)
    }


def describe(
    table: Collected, name: str, readings: str | None, labels: str | None = None
) -> Iterator[str]:
    """Say what was read.

    Args:
        table: The readings and labels.
        name: The format, or the model that was asked.
        readings: What became of the readings: "in out.csv"; None if nothing did.
        labels: The same of the labels.
    """
    number = len(table.labels["item_id"])
    if readings and len(table):
        options = ", ".join(table.options)
        yield f"{count(len(table), 'reading')} of {options} ({name}) {readings}"
        if table.extras:
            yield f"columns passed on: {', '.join(table.extras)}"
    if labels and number:
        yield f"{count(number, 'label')} ({name}) {labels}"
    if sources := _tell(table, SOURCES):
        yield f"answers found: {', '.join(sources)}"
    if table.unnamed:
        yield "the log does not name its texts: item_id is their order, from 0 (--item names them)"
    if table.between:
        between = count(table.between, "label")
        yield f"{between} between two options, written as they are: see --round"
    if table.floored:
        floored = ", ".join(f"{name} in {number}" for name, number in table.floored.items())
        yield (
            "options that were not returned got the smallest log-probability that was: "
            f"{floored} of {count(len(table), 'text')}"
        )


def list_doubts(table: Collected) -> Iterator[str]:
    """Say what deserves a look."""
    # Those of a file have been told when it was read.
    if table.form is None:
        yield from table.doubts
    if table.pooled and table.form and table.form.namings:
        texts = "1 text has" if table.pooled == 1 else f"{table.pooled} texts have"
        yield (
            f"{texts} several rows, which count as answers to one question. If they are of "
            "different texts, name what tells these apart: --item FIELD,FIELD. If a row is of one "
            "person's label, name the person: --annotator FIELD"
        )
    graders = [name for name, graded in table.scored.items() if graded]
    if scores := graders or (list(table.scored) if table.unread else []):
        yield (
            "these are the answers of the model that was tested; the scores that they got are read "
            f"by --score {' or '.join(scores)}."
        )
    for name, (noun, words) in DOUBTS.items():
        if number := table.count(name):
            yield words.format(count(number, noun))
    if lost := _tell(table, LOST):
        yield (
            f"of the answers without an option {' and '.join(lost)}. --after says what answers "
            "follow, --spell how options are written."
        )
    remedy = table.form.remedy if table.form else ""
    if table.hard and remedy and len(table):
        yield (
            "the log has no log-probabilities: every reading is a single answer, which says much "
            f"less. Ask for them: {remedy}."
        )
    if table.share < SHARE:
        yield (
            f"the options have {table.share:.2f} of the probability on average; the rest goes to "
            "other tokens. Does the model spell the options another way (--spell)?"
        )


def _tell(table: Collected, words: dict[str, str]) -> list[str]:
    return [
        f"{table.answers[key]} {phrase}" for key, phrase in words.items() if key in table.answers
    ]


def as_json(table: Collected, name: str) -> dict[str, Any]:
    """Return all of it for programs."""
    options = table.options
    explained = [
        {
            "item_id": text.item_id,
            "place": text.location,
            # Lists, for the answers to one prompt may have the same tokens.
            "orders": [o and dict(zip(options, o.parts, strict=True)) for o in _orders(text)],
        }
        for text in table.explained
    ]
    counted = ("several", "dropped", "guessed", "lone")
    kept = ("unread", "failed", "pooled", "unnamed", "scored")
    return {
        "format": name,
        "options": list(options),
        "readings": len(table),
        "labels": len(table.labels["item_id"]),
        "answers": dict(table.answers),
        "unread_samples": table.count("unread"),
        **{name: table.count(name) for name in counted},
        **{name: getattr(table, name) for name in kept},
        "floored": dict(table.floored),
        "share": None if math.isnan(table.share) else table.share,
        "explained": explained,
    }


def set_out(table: Collected, number: int) -> str:
    """Set out the first texts as they are read: a row each, of those that are there."""
    tasks = table.labels.get("task", [None] * len(table.labels["item_id"]))
    labels: dict[tuple[str, str | None], str] = {}
    for item, task, label in zip(
        table.labels["item_id"], tasks, table.labels["label"], strict=True
    ):
        labels[item, task] = ", ".join(filter(None, (labels.get((item, task)), label)))
    rows = [
        {
            "item_id": text.item_id,
            "reader": text.reader,
            "task": text.task,
            "answer": text.beginning,
            **_values(text, table.options),
            "label": labels.get((text.item_id, text.task), labels.get((text.item_id, None))),
        }
        for text in table.explained
    ] or [{"item_id": item, "task": task, "label": label} for (item, task), label in labels.items()]
    rows = rows[:number]
    header = [name for name in dict.fromkeys(chain(*rows)) if any(row.get(name) for row in rows)]
    cells = [[_one_line(row.get(name)) for name in header] for row in rows]
    return as_table(f"The first {count(len(rows), 'row')} as they are read", header, cells)


def _one_line(cell: object) -> str:
    text = " ".join(str(cell or "").split())
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def _values(text: Explained, options: Sequence[str]) -> dict[str, str]:
    if text.reading is None:
        return dict.fromkeys(options, "-")
    return {o: f"{value:.4g}" for o, value in zip(options, text.reading.values, strict=True)}


def _orders(text: Explained) -> tuple[Reading | None, ...]:
    """List what a text's reading is made of: itself, or one for each order of the options."""
    return tuple((text.reading and text.reading.orders) or (text.reading,))


def explain_text(text: Explained, options: Sequence[str]) -> str:
    """Say which tokens fed which option, a line an option; in every order of the options."""
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

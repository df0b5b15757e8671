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


def read_spellings(given: list[str] | None) -> dict[str, str]:
    """Read what --spell says: options by the texts that mean them."""
    found: dict[str, str] = {}
    for text in given or []:
        option, equals, spelling = text.partition("=")
        if not (option.strip() and equals and spelling.strip()):
            raise InputError(f"--spell must be OPTION=TEXT, such as 1=A; found {text!r}.")
        found[spelling] = option.strip()
    return found


def report(
    found: Collected, name: str, out: Path | None, labels: Path | None, dry_run: bool = False
) -> None:
    """Say what was read, and where it is written."""
    if out is not None or dry_run and len(found):
        where = "would be written" if dry_run else f"in {out}"
        say(f"{count(len(found), 'reading')} of {', '.join(found.options)} ({name}) {where}")
    if labels is not None or dry_run and found.labels["item_id"]:
        where = "would be written" if dry_run else f"in {labels}"
        say(f"{count(len(found.labels['item_id']), 'label')} ({name}) {where}")
    if places := _tell(found, SOURCES):
        say(f"answers found: {', '.join(places)}")
    if found.unnamed:
        say("the log does not name its texts: item_id is their order, from 0 (--item names them)")
    if found.between:
        number = count(found.between, "label")
        say(f"{number} between two options, written as they are: see --round of cordial calibrate")
    if found.floored:
        places = ", ".join(f"{name} in {number}" for name, number in found.floored.items())
        say(
            "options that were not returned got the smallest log-probability that was: "
            f"{places} of {count(len(found), 'text')}"
        )


def warn(found: Collected) -> None:
    """Say what deserves a look."""
    # Those of a file have been told when it was read.
    for words in found.doubts if found.form is None else ():
        say(f"warning: {words}")
    if found.pooled and found.form and found.form.namings:
        texts = "1 text has" if found.pooled == 1 else f"{found.pooled} texts have"
        say(
            f"warning: {texts} several rows, which count as answers to one question. If they "
            "are of different texts, name what tells these apart: --item FIELD,FIELD. If a row is "
            "of one person's label, name the person: --annotator FIELD"
        )
    graders = [name for name, graded in found.scored.items() if graded]
    if scores := graders or (list(found.scored) if found.unread else []):
        say(
            "warning: these are the answers of the model that was tested; the scores that they got "
            f"are read by --score {' or '.join(scores)}."
        )
    for name, (noun, words) in DOUBTS.items():
        if number := found.count(name):
            say(f"warning: {words.format(count(number, noun))}")
    if lost := _tell(found, LOST):
        say(
            f"warning: of the answers without an option {' and '.join(lost)}. --after says what "
            "answers follow, --spell how options are written."
        )
    remedy = found.form.remedy if found.form else ""
    if found.hard and remedy and len(found):
        say(
            "warning: the log has no log-probabilities: every reading is a single answer, which "
            f"says much less. Ask for them: {remedy}."
        )
    if found.share < SHARE:
        say(
            f"warning: the options have {found.share:.2f} of the probability on average; the rest "
            "goes to other tokens. Does the model write the options otherwise (--spell)?"
        )


def _tell(found: Collected, words: dict[str, str]) -> list[str]:
    return [f"{found.answers[key]} {told}" for key, told in words.items() if key in found.answers]


def as_json(found: Collected, name: str) -> dict[str, Any]:
    """All of it for programs."""
    explained = [
        {
            "item_id": text.item_id,
            "place": text.place,
            # Lists, for the answers to one prompt may have the same tokens.
            "orders": [
                order and dict(zip(found.options, order.parts, strict=True))
                for order in _orders(text)
            ],
        }
        for text in found.explained
    ]
    return {
        "format": name,
        "options": list(found.options),
        "readings": len(found),
        "labels": len(found.labels["item_id"]),
        "answers": dict(found.answers),
        "unread_samples": found.count("unread"),
        **{name: found.count(name) for name in ("several", "dropped", "guessed", "lone")},
        **{
            name: getattr(found, name)
            for name in ("unread", "failed", "pooled", "unnamed", "scored")
        },
        "floored": dict(found.floored),
        "share": None if math.isnan(found.share) else found.share,
        "explained": explained,
    }


def show_rows(found: Collected, number: int) -> None:
    """Print the first texts as they are read: a row each, of those that are there."""
    tasks = found.labels.get("task", [None] * len(found.labels["item_id"]))
    labels: dict[tuple[str, str | None], str] = {}
    for *key, label in zip(found.labels["item_id"], tasks, found.labels["label"], strict=True):
        known = labels.get((key[0], key[1]))
        labels[key[0], key[1]] = label if known is None else f"{known}, {label}"
    rows = [
        {
            "item_id": text.item_id,
            "reader": text.reader,
            "task": text.task,
            "answer": text.said,
            **_values(text, found.options),
            "label": labels.get((text.item_id, text.task), labels.get((text.item_id, None))),
        }
        for text in found.explained[:number]
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
    name, orders = f"{text.item_id} ({text.place})", _orders(text)
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

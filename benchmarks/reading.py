"""How many judgments are read right, left out, and read wrong.

The judgments, in the manner of ten families of judges, are in `judgments.toml`, each with its right
answer.  Wrong is an option other than that one; it is warned of if the judgment announces several.
"""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from measurement import Line, Measurement, Row, list_records, split

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.finder import Finder
from cordial_ppl.logs.spellings import Spellings

FILE = Path(__file__).parent / "judgments.toml"
STARS = "1,2,3,4,5"
ANSWERS = ("answer set apart", "answer in prose", "no answer on the scale")
OUTCOMES = ("right", "left out", "rightly left out", "wrong, warned of", "WRONG")


class Judgment(NamedTuple):
    """In whose manner, what a judge wrote, the options, the right one if any, and whether apart."""

    family: str
    text: str
    scale: tuple[str, ...]
    answer: str | None
    explicit: bool


def judgments(path: Path = FILE) -> list[Judgment]:
    """Load the judgments."""
    with path.open("rb") as file:
        families = tomllib.load(file)
    return [
        Judgment(
            family,
            row["text"],
            tuple(row.get("scale", STARS).split(",")),
            None if row["answer"] == "none" else row["answer"],
            row["explicit"],
        )
        for family, rows in families.items()
        for row in rows
    ]


def outcome(judgment: Judgment) -> str:
    """Read a judgment, and say how that went: one of `OUTCOMES`."""
    span = Finder(Spellings(Scale(judgment.scale))).find(judgment.text)
    answer = None if span.option is None else judgment.scale[span.option]
    if answer == judgment.answer:
        return "right" if answer else "rightly left out"
    if answer is None:
        return "left out"
    return "wrong, warned of" if span.several else "WRONG"


def run(draw: int) -> Iterator[Line]:
    """Read all."""
    for judgment in judgments():
        how, answer = outcome(judgment), 2 if judgment.answer is None else not judgment.explicit
        told = dict.fromkeys(OUTCOMES, 0) | {how: 1}
        yield {"answer": ANSWERS[answer]} | told


def tabulate(rows: Sequence[Row]) -> Iterator[Line]:
    """Count how judgments are read, by the kind of their answer."""
    for line, some in split(list_records(rows), ["answer"], pooled=["answer"]):
        counts = {how: sum(each[how] for each in some) for how in OUTCOMES}
        yield line | {"judgments": len(some)} | counts


MEASUREMENTS = (Measurement("reading", lambda draw: [()], run, tabulate, 1, needs_data=False),)

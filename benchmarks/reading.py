"""How many judgments are read right, left out, and read wrong.

The judgments, in the manner of ten families of judges, are in `judgments.toml`, each with its right
answer.  Wrong is an option other than that one; it is warned of if the judgment announces several.

    python benchmarks/reading.py
    python benchmarks/reading.py --show

Prints a table.
"""

import argparse
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cordial_ppl.data.scale import Scale
from cordial_ppl.logs.finder import Finder
from cordial_ppl.logs.spellings import Spellings

FILE = Path(__file__).parent / "judgments.toml"
STARS = "1,2,3,4,5"
ANSWERS = ("answer set apart", "answer in prose", "no answer on the scale")
OUTCOMES = ("right", "left out", "rightly left out", "wrong, warned of", "WRONG")


class Judgment(NamedTuple):
    """A judgment.

    Attributes:
        family: Whose manner it is in.
        text: What the judge wrote.
        scale: The options.
        answer: The right one; None if there is none.
        explicit: Whether it is set apart from prose.
    """

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


def main() -> None:
    """Read all, and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--show", action="store_true", help="show those that are not read right")
    args = parser.parse_args()
    every = judgments()
    families = dict.fromkeys(judgment.family for judgment in every)
    groups = {name: Counter() for name in (*families, *ANSWERS, "all")}
    for judgment in every:
        how = outcome(judgment)
        answer = ANSWERS[2 if judgment.answer is None else not judgment.explicit]
        for name in (judgment.family, answer, "all"):
            groups[name][how] += 1
        if args.show and "right" not in how:
            print(f"--- {how}; expected {judgment.answer}\n{judgment.text}\n")
    print(f"{'':24s}" + _row(OUTCOMES))
    for name, counts in groups.items():
        print(f"{name:24s}" + _row(counts[name] for name in OUTCOMES))


def _row(cells: Iterable[object]) -> str:
    return "".join(f"{cell:>18}" for cell in cells)


if __name__ == "__main__":
    main()

"""What a log gave: tables, and what is to be said of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from cordial_ppl.data.readings import (
    as_logits,
    readings_from_counts,
    readings_from_probabilities,
)
from cordial_ppl.errors import InputError, SettingNeeded, list_names
from cordial_ppl.logs.evidence import GRADER, as_text
from cordial_ppl.logs.reading import Reading
from cordial_ppl.tables import MADE
from cordial_ppl.tables.columns import is_reading

if TYPE_CHECKING:
    from cordial_ppl.logs.format import Format

NAMES = ("item_id", "reader", "task", *(f"reader_{name}" for name in MADE))
"""Columns beside the readings."""

PLURAL = {"reader": "judges", "task": "tasks"}
"""What messages call the values of a column."""

LONGEST, MOST = 200, 40
"""Characters of a cell, and number of columns, that are passed on at most."""


class Explained(NamedTuple):
    """A text whose reading is explained.

    Attributes:
        item_id: The text.
        location: Where the log has it.
        reading: Its reading; None if its answer names no option.
        reader: Who read it.
        task: What was asked.
        beginning: The beginning of the answer.
    """

    item_id: str
    location: str
    reading: Reading | None
    reader: str | None = None
    task: str | None = None
    beginning: str = ""


@dataclass(repr=False)
class Collected:
    """What a log gave.

    Attributes:
        options: The options in order; none if the log holds labels alone and nobody named them.
        rows: What each reading is of and who made it (`NAMES`), in the order of the log.
        values: The readings.
        cells: The other fields of their rows, by name.
        labels: The columns of a table of labels; no rows if the log has none.
        explained: The first texts.
        unread: Places of the answers that name no option.
        failed: Requests without an answer: their places, and what the log says of them.
        answers: Number of answers by where they stand in a text (`answers.SOURCES`), or by why
            they name no option (`answers.LOST`).
        beginning: The first answer that names no option.
        pooled: Number of texts whose answers stand in several rows.
        between: Number of labels between two options.
        scored: Scores that the log has beside the answers, each with whether a model gave it.
        people: Number of texts by what says that a person gave an answer.
        unnamed: Whether texts are named by their order.
        hard: Whether every reading is one answer without log-probabilities.
        form: The format of the file, if it is one.
    """

    options: tuple[str, ...] = ()
    rows: list[tuple[str | None, ...]] = field(default_factory=list)
    values: list[Reading] = field(default_factory=list)
    cells: list[Mapping[str, Any]] = field(default_factory=list)
    labels: dict[str, Any] = field(default_factory=dict)
    explained: list[Explained] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    beginning: str = ""
    pooled: int = 0
    between: int = 0
    scored: dict[str, bool] = field(default_factory=dict)
    people: Counter[str | None] = field(default_factory=Counter)
    unnamed: bool = False
    hard: bool = True
    form: "Format | None" = None

    def __len__(self) -> int:
        """Count the readings."""
        return len(self.values)

    def __repr__(self) -> str:
        """Say in a line what was read."""
        labels = len(self.labels.get("item_id", ()))
        left = len(self.unread) + len(self.failed)
        options = ", ".join(self.options)
        return f"<{len(self)} readings of {options}; {labels} labels; {left} rows left out>"

    @property
    def doubts(self) -> list[str]:
        """List what was left out, with the first places, and what could be wrong, in words."""
        doubts = []
        first = f"; the first says {self.beginning}" if self.beginning else ""
        graders = [row for row in self.failed if GRADER in row]
        others = [row for row in self.failed if GRADER not in row]
        for noun, words, places, end in (
            ("score", "of a grader that failed", graders, ""),
            ("row", "without an answer", others, ""),
            ("answer", "without an option", self.unread, first),
        ):
            if places:
                rest = f" and {len(places) - 3} more" if len(places) > 3 else ""
                shown = f"{', '.join(places[:3])}{rest}{end}"
                doubts.append(f"{_count(len(places), noun)} {words} left out: {shown}")
        if several := self.count("several"):
            doubts.append(
                f"{_count(several, 'answer')} announcing several options, as after a change of "
                "mind: the last one counts. For another, give the pattern before it (after)"
            )
        for person, number in (+self.people).items():
            leave = str(person).replace("=", "!=", 1)
            doubts.append(
                f"{_count(number, 'text')} with answers by people ({person}) read as the judge's. "
                f"Leave them out with where '{leave}', or read them as labels with where '{person}'"
            )
        return doubts

    @cached_property
    def extras(self) -> dict[str, list[Any]]:
        """Return the other columns of the log that are passed on, with None for a missing cell.

        They are those without a long text, `LONGEST`, that do not repeat the labels, and at most
        the first `MOST`. A name that has a meaning in the table of readings gets `input_` before
        it.
        """
        fields = dict.fromkeys(name for row in self.cells for name in row)
        columns = {name: [row.get(name) for row in self.cells] for name in fields}
        short = [n for n, cells in columns.items() if all(len(str(c)) <= LONGEST for c in cells)]
        labels = dict(
            zip(*(self.labels.get(name, ()) for name in ("item_id", "label")), strict=True)
        )
        rows = [(row, labels[key[0]]) for row, key in enumerate(self.rows) if key[0] in labels]
        if rows:
            short = [n for n in short if any(as_text(columns[n][row]) != x for row, x in rows)]
        return {
            f"input_{name}" if name in NAMES or is_reading(name) else name: columns[name]
            for name in short[:MOST]
        }

    @cached_property
    def readings(self) -> dict[str, Any]:
        """Return the columns of a table of readings; none if the log holds labels alone."""
        if not self.values:
            return {}
        columns = dict(zip(NAMES, map(list, zip(*self.rows, strict=True)), strict=True))
        table = np.stack([reading.values for reading in self.values], axis=1)
        kind = self.values[0].kind
        columns = {name: cells for name, cells in columns.items() if set(cells) != {None}}
        return (
            columns
            | self.extras
            | {f"{kind}_{option}": row for option, row in zip(self.options, table, strict=True)}
        )

    @cached_property
    def logits(self) -> Float64[np.ndarray, "n K"]:
        """Return centred logits (nats), one row a reading, as other commands make them of a table.

        Raises:
            InputError: There are no readings, or one is not what its kind says.
        """
        if not self.values:
            raise InputError("the log holds labels but no readings.")
        table = np.stack([reading.values for reading in self.values])
        kind = self.values[0].kind
        made = {"p": readings_from_probabilities, "n": readings_from_counts}
        return as_logits(made[kind](table) if kind in made else table)

    @property
    def labelled(self) -> tuple[Float64[np.ndarray, "n K"], list[str]]:
        """Return the logits of the labelled texts and their labels, in the order of the readings.

        Raises:
            InputError: There are no labels, several readers or several tasks.
        """
        for name in PLURAL:
            names = sorted(set(map(str, self.readings.get(name, ()))))
            if len(names) > 1:
                raise SettingNeeded(
                    f"the log holds {len(names)} {PLURAL[name]}: {list_names(names)}.",
                    "Choose one, for example",
                    name,
                    names[0],
                )
        labels = dict(zip(self.labels["item_id"], self.labels["label"], strict=True))
        rows = [i for i, item in enumerate(self.readings.get("item_id", ())) if item in labels]
        if not rows:
            raise InputError("the log holds no labels; name their field: label=FIELD.")
        return self.logits[rows], [labels[self.readings["item_id"][i]] for i in rows]

    @property
    def name(self) -> str:
        """Return the name of the format."""
        return self.form.name if self.form else ""

    @property
    def share(self) -> float:
        """Average the probability of all options together; NaN if unknown."""
        return float(np.mean([reading.share for reading in self.values] or [np.nan]))

    @property
    def floored(self) -> Counter[str]:
        """Count the texts by the option that had to be filled."""
        return Counter(self.options[k] for reading in self.values for k in reading.floored)

    def count(self, name: str) -> int:
        """Add up an attribute of the readings: "unread"; what is a list counts once a text."""
        values = (getattr(reading, name) for reading in self.values)
        return sum(number if isinstance(number, int) else bool(number) for number in values)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

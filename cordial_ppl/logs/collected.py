"""What a file gave: tables, and what is to be said of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.data.ratings import PSEUDO_COUNT
from cordial_ppl.data.readings import as_logits, readings_from_counts, readings_from_probabilities
from cordial_ppl.errors import InputError, SettingNeeded, count, list_names, naming, quote
from cordial_ppl.logs.evidence import (
    CUT,
    FAILED,
    FILTERED,
    NO_OPTION,
    REFUSED,
    Orders,
    Record,
    Scores,
)
from cordial_ppl.logs.masses import Reading
from cordial_ppl.logs.spellings import Spellings
from cordial_ppl.tables import MADE
from cordial_ppl.tables.columns import is_reading

NAMES = ("item_id", "reader", "task", *(f"reader_{name}" for name in MADE))
"""Columns beside the readings."""

WORDS = {
    CUT: ("row", "cut off at the token limit, {stays}: {}. Let the model write more tokens"),
    REFUSED: ("row", "refused by the model, {stays}: {}"),
    FILTERED: ("row", "blocked by the server's filter, {stays}: {}"),
    FAILED: ("row", "without an answer, or of a grader that failed, {stays}: {}"),
    "other": ("row", "with other options, or of another question, {stays}: {}"),
    "prose": ("answer", "without an option, {stays}: {}. --after says what answers follow, "
              "--spell how options are written"),
    "off": ("answer", "without a clear option, {stays}: {}. The last rating announced is not on "
            "the scale, or an option or a refusal follows it"),
    "thought": ("answer", "cut off within a thought, {stays}: {}"),
    "pooled": ("text", "with several rows, which count as answers to one question: {}. If they are "
               "of different texts, name what tells these apart: --item"),
    "unread": ("text", "in which sampled answers without an option are not counted: {}"),
    "dropped": ("text", "without an option in some order of the options, so that position effects "
                "do not cancel: {}"),
    "guessed": ("text", "in which a token is a part of an option, or may begin several: {}"),
    "lone": ("text", "with a single option returned: {}. Ask for more alternatives (top_logprobs)"),
    "beside": ("text", "with an answer that is no option, whose alternatives were read: {}. Are "
               "there more options?"),
    "several": ("text", "announcing several options, of which the last one counts: {}. See "
                "--after"),
}  # fmt: skip
"""What is told of rows, answers and texts, and of which."""

LOST: tuple[str, ...] = (CUT, REFUSED, FILTERED, FAILED)
REASONS = {"prose": NO_OPTION, "off": NO_OPTION, "thought": CUT, **{key: key for key in LOST}}
"""The word of the column `unread` for each reason why a text is not read."""


@dataclass(repr=False)
class Collected:
    """What a file gave.

    Attributes:
        spellings: How the options are written; None if the file holds labels alone.
        records: What each row of the table is of, in the order of the file.
        outcomes: The reading of each; or why it was not read, a key of `REASONS`.
        labelings: The records that hold labels.
        notes: Places of what is left out or deserves a look, by the keys of `WORDS`.
        kept: Places of what is kept without a reading, by the keys of `REASONS`.
        unnamed: Whether texts are named by their order.
        form: The preset.
    """

    spellings: Spellings | None = None
    records: list[Record] = field(default_factory=list)
    outcomes: list[Reading | str] = field(default_factory=list)
    labelings: list[Record] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    unnamed: bool = False
    form: str = ""

    def __len__(self) -> int:
        """Count the readings; texts that are kept without one do not count."""
        return len(self.values)

    @property
    def values(self) -> list[Reading]:
        """List the readings, in the order of the file."""
        return [one for one in self.outcomes if isinstance(one, Reading)]

    def __repr__(self) -> str:
        """Say in a line what was read."""
        left = sum(len(self.notes.get(key, ())) for key in (*REASONS, "other"))
        options, labels = ", ".join(self.options), len(self.labelings)
        kept = len(self.outcomes) - len(self)
        return (
            f"<{len(self)} readings of {options}; {kept} texts without a reading; {labels} labels; "
            f"{left} rows left out>"
        )

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options in order; none if the file holds labels alone."""
        return self.spellings.scale.options if self.spellings else ()

    def note(self, key: str, text: str, kept: bool = False) -> None:
        """Note what is to be told of a row or a text, and whether it stays without a reading."""
        (self.kept if kept else self.notes).setdefault(key, []).append(text)

    def keep(self, record: Record, outcome: Reading | str) -> None:
        """Add the reading of a record; or the record without one, and why."""
        self.records.append(record)
        self.outcomes.append(outcome)
        for doubt in outcome.doubts if isinstance(outcome, Reading) else ():
            self.note(doubt, record.item_id)

    @property
    def doubts(self) -> Iterator[str]:
        """List what was left out and what could be wrong, in words, with the first places."""
        for key, (noun, words) in WORDS.items():
            for notes, stays in (self.kept, "kept without a reading"), (self.notes, "left out"):
                if places := notes.get(key):
                    rest = f" and {len(places) - 3} more" if len(places) > 3 else ""
                    listed = f"{', '.join(places[:3])}{rest}"
                    yield f"{count(len(places), noun)} {words.format(listed, stays=stays)}"
        share = np.mean([reading.share for reading in self.values] or [np.nan])
        # The judge mostly says something else.
        if share < 0.5:
            yield (
                f"the options have {share:.2f} of the probability on average; the rest goes to "
                "other tokens. Does the model spell the options another way (--spell)?"
            )

    @property
    def floored(self) -> Counter[str]:
        """Count the texts by the option that had to be filled."""
        return Counter(self.options[k] for reading in self.values for k in reading.floored)

    @cached_property
    def table(self) -> tuple[str, Float64[np.ndarray, "n K"]]:
        """Return the kind of the readings and their numbers, [n, K], of the texts that were read.

        Raises:
            InputError: There are no readings.
        """
        if not self.values:
            raise InputError("the log holds labels but no readings.")
        kind, values = self.values[0].kind, np.stack([reading.values for reading in self.values])
        if kind == "n" and (values % 1).any():
            # Parts of a count are no counts: shares, with half a count for each option.
            kind, values = "p", values + PSEUDO_COUNT
            values = values / values.sum(axis=1, keepdims=True)
        return kind, values

    @cached_property
    def readings(self) -> dict[str, Any]:
        """Return the columns of a table of readings; none if the file holds labels alone.

        Texts that could not be read are rows with empty cells, and `unread` says why; there is no
        such column if all were read.

        Other fields of the rows are passed on: at most 40, none with a text of more than 200
        characters. A name that has a meaning in the table gets `input_` before it.
        """
        if not self.values:
            return {}
        rows = [(*record.key, *map(record.made.get, MADE)) for record in self.records]
        columns: dict[str, Any] = {
            name: [*cells]
            for name, cells in zip(NAMES, zip(*rows, strict=True), strict=True)
            if {*cells} != {None}
        }
        names = dict.fromkeys(name for record in self.records for name in record.extras)
        extras = {name: [record.extras.get(name) for record in self.records] for name in names}
        short = [n for n, cells in extras.items() if all(len(str(c)) <= 200 for c in cells)]
        for name in short[:40]:
            taken = name in (*NAMES, "unread") or is_reading(name)
            columns[f"input_{name}" if taken else name] = extras[name]
        reasons = [None if isinstance(o, Reading) else REASONS[o] for o in self.outcomes]
        (kind, values), read = self.table, [reason is None for reason in reasons]
        if all(read):
            named = zip(self.options, values.T, strict=True)
            return columns | {f"{kind}_{option}": column for option, column in named}
        for option, column in zip(self.options, values.T.tolist(), strict=True):
            cells = iter(column)
            columns[f"{kind}_{option}"] = [next(cells) if there else None for there in read]
        return columns | {"unread": reasons}

    @cached_property
    def labels(self) -> dict[str, list[Any]]:
        """Return the columns of a table of labels; no rows if the file has none.

        From a file with readings, those of texts in the table of readings, also of texts that
        could not be read. Who said it is the column
        `annotator` if several people labelled a text, else `user`.

        Raises:
            InputError: A label is no option, nor a number between two.
        """
        items, rows = {record.item_id for record in self.records}, dict[tuple, None]()
        for record in self.labelings:
            label = str(record.label).strip()
            if self.spellings is not None:
                with naming(record.location):
                    option = self.spellings.match(label)
                    _ = self.spellings.scale.locate([label]) if option is None else None
                label = label if option is None else self.options[option]
            if not items or record.item_id in items:
                rows[record.item_id, record.task, record.user, label] = None
        names, tasks, people, texts = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
        columns: dict[str, list[Any]] = {"item_id": names}
        if any(task is not None for task in tasks):
            columns["task"] = tasks
        if people and None not in people:
            alone = len(set(zip(names, tasks, strict=True))) == len(rows)
            columns["user" if alone else "annotator"] = people
        return columns | {"label": texts}

    @cached_property
    def logits(self) -> Float64[np.ndarray, "n K"]:
        """Return centred logits (nats) of the texts that were read, as other commands make them.

        Raises:
            InputError: There are no readings, or one is not what its kind says.
        """
        made = {"p": readings_from_probabilities, "n": readings_from_counts}
        kind, values = self.table
        return as_logits(made[kind](values) if kind in made else values)

    @property
    def labelled(self) -> tuple[Float64[np.ndarray, "n K"], list[str]]:
        """Return logits and labels of the labelled texts that were read, in the readings' order.

        Raises:
            InputError: There are no labels, or several of a text.
            SettingNeeded: There are several readers or several tasks.
        """
        for name in ("reader", "task"):
            names = sorted(set(map(str, self.readings.get(name, ()))))
            if len(names) > 1:
                problem = f"the log holds several {name}s: {list_names(names)}."
                raise SettingNeeded(problem, "Choose one, for example", name, names[0])
        labels = dict(zip(self.labels["item_id"], self.labels["label"], strict=True))
        if len(labels) < len(self.labels["label"]):
            problem = "the log holds several labels of a text: write them to a table, and fit with "
            raise InputError(f"{problem}`cordial calibrate`.")
        read = zip(self.records, self.outcomes, strict=True)
        items = [record.item_id for record, one in read if isinstance(one, Reading)]
        rows = [row for row, item in enumerate(items) if item in labels]
        if not rows:
            raise InputError("the log holds no labels; name their field: label=FIELD.")
        return self.logits[rows], [labels[items[row]] for row in rows]


def quote_beginning(record: Record) -> str:
    """Quote the beginning of a record's answer, for a message."""
    evidence: Any = record.evidence
    evidence = evidence.each[0] if isinstance(evidence, Orders) else evidence
    if isinstance(evidence, Scores):
        pairs = zip(evidence.options, evidence.values, strict=True)
        return quote(", ".join(f"{name}: {value:g}" for name, value in pairs))
    texts = [one.text or "".join(p.token for p in one.positions) for one in evidence]
    return list_names(texts, 3)

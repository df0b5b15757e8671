"""What a file gave: tables, and what is to be said of them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.data.ratings import PSEUDO_COUNT
from cordial_ppl.data.readings import as_logits
from cordial_ppl.errors import InputError, SettingNeeded, abridge, count, list_names, naming
from cordial_ppl.logs.evidence import CUT, FAILED, FILTERED, REFUSED, Reading, Record
from cordial_ppl.logs.spellings import Spellings
from cordial_ppl.tables import MADE
from cordial_ppl.tables.reading_table import CONVERSIONS

COLUMNS = ("item_id", "reader", "task", *(f"reader_{name}" for name in MADE))
"""Columns beside the readings."""

REASONS = {"prose": "no option", "off": "no option", "thought": CUT}
"""What the column `unread` calls reasons that have another name there."""

WORDS = {
    CUT: "row cut off at the token limit, {stays}: {}. Raise the model's token limit",
    REFUSED: "row refused by the model, {stays}: {}",
    FILTERED: "row blocked by the server's filter, {stays}: {}",
    FAILED: "row with no answer or a failed grader, {stays}: {}",
    "other": "row with different options or a different question, {stays}: {}",
    "prose": "answer naming no option, {stays}: {}. Use --after to specify the words before an "
    "answer, or --spell to specify how options are written",
    "off": "answer naming no clear option, {stays}: {}. The last rating is off the scale, "
    "cut off, or followed by another option or a refusal",
    "thought": "answer cut off during reasoning, {stays}: {}",
    "pooled": "text with several rows, counted as repeated answers to one question: {}. If the "
    "rows are different texts, use --item to name the fields that tell them apart",
    "unread": "text with some sampled answers that name no option and do not count: {}",
    "lone": "text with a score for only one option: {}. Request more alternatives (top_logprobs)",
    "several": "answer stating several options (the last one counts): {}. See --after",
}
"""What is told of rows, answers and texts."""


@dataclass(repr=False)
class Collected:
    """Readings and labels from a file.

    Attributes:
        spellings: How the options are written; None if the file has only labels.
        records: The source of each row of the table, in the order of the file.
        labelings: The records with labels.
        notes: Places of ignored or suspicious rows, by the keys of `WORDS`.
        kept: Places of rows that are kept without a reading, by the same keys.
        unnamed: Whether texts are numbered because the file does not name them.
        form: The preset.
    """

    spellings: Spellings | None = None
    records: list[Record] = field(default_factory=list)
    labelings: list[Record] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unnamed: bool = False
    form: str = ""

    def __len__(self) -> int:
        """Count the readings; texts that are kept without one do not count."""
        return len(self.values)

    def __repr__(self) -> str:
        """Say in a line what was read."""
        unread, labels = len(self.records) - len(self), len(self.labelings)
        scale = ", ".join(self.options)
        return f"<{len(self)} readings on the scale {scale}; {unread} unread; {labels} labels>"

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options in order; none if the file has only labels."""
        return self.spellings.scale.options if self.spellings else ()

    @property
    def read(self) -> list[Record]:
        """List the records that have a reading, in the order of the file."""
        return [one for one in self.records if isinstance(one.outcome, Reading)]

    @property
    def values(self) -> list[Any]:
        """List the readings, in the order of the file."""
        return [one.outcome for one in self.read]

    @property
    def doubts(self) -> Iterator[str]:
        """Describe ignored and suspicious rows, each with the first places."""
        for key, words in WORDS.items():
            for notes, stays in (self.kept, "kept without a reading"), (self.notes, "left out"):
                if places := notes.get(key):
                    noun, rule = words.split(" ", 1)
                    told = rule.format(abridge(places, 3), stays=stays)
                    yield f"{count(len(places), noun)} {told}"
        share = np.mean([reading.share for reading in self.values] or [np.nan])
        # The judge mostly says something else.
        if share < 0.5:
            yield (
                f"on average, only {share:.2f} of the probability falls on the options; the rest "
                "falls on other tokens. If the model spells the options differently, use --spell."
            )

    @cached_property
    def table(self) -> tuple[str, Float64[np.ndarray, "n K"]]:
        """Return the kind of the readings and their numbers, [n, K], of the texts that were read.

        A probability of 0 is what rounding made of a small one.

        Raises:
            InputError: There are no readings, or they are of several kinds.
        """
        if not self.values:
            raise InputError("the log has labels but no readings.")
        kinds = sorted({reading.kind for reading in self.values})
        if len(kinds) > 1:
            raise InputError(
                f"readings must all be of the same kind; found {'_ and '.join(kinds)}_. Store "
                "log-probabilities for all answers or for none."
            )
        (kind,), values = kinds, np.stack([reading.values for reading in self.values])
        if kind == "p":
            # Each judge rounds in its own way.
            keys = np.array([repr(one.key[1:]) for one in self.read])
            for key in {*keys}:
                values[keys == key] = _fill_zeros(values[keys == key])
        if kind == "n" and (values % 1).any():
            # Parts of a count are no counts: shares, with half a count for each option.
            kind, values = "p", values + PSEUDO_COUNT
        return kind, values / values.sum(axis=1, keepdims=True) if kind == "p" else values

    @cached_property
    def readings(self) -> dict[str, list]:
        """Return the columns of a table of readings; none if the file holds labels alone.

        Texts that could not be read are rows with empty cells, and `unread` says why; there is no
        such column if all were read. Other fields of the rows are passed on, but for those with a
        text of more than 200 characters.
        """
        if not self.values:
            return {}
        kind, values = self.table
        cells, rows = iter(values.tolist()), []
        last = (*(f"{kind}_{option}" for option in self.options), "unread")
        for record in self.records:
            row = {**dict(zip(COLUMNS, record.key, strict=False)), **record.cells}
            if isinstance(record.outcome, Reading):
                rows.append(row | dict(zip(last, next(cells), strict=False)))
            else:
                rows.append(row | {"unread": REASONS.get(record.outcome, record.outcome)})
        names = dict.fromkeys(name for row in (COLUMNS, *rows) for name in row if name not in last)
        columns = {name: [row.get(name) for row in rows] for name in (*names, *last)}
        return {
            name: column
            for name, column in columns.items()
            if {*column} != {None}
            if name in (*COLUMNS, *last) or all(len(str(cell)) <= 200 for cell in column)
        }

    @cached_property
    def labels(self) -> dict[str, list[Any]]:
        """Return the columns of a table of labels; no rows if the file has none.

        From a file with readings, those of texts in the table of readings, read or not. Who said
        it is the column `annotator` if several people labelled a text, else `user`.

        Raises:
            InputError: A label is ambiguous or off the scale.
        """
        items, rows = {record.item_id for record in self.records}, dict[tuple, None]()
        told = [(record, str(record.label).strip()) for record in self.labelings]
        match = self.spellings.match if self.spellings else lambda _: None
        numbers = {label for _, label in told if match(label) is None}
        scale = self.spellings and self.spellings.scale.counted(numbers)
        for record, label in told:
            with naming(record.location):
                position = scale.locate([label])[0] if scale and label in numbers else match(label)
            label = label if position is None or position % 1 else self.options[int(position)]
            if not items or record.item_id in items:
                rows[record.item_id, record.task, record.user, label] = None
        texts, tasks, people, labels = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
        alone = len({*zip(texts, tasks, strict=True)}) == len(rows)
        user = {"user" if alone else "annotator": people} if all(people) and people else {}
        task = {"task": tasks} if any(tasks) else {}
        return {"item_id": texts, **task, **user, "label": labels}

    @cached_property
    def logits(self) -> Float64[np.ndarray, "n K"]:
        """Return centred logits (nats) of the texts that were read, as other commands make them.

        Raises:
            InputError: There are no readings, or one is not what its kind says.
        """
        kind, values = self.table
        return as_logits(CONVERSIONS[kind](values) if kind in CONVERSIONS else values)

    @property
    def labelled(self) -> tuple[Float64[np.ndarray, "n K"], list[str]]:
        """Return logits and labels of labelled texts with a reading, in the order of the readings.

        Raises:
            InputError: There are no labels, or several labels for one text.
            SettingNeeded: There are several judges or several tasks.
        """
        for name, noun in (("reader", "judge"), ("task", "task")):
            names = sorted(set(map(str, self.readings.get(name, ()))))
            if len(names) > 1:
                problem = f"the log has several {noun}s: {list_names(names)}."
                raise SettingNeeded(problem, "Choose one, for example", name, names[0])
        labels = dict(zip(self.labels["item_id"], self.labels["label"], strict=True))
        if len(labels) < len(self.labels["label"]):
            problem = "a text in the log has several labels. Write the labels to a table, and pass "
            raise InputError(f"{problem}it to `cordial calibrate`.")
        read = [one.item_id for one in self.read]
        rows = [row for row, item in enumerate(read) if item in labels]
        if not rows:
            raise InputError("no text with a reading has a label. Name the field: label=FIELD.")
        return self.logits[rows], [labels[read[row]] for row in rows]


def _fill_zeros(values: Float64[np.ndarray, "n K"]) -> Float64[np.ndarray, "n K"]:
    """Replace zeros among a judge's probabilities by half of the last digit that these show.

    They show two digits at least: files write .80 as .8.
    """
    digits = max(2, *(len(f"{p:.6f}".rstrip("0")) - 2 for p in values.flat))
    return np.where(values == 0, values[values > 0].min(initial=0.5 * 10.0**-digits), values)

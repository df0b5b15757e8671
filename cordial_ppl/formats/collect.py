"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.averaging import average
from cordial_ppl.formats.evidence import (
    Answers,
    Evidence,
    Numbers,
    Record,
    Sequences,
    Several,
    Tokens,
)
from cordial_ppl.formats.matching import (
    Reading,
    read_answers,
    read_numbers,
    read_sequences,
    read_tokens,
)
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.scale import Scale, SettingNeeded

Key = tuple[str, str | None, str | None]
"""A text, its reader and its task."""

NOUNS = {
    "logprob": "log-probabilities",
    "n": "answers without log-probabilities",
    "logit": "logits",
    "p": "probabilities",
}

MADE = ("model", "prompt", "decoding", "date")
"""What is known of how a reading was made; columns `reader_model`, ..."""


@dataclass(slots=True)
class Explained:
    """A text whose reading is explained.

    Attributes:
        item_id: The text.
        place: Where the log has it.
        reading: Its reading; None if there is none.
    """

    item_id: str
    place: str
    reading: Reading | None


@dataclass
class Collected:
    """What a log gave.

    Attributes:
        scale: The options.
        readings: The columns of a table of readings.
        labels: The columns of a table of labels; no rows if the log has none.
        explained: The first texts.
        unread: Places of the records that name no option.
        floored: Texts by the option that had to be filled.
        guessed: Number of texts in which the first token speaks for an option of several.
        share: Mean probability of all options together; NaN where it is unknown.
        unnamed: Whether texts are named by their order.
        unread_samples: Answers that name no option, among samples of which others do.
    """

    scale: Scale
    readings: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    explained: list[Explained] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    floored: Counter[str] = field(default_factory=Counter)
    guessed: int = 0
    share: float = np.nan
    unnamed: bool = False
    unread_samples: int = 0

    def __len__(self) -> int:
        """The number of readings."""
        return len(self.readings["item_id"])


def collect(
    records: Iterable[Record],
    *,
    scale: Scale | None = None,
    spellings: Mapping[str, str] | None = None,
    before: re.Pattern[str] | None = None,
    reverse: bool = False,
    task: str | None = None,
    reader: str | None = None,
    explain: int = 0,
) -> Collected:
    """Read every record of a log.

    Args:
        records: The records, which are taken one by one.
        scale: The options; by default those that the log itself names.
        spellings: Further ways to write an option: {"A": "1"}.
        before: What answers follow.
        reverse: Whether these options go from the last to the first.
        task: The task to take; by default all are kept.
        reader: The reader to take; by default all are kept.
        explain: How many texts to explain.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option, a text occurs twice, records are of
            different kinds or of different options, or a label is no option.
        SettingNeeded: The log does not name the options.
    """
    chosen = (
        record
        for record in records
        if task in (None, record.task) and reader in (None, record.reader)
    )
    first = next(chosen, None)
    if first is None:
        wanted = " and ".join(repr(name) for name in (task, reader) if name is not None)
        raise InputError(f"there is no reading{wanted and ' of '}{wanted} in it.")
    scale = scale or _own_scale(first)
    if reverse:
        scale = Scale(scale.options[::-1])
    collector = _Collector(Spellings(scale, spellings), before, reverse, explain)
    for record in chain([first], chosen):
        collector.add(record)
    return collector.collected()


class _Collector:
    """Tables, while they grow by a record at a time."""

    def __init__(
        self, spellings: Spellings, before: re.Pattern[str] | None, reverse: bool, explain: int
    ):
        self.spellings, self.before, self.explain = spellings, before, explain
        self.order = slice(None, None, -1 if reverse else 1)
        self.found = Collected(spellings.scale)
        self.kind: tuple[str, str] | None = None
        self.places: dict[Key, str] = {}
        self.labels: dict[tuple[str, str | None], str] = {}
        self.keys: list[Key] = []
        self.values: list[np.ndarray] = []
        self.made: list[Mapping[str, str]] = []
        self.shares: list[float] = []

    def add(self, record: Record) -> None:
        """Read a record."""
        found = self.found
        item = record.item_id
        if item is None:
            item, found.unnamed = str(len(self.places)), True
        key = item, record.reader, record.task
        if key in self.places:
            raise InputError(
                f"a text must occur once; {item!r} is in {self.places[key]} and in {record.place}."
            )
        self.places[key] = record.place
        with naming(record.place):
            reading = _read(record.evidence, self.spellings, self.before)
            if record.label is not None:
                self._add_label(item, record.task, record.label)
            if reading is not None:
                self._check_kind(reading.kind, record.place)
        if len(found.explained) < self.explain:
            found.explained.append(Explained(item, record.place, reading))
        if reading is None:
            found.unread.append(record.place)
            return
        plain = isinstance(record.evidence, Numbers)
        self.values.append(reading.values[self.order] if plain else reading.values)
        self.keys.append(key)
        self.made.append(record.made)
        self.shares.append(reading.share)
        found.floored.update(found.scale.options[k] for k in reading.floored)
        found.guessed += bool(reading.guessed)
        found.unread_samples += reading.unread

    def collected(self) -> Collected:
        """The tables of all that was added."""
        found, options = self.found, self.found.scale.options
        if self.kind is None:
            raise InputError(
                f"none of its {len(self.places)} answers names an option "
                f"({', '.join(options)}). Name the options as the model writes them, or say how "
                "it does: --spell 1=A."
            )
        found.share = float(np.mean(self.shares))
        found.readings = {"item_id": [item for item, *_ in self.keys]}
        for place, name in ((1, "reader"), (2, "task")):
            _put(found.readings, name, [key[place] for key in self.keys])
        for name in MADE:
            _put(found.readings, f"reader_{name}", [made.get(name) for made in self.made])
        values = np.stack(self.values)
        for k, option in enumerate(options):
            found.readings[f"{self.kind[0]}_{option}"] = values[:, k]
        found.labels = {"item_id": [item for item, _ in self.labels]}
        _put(found.labels, "task", [task for _, task in self.labels])
        found.labels["label"] = list(self.labels.values())
        return found

    def _check_kind(self, kind: str, place: str) -> None:
        self.kind = self.kind or (kind, place)
        if kind != self.kind[0]:
            raise InputError(
                f"readings must all be of one kind; these are {NOUNS[kind]}, and in "
                f"{self.kind[1]} there are {NOUNS[self.kind[0]]}."
            )

    def _add_label(self, item: str, task: str | None, text: str) -> None:
        options = self.spellings.scale.options
        place = self.spellings.match(text)
        if place is None:
            raise InputError(f"a label must be one of {', '.join(options)}; found {text!r}.")
        label = self.labels.setdefault((item, task), options[place])
        if label != options[place]:
            raise InputError(
                f"a text must have one label; {item!r} has {label!r} and {options[place]!r}."
            )


def _put(columns: dict[str, Any], name: str, cells: list[str | None]) -> None:
    """Add a column in which there is something."""
    if any(cell is not None for cell in cells):
        columns[name] = cells


def _own_scale(record: Record) -> Scale:
    evidence = record.evidence
    if isinstance(evidence, Sequences):
        return Scale(tuple(evidence.scores))
    if isinstance(evidence, Numbers):
        return Scale.default(len(evidence.values))
    raise SettingNeeded(
        "the log does not say which answers were possible.",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )


def _read(
    evidence: Evidence, spellings: Spellings, before: re.Pattern[str] | None
) -> Reading | None:
    match evidence:
        case Tokens():
            return read_tokens(evidence, spellings, before)
        case Sequences():
            return read_sequences(evidence, spellings)
        case Answers():
            return read_answers(evidence, spellings, before)
        case Numbers():
            return read_numbers(evidence, spellings)
        case Several():
            return average([_read(part, spellings, before) for part in evidence.parts])

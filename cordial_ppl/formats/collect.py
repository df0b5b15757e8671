"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.collected import Collected, Explained
from cordial_ppl.formats.evidence import Numbers, Record, Sequences
from cordial_ppl.formats.labels import Labels
from cordial_ppl.formats.matching import read_evidence
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables import MADE

Key = tuple[str, str | None, str | None]
"""A text, its reader and its task."""

NOUNS = {
    "logprob": "log-probabilities",
    "n": "answers without them",
    "logit": "logits",
    "p": "probabilities",
}


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
    labels: bool = True,
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
        labels: Whether to take labels; those of another kind than the options are errors.

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
    given = () if scale is None else scale.options
    if scale is not None and reverse:
        scale = Scale(scale.options[::-1])
    known = None if scale is None else Spellings(scale, spellings)
    collector = _Collector(known, before, given, explain, labels)
    for record in chain([first], chosen):
        collector.add(record)
    return collector.collected()


class _Collector:
    """Tables, while they grow by a record at a time."""

    def __init__(
        self,
        spellings: Spellings | None,
        before: re.Pattern[str] | None,
        given: tuple[str, ...],
        explain: int,
        wanted: bool,
    ):
        self.spellings, self.before, self.given = spellings, before, given
        self.explain, self.wanted = explain, wanted
        self.found = Collected(spellings.scale.options if spellings else ())
        self.labels = Labels(spellings, given)
        self.count = 0
        self.kind: tuple[str, str] | None = None
        self.places: dict[Key, str] = {}
        self.keys: list[Key] = []
        self.values: list[np.ndarray] = []
        self.made: list[Mapping[str, str]] = []
        self.shares: list[float] = []

    def add(self, record: Record) -> None:
        """Read a record."""
        item = record.item_id
        if item is None:
            item, self.found.unnamed = str(self.count), True
        self.count += 1
        with naming(record.place):
            if record.label is not None and self.wanted:
                self.labels.add(item, record.task, record.label, record.user)
        if record.evidence is not None:
            self._add_reading((item, record.reader, record.task), record)

    def _add_reading(self, key: Key, record: Record) -> None:
        found, evidence = self.found, record.evidence
        if key in self.places:
            raise InputError(
                f"a text must occur once; {key[0]!r} is in {self.places[key]} and in "
                f"{record.place}."
            )
        self.places[key] = record.place
        if self.spellings is None or evidence is None:
            raise InputError(f"{record.place} has a reading, and there are labels alone before it.")
        if isinstance(evidence, Numbers) and evidence.options is None:
            # Such numbers are in the order that was given, whichever end is the best; so are labels
            # that are positions.
            evidence = evidence._replace(options=self.given)
        with naming(record.place):
            reading = read_evidence(evidence, self.spellings, self.before)
        if len(found.explained) < self.explain:
            found.explained.append(Explained(key[0], record.place, reading))
        if reading is None:
            found.unread.append(record.place)
            return
        self._check_kind(reading.kind, record.place)
        self.values.append(reading.values)
        self.keys.append(key)
        self.made.append(record.made)
        self.shares.append(reading.share)
        found.floored.update(found.options[k] for k in reading.floored)
        found.guessed += bool(reading.guessed)
        found.lone += reading.lone
        found.unread_samples += reading.unread

    def collected(self) -> Collected:
        """The tables of all that was added."""
        found = self.found
        if not self.places:
            found.labels = self.labels.columns()
            return found
        if self.kind is None:
            raise InputError(
                f"none of its {len(self.places)} answers names an option "
                f"({', '.join(found.options)}). Name the options as the model writes them, or say "
                "how it does: --spell 1=A."
            )
        found.share = float(np.mean(self.shares))
        found.readings = {"item_id": [item for item, *_ in self.keys]}
        for place, name in ((1, "reader"), (2, "task")):
            _put(found.readings, name, [key[place] for key in self.keys])
        for name in MADE:
            _put(found.readings, f"reader_{name}", [made.get(name) for made in self.made])
        values = np.stack(self.values)
        for k, option in enumerate(found.options):
            found.readings[f"{self.kind[0]}_{option}"] = values[:, k]
        # A label without a reading would be refused beside these.
        found.labels = self.labels.columns(found.readings["item_id"])
        return found

    def _check_kind(self, kind: str, place: str) -> None:
        self.kind = self.kind or (kind, place)
        if kind != self.kind[0]:
            raise InputError(
                f"readings must all be of one kind; in {place} there are {NOUNS[kind]}, in "
                f"{self.kind[1]} {NOUNS[self.kind[0]]}."
            )


def _put(columns: dict[str, Any], name: str, cells: list[str | None]) -> None:
    """Add a column in which there is something."""
    if any(cell is not None for cell in cells):
        columns[name] = cells


def _own_scale(record: Record) -> Scale | None:
    """The options that a log names itself; None if it needs none, for it holds labels alone."""
    match record.evidence:
        case None:
            return None
        case Sequences(scores):
            with naming(record.place):
                return Scale(tuple(scores))
        case Numbers(_, values, options):
            with naming(record.place):
                return Scale(tuple(options)) if options else Scale.default(len(values))
    raise SettingNeeded(
        "the log does not say which answers were possible.",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )

"""Tables of readings and labels, while they grow by a record at a time."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, naming, quote
from cordial_ppl.formats.collected import Collected, Explained
from cordial_ppl.formats.evidence import Answers, Numbers, Record
from cordial_ppl.formats.gaps import Failed, Unlabelled
from cordial_ppl.formats.labels import Labels
from cordial_ppl.formats.matching import read_evidence
from cordial_ppl.formats.reading import Reading
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.tables import MADE

Entry = Record | Failed | Unlabelled
"""What formats find in a log."""

Key = tuple[str, str | None, str | None]
"""A text, its reader and its task."""

NOUNS = {
    "logprob": "log-probabilities",
    "n": "answers without them",
    "logit": "logits",
    "p": "probabilities",
}


class Collector:
    """Tables that grow.

    Args:
        spellings: How options are written; None for a log of labels alone whose options nobody
            named.
        before: What answers follow.
        given: The options in the order in which a log counts them.
        explain: How many texts to explain.
        wanted: Whether labels are.
    """

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

    def add(self, entry: Entry) -> None:
        """Take in what a format found.

        Args:
            entry: A record, or what there is instead of one.

        Raises:
            InputError: A text occurs twice, its reading is of another kind or of other options
                than those before, or its label is no option, cannot be told or contradicts one
                before.
        """
        if isinstance(entry, Unlabelled):
            if self.wanted:
                raise InputError(entry.why)
            return
        if isinstance(entry, Failed):
            self.found.failed.append(f"{entry.place} ({entry.why})")
            return
        item = entry.item_id
        if item is None:
            item, self.found.unnamed = str(self.count), True
        self.count += 1
        with naming(entry.place):
            if entry.label is not None and self.wanted:
                self.labels.add(item, entry.task, entry.label, entry.user)
        if entry.evidence is not None:
            self._add_reading((item, entry.reader, entry.task), entry)

    def collected(self) -> Collected:
        """Make tables of all that was added.

        Returns:
            The tables, and what is to be said of them.

        Raises:
            InputError: There are answers, and none names an option.
            SettingNeeded: People differ, and the order of the options is unknown.
        """
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

    def _add_reading(self, key: Key, record: Record) -> None:
        evidence = record.evidence
        if key in self.places:
            raise InputError(
                f"a text must occur once; {quote(key[0])} is in {self.places[key]} and in "
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
        if len(self.found.explained) < self.explain:
            self.found.explained.append(Explained(key[0], record.place, reading))
        if reading is None:
            self.found.unread.append(record.place)
            return
        self._check_kind(reading.kind, record.place)
        self.values.append(reading.values)
        self.keys.append(key)
        self.made.append(record.made)
        self.shares.append(reading.share)
        self._note(reading)
        self.found.hard &= isinstance(evidence, Answers) and len(evidence.texts) == 1

    def _note(self, reading: Reading) -> None:
        """Count what deserves a look."""
        found = self.found
        found.floored.update(found.options[k] for k in reading.floored)
        found.guessed += bool(reading.guessed)
        found.lone += reading.lone
        found.unread_samples += reading.unread
        found.several += reading.several
        found.incomplete += reading.dropped > 0
        found.dropped += reading.dropped

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

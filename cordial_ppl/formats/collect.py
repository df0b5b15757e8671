"""From the records of a log to tables of readings and labels, and what is to be said of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from cordial_ppl.errors import InputError, naming, quote
from cordial_ppl.formats.answers import Finder
from cordial_ppl.formats.collected import Collected, Explained
from cordial_ppl.formats.evidence import (
    Answers,
    Entry,
    Failed,
    Numbers,
    Record,
    Sequences,
    Unlabelled,
)
from cordial_ppl.formats.labels import Labels
from cordial_ppl.formats.matching import read_evidence
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables import MADE

NOUNS = {
    "logprob": "log-probabilities",
    "n": "answers without them",
    "logit": "logits",
    "p": "probabilities",
}


def collect(
    records: Iterable[Entry],
    *,
    scale: Scale | None = None,
    spellings: Mapping[str, str] | None = None,
    before: re.Pattern[str] | None = None,
    guess: bool = False,
    reverse: bool = False,
    task: str | None = None,
    reader: str | None = None,
    explain: int = 0,
    labels: bool = True,
) -> Collected:
    """Read every record of a log.

    Args:
        records: What a format yields, taken one by one.
        scale: The options; by default those that the log itself names.
        spellings: Further ways to write an option: {"A": "1"}.
        before: What answers follow.
        guess: Whether prose may give the answer.
        reverse: Whether these options go from the last to the first.
        task: The task to take; by default all.
        reader: The reader to take; by default all.
        explain: How many texts to explain.
        labels: Whether to take labels; those that are no option are errors.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option, a text occurs twice, records are of
            different kinds or options, or a label is no option.
        SettingNeeded: The log does not name the options.
    """
    chosen = (entry for entry in records if _is_about(entry, task, reader))
    # What the log says before its first record has to wait for the options.
    ahead: list[Entry] = []
    for entry in chosen:
        ahead.append(entry)
        if isinstance(entry, Record):
            break
    else:
        raise InputError(_nothing(ahead, task, reader))
    scale = scale or _scale_of(ahead[-1])
    given = () if scale is None else scale.options
    if scale is not None and reverse:
        scale = Scale(scale.options[::-1])
    finder = None if scale is None else Finder(Spellings(scale, spellings), before, guess)
    collector = _Collector(finder, given, explain, labels)
    for entry in chain(ahead, chosen):
        collector.add(entry)
    return collector.finish()


class _Collector:
    """Tables that grow by a record at a time.

    Args:
        finder: Finds the options; None for a log of labels alone whose options nobody named.
        given: The options in the order in which a log counts them.
        explain: How many texts to explain.
        wanted: Whether labels are wanted.
    """

    def __init__(self, finder: Finder | None, given: tuple[str, ...], explain: int, wanted: bool):
        self.finder, self.given, self.explain, self.wanted = finder, given, explain, wanted
        spellings = finder and finder.spellings
        self.found = Collected(spellings.scale.options if spellings else ())
        self.labels = Labels(spellings, given)
        self.count = 0
        self.places: dict[tuple[str, str | None, str | None], str] = {}
        self.rows: list[tuple[str | None, ...]] = []
        self.values: list[np.ndarray] = []
        self.shares: list[float] = []
        self.kind: tuple[str, str] | None = None

    def add(self, entry: Entry) -> None:
        """Take in a record, or what there is instead of one."""
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
            self._add_reading(item, entry)

    def finish(self) -> Collected:
        """Make the tables."""
        found = self.found
        if not self.places:
            found.labels = self.labels.columns()
            return found
        if self.kind is None or self.finder is None:
            raise InputError(
                f"none of its {len(self.places)} answers names an option "
                f"({', '.join(found.options)}). Name the options as the model writes them, or say "
                "how it does: --spell 1=A. --after says what answers follow; `cordial read "
                "--guess` takes them from prose."
            )
        found.answers = self.finder.counts
        found.share = float(np.mean(self.shares))
        names = ("item_id", "reader", "task", *(f"reader_{name}" for name in MADE))
        columns = dict(zip(names, map(list, zip(*self.rows, strict=True)), strict=True))
        found.readings = {name: own for name, own in columns.items() if set(own) != {None}}
        for k, option in enumerate(found.options):
            found.readings[f"{self.kind[0]}_{option}"] = np.array([own[k] for own in self.values])
        # A label without a reading would be refused beside these.
        found.labels = self.labels.columns(columns["item_id"])
        return found

    def _add_reading(self, item: str, record: Record) -> None:
        evidence, found = record.evidence, self.found
        key = item, record.reader, record.task
        if key in self.places:
            raise InputError(
                f"a text must occur once; {quote(item)} is in {self.places[key]} and in "
                f"{record.place}."
            )
        self.places[key] = record.place
        if self.finder is None or evidence is None:
            raise InputError(f"{record.place} has a reading, and there are labels alone before it.")
        if isinstance(evidence, Numbers) and evidence.options is None:
            # Numbers without names are in the order given, whichever end is the best.
            evidence = evidence._replace(options=self.given)
        with naming(record.place):
            reading = read_evidence(evidence, self.finder)
        if len(found.explained) < self.explain:
            found.explained.append(Explained(item, record.place, reading))
        if reading is None:
            found.unread.append(record.place)
            return
        kind, first = self.kind = self.kind or (reading.kind, record.place)
        if reading.kind != kind:
            raise InputError(
                f"readings must all be of one kind; in {record.place} there are "
                f"{NOUNS[reading.kind]}, in {first} {NOUNS[kind]}."
            )
        self.rows.append((*key, *map(record.made.get, MADE)))
        self.values.append(reading.values)
        self.shares.append(reading.share)
        found.floored.update(found.options[k] for k in reading.floored)
        found.guessed += bool(reading.guessed)
        found.lone += reading.lone
        found.unread_samples += reading.unread
        found.several += reading.several
        found.incomplete += reading.dropped > 0
        found.dropped += reading.dropped
        found.hard &= isinstance(evidence, Answers) and len(evidence.texts) == 1


def _is_about(entry: Entry, task: str | None, reader: str | None) -> bool:
    """Whether an entry is of the task and the reader chosen; a failure may not know its reader."""
    if isinstance(entry, Unlabelled):
        return True
    unknown = isinstance(entry, Failed) and entry.reader is None
    return task in (None, entry.task) and (unknown or reader in (None, entry.reader))


def _nothing(ahead: Sequence[Entry], task: str | None, reader: str | None) -> str:
    """Why there is nothing to read."""
    failed = [entry for entry in ahead if isinstance(entry, Failed)]
    if failed:
        return (
            f"there is no answer in it; all {len(failed)} of its requests failed, the first "
            f"({failed[0].place}) for: {failed[0].why}."
        )
    wanted = " and ".join(repr(name) for name in (task, reader) if name is not None)
    if wanted:
        return f"there is no reading of {wanted} in it."
    return "there is neither a reading nor a label in it."


def _scale_of(entry: Entry) -> Scale | None:
    """The options that a record names; None if it needs none, for it holds labels alone."""
    with naming(getattr(entry, "place", "")):
        match getattr(entry, "evidence", None):
            case None:
                return None
            case Sequences(scores):
                return Scale(tuple(scores))
            case Numbers(_, values, options):
                return Scale(tuple(options)) if options else Scale.default(len(values))
    raise SettingNeeded(
        "the log does not say which answers were possible.",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )

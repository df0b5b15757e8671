"""From the answers or the scores of a text to its reading."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cordial_ppl.data.ratings import scale_of_ratings
from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming
from cordial_ppl.logs.collected import Collected
from cordial_ppl.logs.evidence import ABSENT, ROUNDING, Answer, Evidence, Orders, Record, Scores
from cordial_ppl.logs.finder import Finder, Span
from cordial_ppl.logs.masses import Reading, mix, read_masses
from cordial_ppl.logs.spellings import Spellings, fold

BOUNDS = {
    "logit": (-np.inf, np.finfo(float).max, "a number"),
    "logprob": (-np.inf, ROUNDING, "0 or below"),
    "p": (0.0, 1.0 + ROUNDING, "0..1"),
    "n": (0.0, np.finfo(float).max, "0 or above"),
}
"""Between which numbers the scores of a kind are, and how a message says so."""


@dataclass
class Reader:
    """Makes readings of answers and of scores.

    Attributes:
        finder: Finds the options in texts.
        round: What a number between two options counts for; None if it is no answer.
        answers: Number of answers by where they stand in a text, or by why they name no option.
    """

    finder: Finder
    round: str | None = None
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def spellings(self) -> Spellings:
        """Return how options are written."""
        return self.finder.spellings

    def read(self, evidence: Any) -> Reading | None:
        """Make a reading of answers or scores; None if they name no option."""
        if isinstance(evidence, Orders):
            return mix([self.read(one) for one in evidence.each], orders=True)
        if isinstance(evidence, Scores):
            return self._read_scores(evidence)
        scored = all(answer.positions for answer in evidence if not answer.lost)
        rounded = self._round(evidence) if self.round and not scored else None
        read_one = self._read_tokens if scored else self._count
        # Of several answers to one question those that are lost name no option.
        return rounded or mix([None if one.lost else read_one(one) for one in evidence])

    def suits(self, record: Record) -> bool:
        """Say whether the scores of a record are of the scale's options, not those of another task.

        Raises:
            InputError: They are of other options, and the record is of no task.
        """
        scores = record.evidence
        if not isinstance(scores, Scores) or self._match(scores):
            return True
        if record.task is None:
            raise InputError(
                f"expected scores of the options {', '.join(self.spellings.scale.options)}; found "
                f"those of {', '.join(scores.options)}."
            )
        return False

    def _match(self, scores: Scores) -> list[int | None]:
        """Match the texts that scores are of, or other names of them, with options."""
        every = set(range(self.spellings.scale.size))
        lists = ([*map(self.spellings.match, texts)] for texts in (scores.options, scores.others))
        return next((matches for matches in lists if set(matches) == every), [])

    def _read_scores(self, scores: Scores) -> Reading | None:
        """Take numbers by the options that they are of; None if every option is without one."""
        low, high, words = BOUNDS[scores.kind]
        add = np.logaddexp if scores.kind in ("logit", "logprob") else np.add
        numbers = np.full(self.spellings.scale.size, np.nan)
        for text, option, value in zip(
            scores.options, self._match(scores), scores.values, strict=True
        ):
            if not low <= value <= high:
                raise InputError(f"the {scores.kind} of {text!r} must be {words}; found {value:g}.")
            if option is not None and value > ABSENT:
                previous = numbers[option]
                numbers[option] = value if np.isnan(previous) else add(previous, value)
        if np.isnan(numbers).all():
            return None
        # An option without a number is no likelier than the least likely text that has one.
        floored = set(np.flatnonzero(np.isnan(numbers)).tolist())
        numbers[[*floored]] = np.nanmin(numbers)
        return Reading(scores.kind, numbers, floored)

    def _round(self, answers: Sequence[Answer]) -> Reading | None:
        """Count averages for the options beside them; None if they are no such numbers."""
        scale = self.spellings.scale
        try:
            positions = scale.locate([answer.text for answer in answers])
        except InputError:
            return None
        rounded = round_positions(positions, scale, self.round or "split")
        return Reading("n", np.bincount(rounded.labels, rounded.weights, scale.size))

    def _find(self, text: str) -> Span:
        """Find the answer of a text, and count where it stands."""
        option = None if self.finder.before else self.spellings.match(text)
        whole = Span(option, 0, len(text), "alone")
        span = self.finder.find(text) if option is None else whole
        self.answers[span.source] += 1
        return span

    def _count(self, answer: Answer) -> Reading | None:
        """Count the option that an answer names."""
        spellings = self.spellings
        # "1" that was cut off may have become "10".
        if not answer.ended and spellings.begun(answer.text):
            self.answers["prose"] += 1
            return None
        span = self._find(answer.text)
        if span.option is None:
            return None
        counts = np.eye(spellings.scale.size)[span.option]
        return Reading("n", counts, doubts={"several"} if span.several else set())

    def _read_tokens(self, answer: Answer) -> Reading | None:
        """Read the options' log-probabilities where the answer starts."""
        positions, spellings = answer.positions, self.spellings
        pieces = [fold(position.token) for position in positions]
        text = "".join(pieces)
        if len(pieces) == 1 and self.finder.before is None:
            # A single token is the answer, whatever it is: its alternatives may be options.
            written = text if spellings.match(text) is not None else None
            reading = read_masses(spellings, positions, answer=written, ended=answer.ended)
            self.answers["alone" if reading else "prose"] += 1
            return reading
        span = self.finder.find(text)
        self.answers[span.source] += 1
        if span.option is None:
            return None
        # The token in which the answer starts, and what stands before the answer in it.
        ends = np.cumsum([len(piece) for piece in pieces])
        number = int(np.searchsorted(ends, span.start, side="right"))
        prefix = pieces[number][: span.start - int(ends[number]) + len(pieces[number])]
        # A model that writes " " and "4" might have written " 4".
        if number and not prefix and not pieces[number - 1].strip():
            before = positions[number - 1].top
            number -= any(spellings.match(fold(one)) is not None for one in before)
        written = text[span.start : span.end]
        reading = read_masses(spellings, positions[number:], prefix, written, ended=answer.ended)
        if reading is not None and span.several:
            reading.doubts.add("several")
        return reading


def collect(
    records: Iterable[Record],
    scale: Scale | None = None,
    spell: Mapping[str, str] | None = None,
    *,
    before: re.Pattern[str] | None = None,
    reverse: bool = False,
    round: str | None = None,
    **chosen: str,
) -> Collected:
    """Make a table of records.

    Args:
        records: What a file says of texts.
        scale: The options; by default those that the records themselves name.
        spell: Further ways to write an option: {"A": "1"}.
        before: What answers follow.
        reverse: Whether these options go from the last to the first.
        round: What a number between two options counts for; by default it is no answer.
        chosen: The `reader` and the `task` to take; by default all.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option, or records are of different kinds
            or options.
        SettingNeeded: The file does not name the options, or asks several questions.
    """
    collected, groups = Collected(), dict[tuple, list[Record]]()
    names: dict[str, dict[str, None]] = {"task": {}, "reader": {}}
    for record in records:
        for role, listed in names.items():
            listed |= {name: None} if (name := getattr(record, role)) else {}
        lost = record.lost
        # A request that failed may not know its reader.
        unknown = {"reader"} if lost and record.reader is None else set()
        if any(getattr(record, r) != name for r, name in chosen.items() if r not in unknown):
            continue
        collected.unnamed |= record.numbered
        if record.label is not None:
            collected.labelings.append(record)
        elif lost:
            collected.lose(record, lost)
        else:
            groups.setdefault(record.key, []).append(record)
    if groups:
        evidence = [some[0].evidence for some in groups.values()]
        listed = scale or _scale_of(evidence, names["task"] if "task" not in chosen else {})
        listed = Scale(listed.options[::-1]) if reverse else listed
        reader = Reader(Finder(Spellings(listed, spell), before), round)
        collected.spellings, collected.answers = reader.spellings, reader.answers
        for some in groups.values():
            collected.pooled += len(some) > 1
            with naming(some[0].location):
                if reader.suits(some[0]):
                    collected.keep(some[0], reader.read(_pool(some)))
                else:
                    collected.otherwise[str(some[0].task)] += 1
        _fill_zeros(collected.values)
        if not collected.values:
            raise InputError(
                f"none of its answers names an option ({', '.join(collected.options)}); the first "
                f"says {collected.beginning}. Name the options as the model writes them, or say "
                "how it does (--spell 1=A) or what they follow (--after)."
            )
    if not collected.values and not collected.labelings:
        every = "; ".join(f"its {role}s are {list_names(n)}" for role, n in names.items() if n)
        lost = "; ".join(row for rows in collected.lost.values() for row in rows[:3])
        wanted = f" of {' and '.join(map(repr, chosen.values()))}" if chosen else ""
        raise InputError(f"it holds no readings{wanted} and no labels; {lost or every}.")
    return collected


def _scale_of(evidence: Sequence[Evidence | None], tasks: Iterable[str]) -> Scale:
    """Return the options that scores name; else propose some by the answers."""
    scales = {tuple(one.options or ()): one for one in evidence if isinstance(one, Scores)}
    if len(scales) > 1 and (names := list(tasks)):
        problem = f"it asks questions with different options: {list_names(names)}."
        raise SettingNeeded(problem, "Choose one, for example", "task", names[0])
    for options, scores in scales.items():
        return Scale(options) if options else Scale.default(len(scores.values))
    texts = [one.text for some in evidence if isinstance(some, list) for one in some]
    return scale_of_ratings(texts)


def _pool(records: Sequence[Record]) -> Evidence | None:
    """Put the answers of several rows to one question together."""
    evidence = [record.evidence for record in records]
    if len(evidence) == 1:
        return evidence[0]
    if not all(isinstance(one, list) for one in evidence):
        raise InputError("its text occurs again: name what tells these rows apart, or the task.")
    return [answer for one in evidence if isinstance(one, list) for answer in one]


def _fill_zeros(readings: Sequence[Reading]) -> None:
    """Take a probability of 0 as what rounding made of a small one: half of the last digit."""
    shares = [reading for reading in readings if reading.kind == "p"]
    digits = max((len(f"{p:.6f}".rstrip("0")) - 2 for one in shares for p in one.values), default=0)
    for one in shares:
        filled = np.where(one.values == 0, 0.5 * 10.0**-digits, one.values)
        one.values = filled / filled.sum()

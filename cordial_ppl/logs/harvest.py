"""From a file of judgments to readings and labels."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.data.ratings import scale_of_ratings
from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import (
    FileError,
    InputError,
    SettingNeeded,
    as_path,
    list_names,
    naming,
    warn,
)
from cordial_ppl.logs.collected import Collected
from cordial_ppl.logs.evidence import ABSENT, ROUNDING, Answer, Evidence, Record, Scores
from cordial_ppl.logs.fields import Field, fields_of
from cordial_ppl.logs.finder import Finder, as_pattern
from cordial_ppl.logs.masses import Reading, mix, read_masses
from cordial_ppl.logs.presets import LOOKED, PRESETS, ROLES, find_preset, first_cells, read_records
from cordial_ppl.logs.rows import read_rows
from cordial_ppl.logs.spellings import Spellings, fold
from cordial_ppl.tables import is_filled

BOUNDS = {
    "logit": (-np.inf, np.finfo(float).max, "a number"),
    "logprob": (-np.inf, ROUNDING, "0 or below"),
    "p": (0.0, 1.0 + ROUNDING, "0..1"),
    "n": (0.0, np.finfo(float).max, "0 or above"),
}
"""Between which numbers the scores of a kind are, and how a message says so."""


def read(
    path: str | Path,
    *,
    form: str = "auto",
    options: str | Sequence | None = None,
    spell: Mapping[str, str] | None = None,
    after: str | None = None,
    reverse: bool = False,
    round: str | None = None,
    **fields: str | Sequence[str] | None,
) -> Collected:
    """Read the readings and labels of a file: judgments, a tool's log, or any rows by their fields.

    A field is a key, or else a JMESPath expression; several are a list, or have commas between.

    Args:
        path: JSON, JSON Lines, CSV, Excel or Parquet; or the log of a tool.
        form: The preset, by name; "auto" to tell by the file.
        options: The options in the scale's order; by default those that the file itself names.
        spell: Further ways to write an option: {"A": "1"}.
        after: What answers follow in a text, a regular expression.
        reverse: Whether these options go from the best to the worst.
        round: What a number between two options, such as an average, counts for: "half-up",
            "nearest-even", or "split" for both.
        fields: The fields of `item` (several make one name), `answer` (several are tasks of their
            own), `choices` (the options that a list of numbers is of), `reader`, `task`, `label`,
            `annotator`, `model` and `prompt`; `rows`, where the rows are, each with the one around
            it as `outer`; conditions `where` on the rows to take and `people` on those whose
            answers are labels. `reader` and `task` may be a name to take, or "field=name".

    Returns:
        Tables of readings and labels as columns by name, `logits` [n, K], and `labelled`, what
        `fit` takes.

    Raises:
        FileError: The file cannot be read, or is of no known form; with the fields that it has.
        InputError: A field is in no row, or what it holds cannot be read; with the row.
        SettingNeeded: The file does not name the options.
    """
    path = as_path(path)
    if unknown := fields.keys() - set(ROLES):
        raise InputError(f"no such field: {list_names(unknown)}; there are {', '.join(ROLES)}.")
    typed = {role: fields_of(names) for role, names in fields.items() if names}
    scale = None
    if options is not None:
        names = [one.text for one in fields_of(options)] if isinstance(options, str) else options
        scale = Scale(tuple(map(str, names)))
    rows = read_rows(path)
    first = list(islice(rows, LOOKED))
    preset = find_preset(path, first, form, typed)
    table = PRESETS.get(preset or "", {})
    chosen: dict[str, str] = {}
    for role in typed.keys() & {"reader", "task"}:
        field = typed[role][0]
        steps = typed.get("rows") or fields_of(table.get("rows", []))
        # Where several answers are tasks, their fields are names of tasks.
        answers = typed.get("answer") or fields_of(table.get("answer", []))
        is_task = len(answers) > 1 and field.text in [answer.name for answer in answers]
        if is_task or not is_filled(field.find(first_cells(first, *steps))):
            name, _, chosen[role] = field.text.rpartition("=")
            typed[role] = (Field(name),)
            if not name:
                del typed[role]
    records = read_records(chain(first, rows), first, preset, typed)
    how = round or table.get("round")
    try:
        collected = collect(
            records, scale, spell, before=as_pattern(after), reverse=reverse, round=how, **chosen
        )
    except FileError:
        raise
    except InputError:
        with naming(path):
            raise
    collected.form, collected.repeats = preset or "fields", table.get("repeats", False)
    for words in collected.doubts:
        warn(words)
    return collected


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
        # A request that failed may not know its reader.
        unknown = {"reader"} if record.lost and record.reader is None else set()
        if any(getattr(record, r) != name for r, name in chosen.items() if r not in unknown):
            continue
        collected.unnamed |= record.numbered
        if record.label is not None:
            collected.labelings.append(record)
        if record.lost is not None:
            reason, _, detail = record.lost.partition(": ")
            where = f"{record.location} ({detail})" if detail else record.location
            collected.lost.setdefault(reason, []).append(where)
        elif record.evidence is not None:
            key = record.item_id, record.reader, record.task
            groups.setdefault(key, []).append(record)
    if groups:
        evidence = [some[0].evidence for some in groups.values()]
        listed = scale or _scale_of(evidence, names["task"] if "task" not in chosen else {})
        listed = Scale(listed.options[::-1]) if reverse else listed
        finder = Finder(Spellings(listed, spell), before)
        collected.spellings, collected.answers = finder.spellings, finder.counts
        for key, some in groups.items():
            collected.pooled += len(some) > 1 and some[0].order is None
            if some[0].fixed and not _suits(some[0].evidence, finder.spellings):
                collected.otherwise[str(some[0].task)] += 1
                continue
            with naming(some[0].location):
                collected.keep(key, some[0], _read_several(some, finder, round))
        _fill_zeros(collected.values)
        if not collected.values:
            listed = ", ".join(collected.options)
            raise InputError(
                f"none of its answers names an option ({listed}); the first says "
                f"{collected.beginning}. Name the options as the model writes them, or say how it "
                "does (--spell 1=A) or what they follow (--after)."
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


def _suits(evidence: Evidence | None, spellings: Spellings) -> bool:
    """Say whether the options of scores, or other names of them, are those of the scale."""
    if not isinstance(evidence, Scores):
        return True
    every = set(range(spellings.scale.size))
    return any(
        {*map(spellings.match, s)} == every for s in (evidence.options or (), evidence.others)
    )


def _read_several(records: Sequence[Record], finder: Finder, round: str | None) -> Reading | None:
    """Make a reading of a text: of one row, of several orders, or of answers to one question."""
    evidence = [record.evidence for record in records]
    if records[0].order is not None:
        return mix([_read_evidence(one, finder, round) for one in evidence], orders=True)
    if len(evidence) > 1 and not all(isinstance(one, list) for one in evidence):
        raise InputError("its text occurs again: name what tells these rows apart, or the task.")
    answers = [answer for one in evidence if isinstance(one, list) for answer in one]
    return _read_evidence(answers or evidence[0], finder, round)


def _read_evidence(evidence: Any, finder: Finder, round: str | None) -> Reading | None:
    """Make a reading of answers or scores; None if they name no option."""
    if isinstance(evidence, Scores):
        return _read_scores(evidence, finder.spellings)
    if all(answer.positions for answer in evidence):
        return mix([_read_tokens(answer, finder) for answer in evidence])
    rounded = _round(evidence, finder.spellings.scale, round) if round else None
    return rounded or _count_answers(evidence, finder)


def _round(answers: Sequence[Answer], scale: Scale, how: str) -> Reading | None:
    """Count averages for the options beside them; None if they are no such numbers."""
    try:
        positions = scale.locate([answer.text for answer in answers])
    except InputError:
        return None
    rounded = round_positions(positions, scale, how)
    counts = np.bincount(rounded.labels, rounded.weights, scale.size)
    return Reading("n", counts)


def _read_tokens(answer: Answer, finder: Finder) -> Reading | None:
    """Read the options' log-probabilities where the answer starts."""
    positions, spellings = answer.positions, finder.spellings
    pieces = [fold(position.token) for position in positions]
    text = "".join(pieces)
    if len(pieces) == 1 and finder.before is None:
        # A single token is the answer, whatever it is: its alternatives may be options.
        written = text if spellings.match(text) is not None else None
        reading = read_masses(spellings, positions, answer=written, ended=answer.ended)
        finder.counts["alone" if reading else "prose"] += 1
        return reading
    span = finder.find(text)
    if span is None:
        return None
    # The token in which the answer starts, and what stands before the answer in it.
    ends = np.cumsum([len(piece) for piece in pieces])
    number = int(np.searchsorted(ends, span.start, side="right"))
    prefix = pieces[number][: span.start - int(ends[number]) + len(pieces[number])]
    # A model that writes " " and "4" might have written " 4".
    if number and not prefix and not pieces[number - 1].strip():
        number -= any(spellings.match(fold(one)) is not None for one in positions[number - 1].top)
    written = text[span.start : span.end]
    reading = read_masses(spellings, positions[number:], prefix, written, ended=answer.ended)
    if reading is not None:
        reading.several = int(span.several)
    return reading


def _count_answers(answers: Sequence[Answer], finder: Finder) -> Reading | None:
    """Count the options that answers name."""
    spellings, options, several = finder.spellings, [], 0
    for answer in answers:
        # "1" that was cut off may have become "10".
        if not answer.ended and spellings.begun(answer.text):
            finder.counts["prose"] += 1
        elif finder.before is None and (option := spellings.match(answer.text)) is not None:
            finder.counts["alone"] += 1
            options.append(option)
        elif (span := finder.find(answer.text)) is not None:
            options.append(span.option)
            several += span.several
    if not options:
        return None
    counts = np.bincount(options, minlength=spellings.scale.size).astype(float)
    return Reading("n", counts, unread=len(answers) - len(options), several=several)


def _read_scores(scores: Scores, spellings: Spellings) -> Reading | None:
    """Take numbers by the options that they are of; None if every option is without one."""
    kind, texts, names = scores.kind, scores.options, spellings.scale.options
    matches, every = [*map(spellings.match, texts)], set(range(len(names)))
    matches = matches if set(matches) == every else [*map(spellings.match, scores.others)]
    if set(matches) != every:
        raise InputError(
            f"expected scores of the options {', '.join(names)}; found those of "
            f"{', '.join(texts)}. Logs of several scales are read one task at a time: --task NAME."
        )
    low, high, words = BOUNDS[kind]
    add = np.logaddexp if kind in ("logit", "logprob") else np.add
    numbers = np.full(len(names), np.nan)
    for text, option, value in zip(texts, matches, scores.values, strict=True):
        if not low <= value <= high:
            raise InputError(f"the {kind} of {text!r} must be {words}; found {value:g}.")
        if option is not None and value > ABSENT:
            numbers[option] = value if np.isnan(numbers[option]) else add(numbers[option], value)
    if np.isnan(numbers).all():
        return None
    # An option without a number is no likelier than the least likely text that has one.
    floored = np.flatnonzero(np.isnan(numbers)).tolist()
    numbers[floored] = np.nanmin(numbers)
    return Reading(kind, numbers, floored)


def _fill_zeros(readings: Sequence[Reading]) -> None:
    """Take a probability of 0 as what rounding made of a small one: half of the last digit."""
    shares = [reading for reading in readings if reading.kind == "p"]
    digits = max((len(f"{p:.6f}".rstrip("0")) - 2 for one in shares for p in one.values), default=0)
    for one in shares:
        filled = np.where(one.values == 0, 0.5 * 10.0**-digits, one.values)
        one.values = filled / filled.sum()

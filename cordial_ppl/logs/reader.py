"""From the answers or the scores of a text to its reading."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.data.ratings import scale_of_ratings
from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming
from cordial_ppl.logs.collected import Collected
from cordial_ppl.logs.evidence import ABSENT, CUT, FAILED, Answer, Orders, Reading, Record, Scores
from cordial_ppl.logs.finder import Finder, Span
from cordial_ppl.logs.masses import mix, read_masses
from cordial_ppl.logs.spellings import Spellings, fold


def _read(finder: Finder, evidence: Any, round: str | None) -> Reading | str:
    """Make a reading of answers or scores; or say why they name no option."""
    if isinstance(evidence, Orders):
        return mix([_read(finder, one, round) for one in evidence.each], orders=True)
    if isinstance(evidence, Scores):
        return _read_scores(finder.spellings, evidence)
    scored = all(answer.positions for answer in evidence if not answer.lost)
    rounded = _round(finder.spellings.scale, evidence, round) if round and not scored else None
    # Of several answers to one question those that are lost name no option.
    return rounded or mix([one.lost or _read_answer(finder, one, scored) for one in evidence])


def _read_scores(spellings: Spellings, scores: Scores) -> Reading | str:
    """Take numbers by the options that they are of; "other" if they are of other options."""
    size = spellings.scale.size
    lists = [[*map(spellings.match, texts)] for texts in (scores.options, scores.others)]
    if [*map(str, range(size))] == [*scores.options] == [*scores.others]:
        # Levels without labels are numbered from 0.
        lists.append([*range(size)])
    matches = next((one for one in lists if {*one} == {*range(size)}), None)
    if matches is None:
        return "other"
    array = np.array(scores.values, float)
    if np.isnan(array).any() or scores.kind == "p" and not ((array >= 0) & (array < np.inf)).all():
        named = f"scores for {', '.join(scores.options)}"
        raise InputError(f"{named} contain NaN, or a probability that is negative or infinite.")
    pairs = [(k, v) for k, v in zip(matches, scores.values, strict=True) if v > ABSENT]
    if not pairs or scores.kind in ("p", "n") and not any(scores.values):
        return "prose"
    there, values = map(list, zip(*pairs, strict=True))
    logs = scores.kind in ("logit", "logprob")
    numbers = np.full(size, -np.inf if logs else 0.0)
    (np.logaddexp if logs else np.add).at(numbers, there, values)
    # An option without a number is no likelier than the least likely text that has one.
    numbers[[k for k in range(size) if k not in there]] = numbers[there].min()
    return Reading(scores.kind, numbers)


def _round(scale: Scale, answers: Sequence[Answer], how: str) -> Reading | None:
    """Count averages for the options beside them; None if they are no such numbers."""
    try:
        positions = scale.locate([answer.text for answer in answers])
    except InputError:
        return None
    rounded = round_positions(positions, scale, how)
    return Reading("n", np.bincount(rounded.labels, rounded.weights, scale.size))


def _read_answer(finder: Finder, answer: Answer, scored: bool) -> Reading | str:
    """Read the options' log-probabilities where an answer starts, or count the option it names."""
    spellings, positions = finder.spellings, answer.positions if scored else ()
    pieces = [fold(position.token) for position in positions]
    text = "".join(pieces) if scored else answer.text
    # "1" that was cut off may have become "10".
    if not (scored or answer.ended) and spellings.begun(text):
        return CUT
    option = spellings.match(text) if len(pieces) < 2 and finder.before is None else None
    span = Span(option, 0, len(text), "prose")
    # A single token is the answer, whatever it is: its alternatives may be options.
    if option is None and (len(pieces) != 1 or finder.before):
        span = finder.find(text)
        if span.option is None:
            return span.source
    doubts = {"several"} if span.several else set()
    if not scored:
        return Reading("n", np.eye(spellings.scale.size)[span.option], doubts=doubts)
    # The token in which the answer starts, and what stands before the answer in it.
    starts = [*accumulate(map(len, pieces), initial=0)]
    number = min(bisect_right(starts, span.start), len(pieces)) - 1
    prefix = text[starts[number] : span.start]
    written = None if span.option is None else text[span.start : span.end]
    reading = read_masses(spellings, positions[number:], prefix, written, answer.ended)
    if reading is None:
        return CUT if written else "prose"
    return replace(reading, doubts=reading.doubts | doubts)


def collect(
    records: Iterable[Record],
    scale: Scale | None = None,
    chosen: Mapping[str, str] | None = None,
    *,
    reverse: bool = False,
    spell: Mapping[str, str] | None = None,
    before: str | None = None,
    round: str | None = None,
) -> Collected:
    """Make a table of records.

    Args:
        records: What a file says of texts.
        scale: The options; by default those that the records themselves name.
        chosen: The `reader` and the `task` to take; by default all.
        reverse: Whether the options go from the best to the worst.
        spell: Further ways to write an option: {"A": "1"}.
        before: What answers follow, a regular expression.
        round: What a number between two options counts for; by default it is no answer.

    Returns:
        Readings, labels, and what is to be said of them.

    Raises:
        InputError: There are no records, none names an option or what is chosen, records are of
            different kinds or options, a spelling names no option, or the expression is none.
        SettingNeeded: The file does not name the options, the readers or the tasks, or asks several
            questions.
    """
    chosen = chosen or {}
    collected, groups = Collected(), dict[tuple, list[Record]]()
    names: dict[str, dict[str | None, None]] = {role: {} for role in chosen}
    for record in records:
        # A label, or a request that failed, may know neither the reader nor the question.
        loose = {None} if record.lost or record.label is not None else set()
        for role, listed in names.items():
            listed |= dict.fromkeys({getattr(record, role)} - loose)
        if any(getattr(record, role) not in (name, *loose) for role, name in chosen.items()):
            continue
        collected.unnamed |= record.numbered
        if record.label is not None:
            collected.labelings.append(record)
        else:
            groups.setdefault(record.key, []).append(record)
    for role, name in chosen.items():
        if names[role] and name not in names[role]:
            told = f"no row names the {'judge' if role == 'reader' else role} {name!r}"
            if others := [*filter(None, names[role])]:
                raise InputError(f"{told}; choose from {list_names(others)}.")
            raise SettingNeeded(f"{told}.", "Name the field", role, "FIELD", role, f"FIELD={name}")
    answered = [one for some in groups.values() for one in some if not one.lost]
    finder = None
    if answered:
        scale = scale or _scale_of(answered)
        scale = Scale(scale.options[::-1]) if reverse else scale
        collected.spellings = Spellings(scale, spell)
        finder = Finder(collected.spellings, before)
    rows = [_read_group(finder, some, round) for some in groups.values()]
    read = {one.key[1:]: None for one in rows if isinstance(one.outcome, Reading)}
    for record in rows:
        if isinstance(record.outcome, Reading):
            collected.records.append(record)
            for doubt in sorted(record.outcome.doubts):
                collected.notes[doubt].append(record.item_id)
            continue
        kept = _attribute(record, read, groups)
        collected.records += kept
        detail = record.lost.text * (record.outcome == FAILED) if record.lost else record.quoted
        detail = record.outcome == "other" and record.task or detail
        notes = collected.kept if kept else collected.notes
        notes[record.outcome].append(f"{record.location}: {detail}".removesuffix(": "))
    if read:
        _ = collected.table  # Readings of several kinds are refused.
    elif answered or not collected.labelings:
        wanted = f" for {' and '.join(map(repr, chosen.values()))}" if chosen else ""
        listed = f" ({', '.join(collected.options)})" if answered else ""
        problem = f"no answer{wanted} names an option{listed}"
        raise InputError(": ".join(filter(None, [problem, "; ".join(collected.doubts)])) + ".")
    return collected


def _attribute(
    record: Record, judges: Iterable[tuple], groups: Mapping[tuple, Any]
) -> list[Record]:
    """List what is kept of a text without a reading, by the judges and tasks that it may be of.

    A failure of an unknown judge or task is one of each that did not read the text.
    """
    kept, alone = {}, record.numbered or record.outcome == "other"
    for name, task in () if alone else judges:
        one = replace(record, reader=record.reader or name, task=task)
        if record.task in (None, task) and (one.key == record.key or one.key not in groups):
            kept[one.key] = one
    return [*kept.values()]


def _scale_of(records: Sequence[Record]) -> Scale:
    """Return the options that scores name; else propose some by the answers."""
    tasks = [*dict.fromkeys(one.task for one in records if one.task)]
    scores = (one.evidence for one in records if isinstance(one.evidence, Scores))
    orders = [*dict.fromkeys((*one.options,) for one in scores)]
    if len({*map(frozenset, orders)}) > 1 and len(tasks) > 1:
        problem = f"the options differ between tasks: {list_names(tasks)}."
        raise SettingNeeded(problem, "Choose one task, for example", "task", tasks[0])
    if orders:
        first = orders[0]
        if all(parse_number(name) is not None for name in first):
            first = tuple(sorted(first, key=lambda name: parse_number(name) or 0.0))
        elif any({*one} == {*first} and one != first for one in orders):
            problem = f"the rows list the options in different orders: {list_names(first)}."
            advice = "Name the options from worst to best, for example"
            raise SettingNeeded(problem, advice, "options", ("WORST", "...", "BEST"))
        return Scale(first)
    answers = (one.evidence for one in records if isinstance(one.evidence, list))
    texts = [one.text for some in answers for one in some if not one.lost]
    return scale_of_ratings(texts, noun="answers")


def _read_group(finder: Finder | None, records: Sequence[Record], round: str | None) -> Record:
    """Read the answers of several rows to one question; those that are lost only if all are."""
    answered = [one for one in records if not one.lost]
    first, *more = answered or records
    if finder is None or first.lost:
        return replace(first, outcome=(first.lost and first.lost.lost) or FAILED)
    evidence: Any = first.evidence
    with naming(first.location):
        if more and not all(isinstance(one.evidence, list) for one in answered):
            raise InputError(
                "the text is in several rows. Name the task, or a field that tells the rows apart."
            )
        if more:
            evidence = [answer for one in answered for answer in one.evidence or ()]
        outcome = _read(finder, evidence, round)
    if isinstance(outcome, Reading):
        outcome.doubts |= {"pooled"} if more else set()
        outcome.doubts |= {"unread"} if len(answered) < len(records) else set()
    return replace(first, outcome=outcome)

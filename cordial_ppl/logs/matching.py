"""From evidence to one number per option."""

import sys
from collections.abc import Sequence

import numpy as np

from cordial_ppl.data.rounding import round_positions
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.logs.answers import Finder
from cordial_ppl.logs.evidence import ABSENT, ROUNDING, Answer, Evidence, Orders, Scores
from cordial_ppl.logs.masses import read_masses
from cordial_ppl.logs.reading import Reading, average, mix
from cordial_ppl.logs.spellings import Spellings, fold

BOUNDS = {
    "logit": (-np.inf, sys.float_info.max, "a number"),
    "logprob": (-np.inf, ROUNDING, "0 or below"),
    "p": (0.0, 1.0 + ROUNDING, "0..1"),
    "n": (0.0, sys.float_info.max, "0 or above"),
}
"""Between which numbers the scores of a kind are, and how a message says so."""


def read_evidence(evidence: Evidence, finder: Finder, round: str | None = None) -> Reading | None:
    """Make a reading of what a log holds of one text.

    Args:
        evidence: What it holds.
        finder: Finds answers in texts, and knows how options are written.
        round: What a number between two options counts for; None where it is no answer.

    Returns:
        The reading; None if it names no option.

    Raises:
        InputError: The evidence is of other options, or a number is not of its kind.
    """
    match evidence:
        case Orders(parts, swapped):
            readings = [read_evidence(part, finder, round) for part in parts]
            turns = swapped or [False] * len(parts)
            pairs = zip(readings, turns, strict=True)
            return average([one.turned() if one and turn else one for one, turn in pairs])
        case Scores():
            return _read_scores(evidence, finder.spellings)
        case answers if all(answer.positions for answer in answers):
            return mix([_read_tokens(answer, finder) for answer in answers])
        case answers:
            rounded = round and _round(answers, finder.spellings.scale, round)
            if rounded:
                return _read_scores(rounded, finder.spellings)
            return _count_answers(answers, finder)


def _round(answers: Sequence[Answer], scale: Scale, how: str) -> Scores | None:
    """Count averages for the options beside them; None if they are no such numbers.

    Of two options an average is a probability; of more it says less.
    """
    if scale.numbers is None:
        return None
    try:
        positions = scale.locate([answer.text for answer in answers])
    except InputError:
        return None
    rounded = round_positions(positions, scale, how)
    counts = np.bincount(rounded.labels, rounded.weights, scale.size)
    if how == "split" and scale.size == 2:
        return Scores("p", (counts / counts.sum()).tolist(), scale.options)
    return Scores("n", counts.tolist(), scale.options)


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
    span = finder.find(text, None if answer.value is None else spellings.match(answer.value))
    if span is None:
        return None
    # The token in which the answer starts, and what stands before the answer in it.
    ends = np.cumsum([len(piece) for piece in pieces])
    number = int(np.searchsorted(ends, span.start, side="right"))
    prefix = pieces[number][: span.start - int(ends[number]) + len(pieces[number])]
    # A model that writes " " and "4" might have written " 4".
    if number and not prefix and not pieces[number - 1].strip():
        others = map(fold, positions[number - 1].top)
        number -= any(spellings.meaning(other).whole is not None for other in others)
    written = text[span.start : span.end]
    reading = read_masses(spellings, positions[number:], prefix, written, ended=answer.ended)
    if reading is not None:
        reading.several = int(span.several)
    return reading


def _count_answers(answers: Sequence[Answer], finder: Finder) -> Reading | None:
    """Count the options that answers name."""
    spans = [finder.find(answer.text) for answer in answers]
    named = [span for span in spans if span is not None]
    if not named:
        return None
    names = finder.spellings.scale.options
    counts = np.bincount([span.option or 0 for span in named], minlength=len(names)).astype(float)
    return Reading(
        "n",
        counts,
        [[(name, n)] if n else [] for name, n in zip(names, counts.tolist(), strict=True)],
        unread=len(spans) - len(named),
        several=sum(span.several for span in named),
    )


def _read_scores(scores: Scores, spellings: Spellings) -> Reading | None:
    """Take numbers by the options that they are of; None if every option is without one."""
    kind, names = scores.kind, spellings.scale.options
    texts = names if scores.options is None else scores.options
    matches = [spellings.match(text) for text in texts]
    if len(texts) != len(scores.values) or set(matches) != set(range(len(names))):
        size = len(scores.values)
        listed = f", of {', '.join(texts)}" if scores.options else ""
        raise InputError(
            f"expected scores of the options {', '.join(names)}; found {size}{listed}. "
            "Logs of several scales are read one task at a time: --task NAME."
        )
    low, high, words = BOUNDS[kind]
    parts: list[list[tuple[str, float]]] = [[] for _ in names]
    for text, option, value in zip(texts, matches, scores.values, strict=True):
        if not low <= value <= high:
            raise InputError(f"the {kind} of {text!r} must be {words}; found {value:g}.")
        if option is not None and value > ABSENT:
            parts[option].append((text, value))
    add = np.logaddexp if kind in ("logit", "logprob") else np.add
    by_option = [[value for _, value in pairs] for pairs in parts]
    values = np.array([add.reduce(numbers) if numbers else np.nan for numbers in by_option])
    if np.isnan(values).all():
        return None
    # An option without a number is no likelier than the least likely text that has one.
    floored = np.flatnonzero(np.isnan(values)).tolist()
    values[floored] = min(map(min, filter(None, by_option)))
    return Reading(kind, values, parts, floored=floored)

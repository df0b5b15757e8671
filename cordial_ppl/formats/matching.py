"""From evidence of any kind to one number per option."""

from collections.abc import Sequence

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.formats.answers import Finder
from cordial_ppl.formats.evidence import (
    Answers,
    Evidence,
    Numbers,
    Reading,
    Samples,
    Sequences,
    Several,
    Tokens,
)
from cordial_ppl.formats.masses import ABSENT, ROUNDING, Masses
from cordial_ppl.formats.spellings import Spellings, fold


def read_evidence(evidence: Evidence, finder: Finder) -> Reading | None:
    """Make a reading of what a log holds of one text.

    Args:
        evidence: What it holds.
        finder: Finds answers in texts, and knows how options are written.

    Returns:
        The reading; None if it names no option.

    Raises:
        InputError: The evidence is of other options, or a number is not of its kind.
    """
    match evidence:
        case Tokens():
            return _read_tokens(evidence, finder)
        case Samples():
            return _read_samples(evidence, finder)
        case Sequences():
            return _read_sequences(evidence, finder.spellings)
        case Answers():
            return _read_answers(evidence, finder)
        case Numbers():
            return _read_numbers(evidence, finder.spellings)
        case Several():
            return average([read_evidence(part, finder) for part in evidence.parts])


def average(readings: Sequence[Reading | None]) -> Reading | None:
    r"""Average readings of one text with the options in several orders.

    Log-probabilities are averaged as they are, :math:`\ell_k = \frac{1}{P} \sum_p \ell_{pk}`: what
    a reader adds to an option's logit for its place cancels if every option stands in every place
    equally often; a mean of probabilities would keep it.  Counts of sampled answers add up.

    Args:
        readings: The readings, of one kind; None where an answer names no option.

    Returns:
        The mean of those that name one, which keeps all as its orders; an option is floored if any
        of them floored it.  None if there is none.

    Raises:
        InputError: They are of different kinds.
    """
    found = [reading for reading in readings if reading is not None]
    if not found:
        return None
    kinds = sorted({reading.kind for reading in found})
    if len(kinds) > 1:
        raise InputError(f"readings of one text must be of one kind; found {', '.join(kinds)}.")
    values = np.stack([reading.values for reading in found])
    values = values.sum(axis=0) if kinds == ["n"] else values.mean(axis=0)
    merged = _merge(found, values, [[] for _ in values])
    merged.floored = sorted({k for reading in found for k in reading.floored})
    merged.orders = tuple(readings)
    return merged


def _merge(found: Sequence[Reading], values: np.ndarray, parts: list) -> Reading:
    """Make a reading of several, with what is to be said of each."""
    return Reading(
        kind=found[0].kind,
        values=values,
        parts=parts,
        floored=[k for k, texts in enumerate(parts) if not texts],
        guessed=sorted({k for reading in found for k in reading.guessed}),
        share=float(np.mean([reading.share for reading in found])),
        unread=sum(reading.unread for reading in found),
        several=sum(reading.several for reading in found),
    )


def _read_tokens(tokens: Tokens, finder: Finder) -> Reading | None:
    """Read the options' log-probabilities where the answer starts."""
    pieces = [fold(position.token) for position in tokens.positions]
    spellings, text = finder.spellings, "".join(pieces)
    masses = Masses(spellings)
    if len(pieces) == 1 and finder.before is None:
        # A single token is the answer, whatever it is: its alternatives may be options.
        said = text if spellings.whole(text) is not None else None
        masses.follow(tokens.positions, answer=said, ended=tokens.ended)
        reading = masses.reading()
        finder.counts["alone" if reading else "prose"] += 1
        return reading
    place = finder.find(text)
    if place is None:
        return None
    # The token in which the answer starts, and what stands before the answer in it.
    ends = np.cumsum([len(piece) for piece in pieces])
    number = int(np.searchsorted(ends, place.start, side="right"))
    prefix = pieces[number][: place.start - int(ends[number]) + len(pieces[number])]
    # A model that writes " " and "4" might have written " 4".
    if number and not prefix and not pieces[number - 1].strip():
        others = map(fold, tokens.positions[number - 1].top)
        number -= any(spellings.meaning(own).whole is not None for own in others)
    answer = text[place.start : place.end]
    masses.follow(tokens.positions[number:], prefix, answer, ended=tokens.ended)
    reading = masses.reading()
    if reading is not None:
        reading.several = int(place.several)
    return reading


def _read_samples(samples: Samples, finder: Finder) -> Reading | None:
    r"""Average the options' probabilities over the samples that name one.

    :math:`\ell_k = \log \frac{1}{S} \sum_s e^{\ell_k^{(s)}}`, which is less noisy than counting.
    """
    each = [_read_tokens(tokens, finder) for tokens in samples.answers]
    found = [reading for reading in each if reading is not None]
    if not found:
        return None
    less = float(np.log(len(found)))
    values = np.logaddexp.reduce([reading.values for reading in found]) - less
    parts = [
        [(text, score - less) for reading in found for text, score in reading.parts[k]]
        for k in range(len(values))
    ]
    merged = _merge(found, values, parts)
    merged.unread = len(each) - len(found)
    return merged


def _read_sequences(sequences: Sequences, spellings: Spellings) -> Reading | None:
    """Add up the log-likelihoods of the texts that mean each option."""
    names = spellings.scale.options
    found: list[list[tuple[str, float]]] = [[] for _ in names]
    for text, score in sequences.scores.items():
        option = spellings.match(text)
        if option is None:
            raise _other_options(names, f"found a score of {text!r}")
        if not score <= ROUNDING:
            raise InputError(f"log-likelihoods must be 0 or below; found {score} of {text!r}.")
        found[option].append((text, score))
    lacking = [name for name, scores in zip(names, found, strict=True) if not scores]
    if lacking:
        raise _other_options(names, f"there is none of {', '.join(lacking)}")
    parts = [[(text, score) for text, score in own if score > ABSENT] for own in found]
    known = [score for scores in parts for _, score in scores]
    if not known:
        return None
    values = np.array(
        [np.logaddexp.reduce([score for _, score in own]) if own else min(known) for own in parts]
    )
    return Reading("logprob", values, parts, [k for k, own in enumerate(parts) if not own])


def _other_options(names: Sequence[str], found: str) -> InputError:
    return InputError(
        f"expected scores of the options {', '.join(names)}; {found}. "
        "Logs of several scales are read one task at a time: --task NAME."
    )


def _read_answers(answers: Answers, finder: Finder) -> Reading | None:
    """Count the options that sampled answers name."""
    places = [finder.find(text) for text in answers.texts]
    found = [place for place in places if place is not None]
    if not found:
        return None
    names = finder.spellings.scale.options
    counts = np.bincount([place.option or 0 for place in found], minlength=len(names)).astype(float)
    return Reading(
        "n",
        counts,
        [[(name, n)] if n else [] for name, n in zip(names, counts.tolist(), strict=True)],
        unread=len(places) - len(found),
        several=sum(place.several for place in found),
    )


def _read_numbers(numbers: Numbers, spellings: Spellings) -> Reading | None:
    """Take numbers as they are; None if every logit is -inf."""
    names = spellings.scale.options
    given = [name.strip() for name in numbers.options or names]
    if len(numbers.values) != len(names) or sorted(given) != sorted(names):
        found = f" of {', '.join(given)}" if numbers.options else ""
        raise InputError(
            f"expected {len(names)} numbers, of {', '.join(names)}; "
            f"found {len(numbers.values)}{found}."
        )
    by_name = dict(zip(given, numbers.values, strict=True))
    values = np.array([by_name[name] for name in names], np.float64)
    wrong = np.isnan(values) | (values == np.inf) | (numbers.kind in ("p", "n")) & (values < 0)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(f"{numbers.kind}_{names[k]} must be a number; found {values[k]:g}.")
    # An option that was not read has the logit -inf.
    absent = values <= ABSENT
    if absent.all():
        return None
    values[absent] = values[~absent].min()
    parts = [
        [] if gone else [(name, value)]
        for name, value, gone in zip(names, values.tolist(), absent, strict=True)
    ]
    return Reading(numbers.kind, values, parts, floored=np.flatnonzero(absent).tolist())

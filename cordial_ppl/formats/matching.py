"""From evidence to one number an option, whatever the evidence is."""

import re

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.formats.answers import find_answer
from cordial_ppl.formats.averaging import average
from cordial_ppl.formats.evidence import (
    Answers,
    Evidence,
    Numbers,
    Samples,
    Sequences,
    Several,
    Tokens,
)
from cordial_ppl.formats.masses import ABSENT, ROUNDING
from cordial_ppl.formats.reading import Reading
from cordial_ppl.formats.spellings import Spellings
from cordial_ppl.formats.tokens import read_samples, read_tokens


def read_evidence(
    evidence: Evidence, spellings: Spellings, before: re.Pattern[str] | None = None
) -> Reading | None:
    """Make a reading of what a log holds of one text.

    Args:
        evidence: What it holds.
        spellings: How options are written.
        before: What answers follow, if that is known.

    Returns:
        The reading; None if there is no option in it.

    Raises:
        InputError: The evidence is not of these options, or a number is not of its kind.
    """
    match evidence:
        case Tokens():
            return read_tokens(evidence, spellings, before)
        case Samples():
            return read_samples(evidence, spellings, before)
        case Sequences():
            return read_sequences(evidence, spellings)
        case Answers():
            return read_answers(evidence, spellings, before)
        case Numbers():
            return read_numbers(evidence, spellings)
        case Several():
            return average([read_evidence(part, spellings, before) for part in evidence.parts])


def read_sequences(sequences: Sequences, spellings: Spellings) -> Reading | None:
    """Add up the log-likelihoods of the texts that mean each option.

    Args:
        sequences: Log-likelihoods by text.
        spellings: How options are written.

    Returns:
        The reading; None if no option has a log-likelihood.

    Raises:
        InputError: A text is none of the options, an option has no text, or a log-likelihood is
            NaN or above 0.
    """
    names = spellings.scale.options
    parts: list[list[tuple[str, float]]] = [[] for _ in names]
    scored = set()
    for text, score in sequences.scores.items():
        option = spellings.match(text)
        if option is None:
            raise InputError(
                f"expected the options {', '.join(names)}; found a score of {text!r}. "
                "Logs of several scales are read one task at a time: --task NAME."
            )
        scored.add(option)
        if not score <= ROUNDING:
            raise InputError(f"log-likelihoods must be 0 or below; found {score} of {text!r}.")
        if score > ABSENT:
            parts[option].append((text, score))
    lacking = [name for k, name in enumerate(names) if k not in scored]
    if lacking:
        raise InputError(
            f"expected scores of the options {', '.join(names)}; there is none of "
            f"{', '.join(lacking)}. Logs of several scales are read one task at a time: "
            "--task NAME."
        )
    known = [score for scores in parts for _, score in scores]
    if not known:
        return None
    values = np.array(
        [np.logaddexp.reduce([score for _, score in own]) if own else min(known) for own in parts]
    )
    return Reading("logprob", values, parts, [k for k, own in enumerate(parts) if not own])


def read_answers(
    answers: Answers, spellings: Spellings, before: re.Pattern[str] | None = None
) -> Reading | None:
    """Count the options that sampled answers name.

    Args:
        answers: The answers.
        spellings: How options are written.
        before: What the answer follows, if that is known.

    Returns:
        Counts; None if no answer names an option.
    """
    found = [find_answer(text, spellings, before) for text in answers.texts]
    places = [place for place in found if place is not None]
    if not places:
        return None
    counts = np.bincount([place.option for place in places], minlength=spellings.scale.size).astype(
        np.float64
    )
    parts = [
        [(option, count)] if count else []
        for option, count in zip(spellings.scale.options, counts.tolist(), strict=True)
    ]
    return Reading(
        "n",
        counts,
        parts,
        unread=len(found) - len(places),
        several=sum(place.several for place in places),
    )


def read_numbers(numbers: Numbers, spellings: Spellings) -> Reading | None:
    """Take numbers as they are.

    Args:
        numbers: One an option.
        spellings: How options are written.

    Returns:
        The reading; None if every logit is -inf.

    Raises:
        InputError: There are more or fewer numbers than options, they are of other options, or
            one is NaN, infinite, or negative where that is impossible.
    """
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
    wrong = np.isnan(values) | (values == np.inf)
    if numbers.kind in ("p", "n"):
        wrong |= values < 0
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

"""From generated tokens with their alternatives to one log-probability an option."""

import re

import numpy as np

from cordial_ppl.formats.answers import find_answer
from cordial_ppl.formats.evidence import Samples, Tokens
from cordial_ppl.formats.masses import Masses
from cordial_ppl.formats.reading import Reading
from cordial_ppl.formats.signs import fold
from cordial_ppl.formats.spellings import Spellings


def read_tokens(
    tokens: Tokens, spellings: Spellings, before: re.Pattern[str] | None = None
) -> Reading | None:
    """Read the options' log-probabilities where the answer starts.

    Args:
        tokens: A generated answer with the alternatives at each token.
        spellings: How options are written.
        before: What the answer follows, if that is known.

    Returns:
        The reading; None if the answer names no option, or nothing there means one.

    Raises:
        InputError: A log-probability is NaN or above 0.
    """
    pieces = [fold(position.token) for position in tokens.positions]
    masses = Masses(spellings)
    if len(pieces) == 1 and before is None:
        said = pieces[0] if spellings.whole(pieces[0]) is not None else None
        masses.follow(tokens.positions, answer=said, ended=tokens.ended)
        return masses.reading()
    text = "".join(pieces)
    place = find_answer(text, spellings, before)
    if place is None:
        return None
    # The token in which the answer starts, and what of it stands before the answer.
    ends = np.cumsum([len(piece) for piece in pieces])
    number = int(np.searchsorted(ends, place.start, side="right"))
    prefix = pieces[number][: place.start - int(ends[number]) + len(pieces[number])]
    # A model that writes " " and "4" might have written " 4", too.
    if number and not prefix and not pieces[number - 1].strip():
        others = map(fold, tokens.positions[number - 1].top)
        number -= any(spellings.meaning(own).whole is not None for own in others)
    answer = text[place.start : place.end]
    masses.follow(tokens.positions[number:], prefix, answer, ended=tokens.ended)
    reading = masses.reading()
    if reading is not None:
        reading.several = int(place.several)
    return reading


def read_samples(
    samples: Samples, spellings: Spellings, before: re.Pattern[str] | None = None
) -> Reading | None:
    r"""Average the options' probabilities over the samples that name one.

    :math:`\ell_k = \log \frac{1}{S} \sum_s e^{\ell_k^{(s)}}`: what follows from each sample's
    reasoning, averaged over the reasoning, and less noisy than counting the samples.

    Args:
        samples: Several answers to one prompt.
        spellings: How options are written.
        before: What answers follow, if that is known.

    Returns:
        The reading; None if no sample names an option.

    Raises:
        InputError: A log-probability is NaN or above 0.
    """
    each = [read_tokens(tokens, spellings, before) for tokens in samples.answers]
    found = [reading for reading in each if reading is not None]
    if not found:
        return None
    less = float(np.log(len(found)))
    values = np.logaddexp.reduce([reading.values for reading in found]) - less
    parts = [
        [(text, score - less) for reading in found for text, score in reading.parts[k]]
        for k in range(len(values))
    ]
    return Reading(
        "logprob",
        values,
        parts,
        floored=[k for k, texts in enumerate(parts) if not texts],
        guessed=sorted({k for reading in found for k in reading.guessed}),
        share=float(np.mean([reading.share for reading in found])),
        unread=len(each) - len(found),
        several=sum(reading.several for reading in found),
    )

r"""From tokens with their alternatives to one log-probability an option.

Tokens that mean the same option add up, :math:`\ell_k = \log \sum_{t \mapsto k} e^{\ell_t}`.  An
option of several tokens is followed along the tokens that were chosen,
:math:`\ell_k = \sum_i \ell(t_i \mid t_{<i})`; where another token was chosen, nothing is known of
how it would have gone on, and its first token speaks for it.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.formats.answers import find_answer
from cordial_ppl.formats.evidence import Position, Samples, Tokens
from cordial_ppl.formats.reading import Reading
from cordial_ppl.formats.spellings import MARKS, Meaning, Spellings

ABSENT = -9000.0
"""Log-probabilities below it mean that a server did not have one (OpenAI and others: -9999)."""

ROUNDING = 1e-3
"""How far above 0 rounding may put a log-probability."""

LEAST = 1e-4
"""Probability that is left to all other options, at least, where a single one was returned."""


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
    start = _start(tokens, spellings, before)
    if start is None:
        return None
    number, prefix = start
    masses = _Masses(spellings)
    masses.follow(tokens.positions[number:], prefix)
    return masses.reading()


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
    )


class _Masses:
    """Log masses by option, while they are collected."""

    def __init__(self, spellings: Spellings):
        size = spellings.scale.size
        self.spellings = spellings
        self.parts: list[list[tuple[str, float]]] = [[] for _ in range(size)]
        self.guessed: set[int] = set()
        # What was not returned is no more likely than the least of what was.
        self.floors = np.full(size, np.inf)

    def follow(self, positions: Sequence[Position], prefix: str) -> None:
        """Walk along the chosen tokens for as long as an option may go on."""
        said, path = "", 0.0
        going = frozenset(range(len(self.parts)))
        for number, position in enumerate(positions):
            last = number + 1 == len(positions)
            top = {
                token: score for token, score in position.top.items() if not _absent(token, score)
            }
            if top:
                least = path + min(top.values())
                for option in going:
                    self.floors[option] = min(self.floors[option], least)
            texts = {
                token: said + token.translate(MARKS).removeprefix("" if said else prefix)
                for token in top
            }
            # A vocabulary with a token for "10" does not write it as "1" and "0".
            seen = {self.spellings.meaning(text).whole for text in texts.values()}
            chosen, ended = None, 1.0
            for token, score in top.items():
                text = texts[token]
                _, whole, begun = self._meaning(said, text)
                begun = begun - seen if begun else begun
                if whole is not None or begun or _goes_on(text, len(said)):
                    ended -= math.exp(score)
                if begun and token == position.token and not last:
                    chosen = text, path + score, begun
                elif whole is not None:
                    self._add(whole, text, path + score)
                    self.guessed |= {whole, *begun} if begun else set()
                elif begun:
                    # Options that begin alike share what is known of their beginning.
                    for option in begun:
                        self._add(option, f"{text}...", path + score - math.log(len(begun)))
                    self.guessed |= begun
            stopped = self.spellings.match(said) if said else None
            if stopped is not None and ended > 0.0:
                self._add(stopped, said, path + math.log(ended))
            if chosen is None:
                return
            said, path, going = chosen

    def reading(self) -> Reading | None:
        """The reading; None if nothing spoke for any option."""
        size = len(self.parts)
        floored = [option for option in range(size) if not self.parts[option]]
        if len(floored) == size:
            return None
        values = self.floors.copy()
        for option, parts in enumerate(self.parts):
            if parts:
                values[option] = np.logaddexp.reduce([score for _, score in parts])
        share = float(sum(np.exp(values[k]) for k in range(size) if k not in floored))
        if len(floored) == size - 1:
            # The others have what is left, which may be less than the only token returned.
            left = np.log(max(1.0 - share, LEAST) / len(floored))
            values[floored] = np.minimum(values[floored], left)
        return Reading("logprob", values, self.parts, floored, sorted(self.guessed), share)

    def _add(self, option: int, text: str, score: float) -> None:
        self.parts[option].append((text, score))

    def _meaning(self, said: str, text: str) -> Meaning:
        """What a text is, and what else it may become, after the beginning that was said."""
        plain, whole, begun = found = self.spellings.meaning(text)
        if said and plain == self.spellings.meaning(said).plain:
            # What stands around a word adds nothing to it.
            return Meaning(plain, None, frozenset())
        return Meaning(plain, whole, begun - {whole}) if whole in begun else found


def _absent(token: str, score: float) -> bool:
    """Whether a server had no log-probability of a token; what it had must be one."""
    if not score <= ROUNDING:
        raise InputError(
            f"log-probabilities must be 0 or below; found {score} of the token {token!r}."
        )
    return score <= ABSENT


def _goes_on(text: str, said: int) -> bool:
    """Whether a word that was said goes on: "1" with "5", which is no option then."""
    return said > 0 and text[said - 1].isalnum() and text[said : said + 1].isalnum()


def _start(
    tokens: Tokens, spellings: Spellings, before: re.Pattern[str] | None
) -> tuple[int, str] | None:
    """The token in which the answer starts, and what of it stands before the answer."""
    pieces = [position.token.translate(MARKS) for position in tokens.positions]
    if len(pieces) == 1 and before is None:
        return 0, ""
    place = find_answer("".join(pieces), spellings, before)
    if place is None:
        return None
    ends = np.cumsum([len(piece) for piece in pieces])
    number = int(np.searchsorted(ends, place.start, side="right"))
    return number, pieces[number][: place.start - int(ends[number]) + len(pieces[number])]

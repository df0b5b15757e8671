r"""From evidence to one number an option, and which token gave it what.

Tokens that mean the same option add up, :math:`\ell_k = \log \sum_{t \mapsto k} e^{\ell_t}`.  An
option of several tokens is followed along the tokens that were chosen,
:math:`\ell_k = \sum_i \ell(t_i \mid t_{<i})`; where another token was chosen, nothing is known of
how it would have gone on, and its first token speaks for it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.formats.answers import find_answer
from cordial_ppl.formats.evidence import Answers, Numbers, Position, Sequences, Tokens
from cordial_ppl.formats.spellings import MARKS, Spellings

ABSENT = -9000.0
"""Log-probabilities below it mean that a server did not have one (llama.cpp and others: -9999)."""


@dataclass(slots=True)
class Reading:
    """A reading of one text.

    Attributes:
        kind: "logprob", "n", "logit" or "p".
        values: One number an option, [K].
        parts: What each option's number is made of: (text, number).
        floored: Options that nothing was said of, which got the smallest log-probability returned.
        guessed: Options of several tokens of which only the first was seen, or shared ones.
        share: Probability of all options together, as far as it was returned; NaN where unknown.
        unread: Answers that name no option.
    """

    kind: str
    values: Float64[np.ndarray, " K"]
    parts: list[list[tuple[str, float]]]
    floored: list[int] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)
    share: float = np.nan
    unread: int = 0


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
    """
    start = _start(tokens, spellings, before)
    if start is None:
        return None
    number, prefix = start
    masses = _Masses(spellings)
    masses.follow(tokens.positions[number:], prefix)
    return masses.reading()


def read_sequences(sequences: Sequences, spellings: Spellings) -> Reading | None:
    """Add up the log-likelihoods of the texts that mean each option.

    Args:
        sequences: Log-likelihoods by text.
        spellings: How options are written.

    Returns:
        The reading; None if no option was scored.

    Raises:
        InputError: A text is none of the options.
    """
    masses = _Masses(spellings)
    for text, score in sequences.scores.items():
        option = spellings.match(text)
        if option is None:
            raise InputError(
                f"expected the options {', '.join(spellings.scale.options)}; found a score of "
                f"{text!r}. Logs of several scales are read one task at a time: --task NAME."
            )
        if score > ABSENT:
            masses.add(option, text, score)
    found = masses.reading()
    if found is None:
        return None
    found.share = np.nan
    return found


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
    counts = np.zeros(spellings.scale.size)
    for text in answers.texts:
        place = find_answer(text, spellings, before)
        if place is not None:
            counts[place.option] += 1
    if not counts.any():
        return None
    parts = [
        [(option, count)] if count else []
        for option, count in zip(spellings.scale.options, counts.tolist(), strict=True)
    ]
    return Reading("n", counts, parts, unread=len(answers.texts) - int(counts.sum()))


def read_numbers(numbers: Numbers, spellings: Spellings) -> Reading:
    """Take numbers as they are.

    Args:
        numbers: One an option, in the scale's order.
        spellings: How options are written.

    Returns:
        The reading.

    Raises:
        InputError: There are more or fewer numbers than options.
    """
    size = spellings.scale.size
    if len(numbers.values) != size:
        raise InputError(f"expected {size} numbers, one an option; found {len(numbers.values)}.")
    names = spellings.scale.options
    values = np.asarray(numbers.values, float)
    parts = [[(name, value)] for name, value in zip(names, values.tolist(), strict=True)]
    return Reading(numbers.kind, values, parts)


class _Masses:
    """Log masses by option, while they are collected."""

    def __init__(self, spellings: Spellings):
        self.spellings = spellings
        self.parts: list[list[tuple[str, float]]] = [[] for _ in range(spellings.scale.size)]
        self.guessed: set[int] = set()
        self.smallest = np.inf

    def add(self, option: int, text: str, score: float) -> None:
        """Let a text speak for an option."""
        self.parts[option].append((text, score))
        self.smallest = min(self.smallest, score)

    def follow(self, positions: Sequence[Position], prefix: str) -> None:
        """Walk along the chosen tokens for as long as an option may go on."""
        said, path, position = "", 0.0, positions[0]
        for later in [*positions[1:], None]:
            chosen = None
            # What of the probability does not carry on what was said, and so ends it.
            left = 1.0
            for token, score in position.top.items():
                if not score > ABSENT:
                    continue
                self.smallest = min(self.smallest, path + score)
                text = said + token.translate(MARKS).removeprefix("" if said else prefix)
                whole, begun = self._meaning(said, text)
                if whole is None and not begun:
                    continue
                left -= np.exp(score)
                if begun and token == position.token and later is not None:
                    chosen = text, path + score
                elif whole is not None:
                    self.add(whole, text, path + score)
                    if begun:
                        self.guessed |= {whole, *begun}
                else:
                    # Options that begin alike share what is known of their beginning.
                    for option in begun:
                        self.add(option, f"{text}...", path + score - float(np.log(len(begun))))
                    self.guessed |= begun
            ended = self.spellings.match(said) if said else None
            if ended is not None and left > 0.0:
                self.add(ended, said, path + float(np.log(left)))
            if chosen is None or later is None:
                return
            (said, path), position = chosen, later

    def _meaning(self, said: str, text: str) -> tuple[int | None, frozenset[int]]:
        """The option that a text is, and the others that it may become."""
        plain = self.spellings.plain
        if said and plain(text) == plain(said):
            # What stands around a word adds nothing to it.
            return None, frozenset()
        whole = self.spellings.match(text)
        return whole, self.spellings.begun(text) - {whole}

    def reading(self) -> Reading | None:
        """The reading; None if nothing spoke for any option."""
        size = len(self.parts)
        floored = [option for option in range(size) if not self.parts[option]]
        if len(floored) == size:
            return None
        values = np.full(size, self.smallest)
        for option, parts in enumerate(self.parts):
            if parts:
                values[option] = np.logaddexp.reduce([score for _, score in parts])
        share = float(sum(np.exp(values[k]) for k in range(size) if k not in floored))
        return Reading("logprob", values, self.parts, floored, sorted(self.guessed), share)


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

r"""The probability of each option, collected from the tokens and their alternatives.

Tokens that mean the same option add up, :math:`\ell_k = \log \sum_{t \mapsto k} e^{\ell_t}`.  A
number of several tokens ("1", "0") is followed along the chosen ones,
:math:`\ell_k = \sum_i \ell(t_i \mid t_{<i})`; how another token would have gone on is unknown, and
the numbers that it is or begins share it equally.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from cordial_ppl.logs.evidence import Position
from cordial_ppl.logs.spellings import Spellings, fold

DIGITS = ".0123456789"

GOES_ON = re.compile(r"\w|[.,]\d|\.\Z")
"""What continues a number: the "5" of "1.5", a "." at the end of a token."""

LEAST = 1e-4
"""Least probability that is left to the options that were not returned, together."""


@dataclass(slots=True)
class Reading:
    """The reading of one text.

    Attributes:
        kind: "logprob", "n", "logit" or "p".
        values: One number per option, [K].
        floored: Options without evidence, which got the smallest log-probability returned.
        guessed: Options that share the probability of a token that may begin several.
        share: Probability of all options together, as far as it was returned; NaN if unknown.
        unread: Answers that name no option.
        several: Answers that announce different options, of which the last was taken.
        dropped: Orders of the options in which the answer names none.
    """

    kind: str
    values: Float64[np.ndarray, " K"]
    floored: list[int] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)
    share: float = np.nan
    unread: int = 0
    several: int = 0
    dropped: int = 0

    @property
    def lone(self) -> bool:
        """Return whether a single option was returned, so that the others share what it leaves."""
        return len(self.floored) == len(self.values) - 1


def read_masses(
    spellings: Spellings,
    positions: Sequence[Position],
    prefix: str = "",
    answer: str | None = None,
    *,
    ended: bool = False,
) -> Reading | None:
    """Collect the options' probabilities where an answer starts.

    Args:
        spellings: How options are written.
        positions: The tokens, from that in which the answer starts.
        prefix: What stands before the answer in the first.
        answer: The option as it was written, if it was found in the text.
        ended: Whether the model ended the answer after the last of them.

    Returns:
        The reading; None if there is evidence for no option, or the answer may have gone on to be
        another.
    """
    # A model that writes "b" for B does not mean the article with "a".
    cased = answer is None or spellings.match(answer, cased=True) is not None
    size, match = spellings.scale.size, spellings.match
    values, floors = np.full(size, -np.inf), np.full(size, np.inf)
    guessed: set[int] = set()
    written, path, possible = "", 0.0, frozenset(range(size))
    for number, position in enumerate(positions):
        pieces = {token: fold(token) for token in position.top}
        if not number:
            pieces = {token: piece.removeprefix(prefix) for token, piece in pieces.items()}
        first, stopped, rest, going = not written.strip(), match(written, cased), 1.0, None
        # A vocabulary with a token for "10" does not write it as "1" and "0".
        single = {match(piece, cased) for piece in pieces.values()} if first else set()
        for option in possible if pieces else ():
            floors[option] = min(floors[option], path + min(position.top.values()))
        for token, score in position.top.items():
            text, chosen = written + pieces[token], token == position.token
            goes_on = chosen and number + 1 < len(positions)
            whole = match(text, cased)
            if not text.strip():
                going = (text, path + score, possible) if goes_on else going
                continue
            if not first and not GOES_ON.match(pieces[token]):
                continue
            begun = spellings.begun(text) - {whole, *single}
            is_number = text[-1] in DIGITS
            if not is_number and len(begun) > 1 or chosen and begun and not goes_on and not ended:
                # Its end is unknown: "very" of two options, or "1" that may have become "10".
                if chosen and (is_number or whole is None):
                    return None
                begun = frozenset()
            if chosen and whole is None and not begun and answer and answer in text:
                whole = match(answer)
            if chosen and begun and is_number and goes_on:
                going = text, path + score, begun | ({whole} - {None})
                rest -= np.exp(score)
                continue
            begun = begun if not chosen or whole is None else frozenset()
            options = begun if whole is None else begun | {whole}
            if begun or whole != stopped or stopped is None:
                rest -= np.exp(score)
                part = path + score - np.log(max(len(options), 1))
                for option in options:
                    values[option] = np.logaddexp(values[option], part)
                guessed |= options if begun else frozenset()
        if stopped is not None and rest > 0.0:
            values[stopped] = np.logaddexp(values[stopped], path + np.log(rest))
        if going is None:
            break
        written, path, possible = going
    return _close(values, floors, sorted(guessed))


def _close(values: np.ndarray, floors: np.ndarray, guessed: list[int]) -> Reading | None:
    """Fill in the options that have no evidence."""
    there = np.isfinite(values)
    if not there.any():
        return None
    share = float(np.exp(values[there]).sum())
    if not there.all():
        # They have no more than what is left, which may be less than the least returned.
        left = np.log(max(1.0 - share, LEAST) / (~there).sum())
        values = np.where(there, values, np.minimum(floors, left))
    return Reading("logprob", values, np.flatnonzero(~there).tolist(), guessed, share)


def mix(readings: Sequence[Reading | None], orders: bool = False) -> Reading | None:
    r"""Average readings of one text.

    Of answers to one prompt the options' probabilities are averaged,
    :math:`\ell_k = \log \frac{1}{S} \sum_s e^{\ell_k^{(s)}}`, which is less noisy than counting. Of
    orders of the options the log-probabilities are, :math:`\ell_k = \frac{1}{P} \sum_p \ell_{pk}`:
    what a reader adds to an option's logit for its place cancels if every option stands in every
    place equally often. Counts of sampled answers add up.

    Args:
        readings: The readings, of one kind; None where an answer names no option.
        orders: Whether the options were listed in several orders.

    Returns:
        The mean of those that name one; None if there is none.
    """
    valid = [reading for reading in readings if reading is not None]
    if len(valid) < 2 and len(readings) == len(valid):
        return valid[0] if valid else None
    if not valid:
        return None
    values, lost = np.stack([reading.values for reading in valid]), len(readings) - len(valid)
    mean = values.mean(axis=0) if orders else np.logaddexp.reduce(values) - np.log(len(valid))
    floored = [set(reading.floored) for reading in valid]
    return Reading(
        valid[0].kind,
        values.sum(axis=0) if valid[0].kind == "n" else mean,
        sorted(set.union(*floored) if orders else set.intersection(*floored)),
        sorted({k for reading in valid for k in reading.guessed}),
        float(np.mean([reading.share for reading in valid])),
        unread=sum(reading.unread for reading in valid) + (0 if orders else lost),
        several=sum(reading.several for reading in valid),
        dropped=lost if orders else 0,
    )

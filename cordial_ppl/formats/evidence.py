"""What a log holds of one text: evidence for a reading, or the reason why there is none."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError


class Position(NamedTuple):
    """One generated token and its alternatives.

    Attributes:
        token: The chosen token, as text.
        top: Log-probability (nats) of each token that the log lists, the chosen one included.
    """

    token: str
    top: Mapping[str, float]


def make_position(
    token: str, score: float | None, others: Iterable[tuple[str, float | None]]
) -> Position:
    """Make a position from what a log lists.

    Args:
        token: The chosen token.
        score: Its log-probability (nats); None if unknown.
        others: Tokens with their log-probabilities, perhaps with the chosen one.  Different tokens
            of the same text add up; a token that is listed twice counts once.

    Returns:
        The position.

    Raises:
        TypeError: A token is not text.
    """
    top: dict[str, float] = {}
    for text, found in others:
        if not isinstance(text, str):
            raise TypeError(f"a token must be text, not {text!r}")
        if found is None:
            continue
        known = top.get(text)
        both = found if known is None or known == found else np.logaddexp(known, found)
        top[text] = float(both)
    if not isinstance(token, str):
        raise TypeError(f"a token must be text, not {token!r}")
    if score is not None:
        top.setdefault(token, float(score))
    return Position(token, top)


class Tokens(NamedTuple):
    """A generated answer, token by token.

    Attributes:
        positions: The tokens in order, at least one.
        ended: Whether the log says that the model ended the answer; otherwise it may be cut off.
    """

    positions: Sequence[Position]
    ended: bool = False


class Samples(NamedTuple):
    """Several generated answers to one prompt, each token by token."""

    answers: Sequence[Tokens]


def of_choices(tokens: Sequence[Tokens | None], texts: Sequence[str]) -> "Evidence":
    """Make evidence of one prompt's answers.

    Args:
        tokens: Their tokens; None for an answer without log-probabilities.
        texts: The same answers as text, which count unless all have tokens.

    Returns:
        The evidence.
    """
    known = [answer for answer in tokens if answer is not None]
    if not known or len(known) < len(tokens):
        return Answers(texts)
    return known[0] if len(known) == 1 else Samples(known)


class Sequences(NamedTuple):
    """Log-likelihood (nats) of each option's text as a continuation of the prompt."""

    scores: Mapping[str, float]


class Answers(NamedTuple):
    """One or several answers as text alone."""

    texts: Sequence[str]


class Numbers(NamedTuple):
    """A number for each option.

    Attributes:
        kind: "logit", "logprob", "p" or "n".
        values: The K numbers.
        options: The option of each; None if they are in the order of the scale.
    """

    kind: str
    values: Sequence[float]
    options: Sequence[str] | None = None


class Several(NamedTuple):
    """What the same text gave with the options in several orders."""

    parts: Sequence[Tokens | Samples | Sequences | Answers | Numbers]


Evidence = Tokens | Samples | Sequences | Answers | Numbers | Several


@dataclass(frozen=True, slots=True)
class Record:
    """What a log says of one text.

    Attributes:
        item_id: The text; None if the log does not name it, and then its number is its name.
        evidence: What the reading is made from; None if there is only a label.
        place: Where it stands, for messages: "line 7".
        reader: Who read it, usually the model's name.
        task: What was asked.
        label: A person's label.
        user: That person.
        made: How the reading was made: "model", "prompt", "decoding", "date".
    """

    item_id: str | None
    evidence: Evidence | None
    place: str
    reader: str | None = None
    task: str | None = None
    label: str | None = None
    user: str | None = None
    made: Mapping[str, str] = field(default_factory=dict)


class Failed(NamedTuple):
    """A request without an answer.

    Attributes:
        place: Where it stands, for messages.
        why: What the log says of it.
        task: What was asked.
        reader: Who was asked; None if only an answer would say.
    """

    place: str
    why: str
    task: str | None = None
    reader: str | None = None


class Unlabelled(NamedTuple):
    """Targets that cannot be told apart: why not, and what to do.  An error if labels are asked."""

    why: str


Entry = Record | Failed | Unlabelled
"""What a format yields."""


class NoAnswer(InputError):
    """A request failed, and the log says so."""


@dataclass(slots=True)
class Reading:
    """The reading of one text.

    Attributes:
        kind: "logprob", "n", "logit" or "p".
        values: One number per option, [K].
        parts: What each option's number is made of: (text, number).
        floored: Options without evidence, which got the smallest log-probability returned.
        guessed: Options of several tokens of which only the first was seen, or which share it.
        share: Probability of all options together, as far as it was returned; NaN if unknown.
        unread: Answers that name no option.
        several: Answers that announce different options, of which the last was taken.
        orders: The readings that this one is the mean of, one for each order of the options; None
            for an order whose answer names no option.
    """

    kind: str
    values: Float64[np.ndarray, " K"]
    parts: list[list[tuple[str, float]]]
    floored: list[int] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)
    share: float = np.nan
    unread: int = 0
    several: int = 0
    orders: "Sequence[Reading | None]" = ()

    @property
    def lone(self) -> bool:
        """Whether a single option was returned, so that the others share what it leaves."""
        if self.orders:
            return any(order is not None and order.lone for order in self.orders)
        return len(self.floored) == len(self.parts) - 1

    @property
    def dropped(self) -> int:
        """The number of orders whose answer names no option: position effects do not cancel."""
        return sum(order is None for order in self.orders)

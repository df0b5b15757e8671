"""What a log holds of one text: the evidence that a reading is made from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Position(NamedTuple):
    """One generated token and what else could have stood there.

    Attributes:
        token: The token that was chosen, as text.
        top: Log-probability (nats) of each token that the log names, the chosen one among them.
    """

    token: str
    top: Mapping[str, float]


def make_position(
    token: str, score: float | None, others: Iterable[tuple[str, float | None]]
) -> Position:
    """Put together what a log says of one token.

    Args:
        token: The token that was chosen.
        score: Its log-probability (nats); None if the log does not say.
        others: Tokens with their log-probabilities, the chosen one perhaps among them; two tokens
            of the same text add up, one that is listed twice counts once.

    Returns:
        The position.

    Raises:
        TypeError: A token is no text.
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
        ended: Whether the model ended it, as far as the log says; otherwise it may have been cut.
    """

    positions: Sequence[Position]
    ended: bool = False


class Samples(NamedTuple):
    """Several generated answers to one prompt, each token by token.

    Attributes:
        answers: The answers, at least one.
    """

    answers: Sequence[Tokens]


class Sequences(NamedTuple):
    """Whole options, each scored as a continuation of the prompt.

    Attributes:
        scores: Log-likelihood (nats) of each option's text.
    """

    scores: Mapping[str, float]


class Answers(NamedTuple):
    """Answers as text alone, one or several samples.

    Attributes:
        texts: The answers.
    """

    texts: Sequence[str]


class Numbers(NamedTuple):
    """A number for each option, as a table has them.

    Attributes:
        kind: "logit", "logprob", "p" or "n".
        values: The K numbers.
        options: The option of each; None where they are in the scale's order.
    """

    kind: str
    values: Sequence[float]
    options: Sequence[str] | None = None


class Several(NamedTuple):
    """The same text asked about several times, with the options in different orders.

    Attributes:
        parts: What each time gave.
    """

    parts: Sequence[Tokens | Samples | Sequences | Answers | Numbers]


Evidence = Tokens | Samples | Sequences | Answers | Numbers | Several


@dataclass(frozen=True, slots=True)
class Record:
    """What a log says of one text.

    Attributes:
        item_id: The text; None if the log does not name it, which numbers it by its order.
        evidence: From which its reading is made; None if the log holds labels alone.
        place: Where it stands, for messages: "line 7".
        reader: Whose reading it is, usually the model's name.
        task: What was asked.
        label: What a person said of the text, if the log knows.
        user: Who said it.
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

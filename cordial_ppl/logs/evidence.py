"""What a log holds of one text, which a reading is made from: answers, or scores of options."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cordial_ppl.errors import InputError

ABSENT = -9000.0
"""A log-probability or logit from here down says that there is none (OpenAI and others: -9999)."""

ROUNDING = 1e-3
"""How far above 0 rounding may put a log-probability."""

NAMELESS = "token_id:"
"""How vLLM writes tokens by number (--return-tokens-as-token-ids)."""


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
        others: Tokens with their log-probabilities, which may include the chosen one. Different
            tokens of the same text add up; a token that is listed twice counts once.

    Returns:
        The position, without tokens whose log-probability stands for none.

    Raises:
        InputError: A log-probability is NaN or above 0, or a token is not text but a number.
    """
    top: dict[str, float] = {}
    for text, logprob in others:
        if logprob is None or not ABSENT < logprob <= ROUNDING and is_absent(text, logprob):
            continue
        if top.get(text, logprob) != logprob:
            logprob = np.logaddexp(top[text], logprob)
        top[text] = float(logprob)
    if score is not None and not is_absent(token, score):
        top.setdefault(token, float(score))
    if {type(token), *map(type, top)} != {str} or token.startswith(NAMELESS):
        raise InputError(
            f"tokens must be text; found {token!r}. Generate with detokenize=True, and run the "
            "server without --return-tokens-as-token-ids."
        )
    return Position(token, top)


def is_absent(text: str, score: float) -> bool:
    """Say whether a log-probability stands for none; an `InputError` if it is NaN or above 0."""
    if not score <= ROUNDING:
        raise InputError(f"log-probabilities must be 0 or below; found {score} of {text!r}.")
    return score <= ABSENT


class Answer(NamedTuple):
    """A generated answer.

    Attributes:
        text: What it says.
        positions: Its tokens in order; none if the log has no log-probabilities.
        ended: Whether the log says that the model ended the answer; otherwise it may be cut off.
        value: What the log says that it means; None if it does not say.
    """

    text: str
    positions: Sequence[Position] = ()
    ended: bool = False
    value: str | None = None


class Scores(NamedTuple):
    """A number for each option.

    Attributes:
        kind: "logit", "logprob", "p" or "n".
        values: The numbers.
        options: The text that each number is of; None if they are in the order of the scale. The
            log-probabilities of several texts that mean the same option add up.
    """

    kind: str
    values: Sequence[float]
    options: Sequence[str] | None = None


class Orders(NamedTuple):
    """What the same text gave with the options in several orders."""

    parts: Sequence[list[Answer] | Scores]


Evidence = list[Answer] | Scores | Orders
"""Answers to one prompt, scores of options, or several of either."""

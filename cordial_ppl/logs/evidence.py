"""What a log holds of one text: answers, or scores of options, and who gave them."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.errors import InputError

ABSENT = -9000.0
"""A log-probability or logit from here down says that there is none (OpenAI and others: -9999)."""

ROUNDING = 1e-3
"""How far above 0 rounding may put a log-probability."""

NAMELESS = "token_id:"
"""How vLLM writes tokens by number (--return-tokens-as-token-ids)."""

MILLISECONDS = 1e11
"""Time stamps above it are not in seconds, which would be the year 5138."""


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
        if logprob is not None and _is_there(text, logprob):
            if top.get(text, logprob) != logprob:
                logprob = np.logaddexp(top[text], logprob)
            top[text] = float(logprob)
    if score is not None and _is_there(token, score):
        top.setdefault(token, float(score))
    if {type(token), *map(type, top)} != {str} or token.startswith(NAMELESS):
        raise InputError(
            f"tokens must be text; found {token!r}. Generate with detokenize=True, and run the "
            "server without --return-tokens-as-token-ids."
        )
    return Position(token, top)


def _is_there(text: str, score: float) -> bool:
    """Say whether a log-probability stands for one; an `InputError` if it is NaN or above 0."""
    if not score <= ROUNDING:
        raise InputError(f"log-probabilities must be 0 or below; found {score} of {text!r}.")
    return score > ABSENT


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
    """What the same text gave with the options in several orders.

    Attributes:
        parts: What it gave in each.
        swapped: Whether the options of each part run the other way; none do if empty.
    """

    parts: Sequence[list[Answer] | Scores]
    swapped: Sequence[bool] = ()


GRADER = "the grader failed"
"""Why a row has no answer though a tool wrote a number."""

Evidence = list[Answer] | Scores | Orders
"""Answers to one prompt, scores of options, or several of either."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a log says of one text.

    Attributes:
        location: Where it stands, for messages: "line 7".
        item_id: The text; None if the log does not name it, and then its number is its name.
        evidence: What the reading is made from; None if there is only a label.
        reader: Who read it, usually the model's name.
        task: What was asked.
        label: A person's label, or the error to raise if somebody wants it.
        user: That person.
        made: How the reading was made: "model", "prompt", "decoding", "date".
        failed: Why the request got no answer; None if it did.
        numbered: Whether the text has its number as its name, because the log does not name it.
        rows: The number of rows that hold its answers.
        scored: Scores of it that the log has too, each with whether a model gave it.
        swapped: Whether its options run the other way.
        person: What says that a person gave the answer, "source=HUMAN"; None if nothing does.
        extras: The other fields of its row that hold a text or a number, by their paths.
    """

    location: str
    item_id: str | None = None
    evidence: Evidence | None = None
    reader: str | None = None
    task: str | None = None
    label: str | InputError | None = None
    user: str | None = None
    made: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None
    numbered: bool = False
    rows: int = 1
    scored: Mapping[str, bool] = field(default_factory=dict)
    swapped: bool = False
    person: str | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)


def as_text(value: Any) -> str | None:
    """Take a name or a number as text, 4.0 as "4"; None for null and for nothing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None or value == "" else str(value)


def as_day(seconds: Any) -> str | None:
    """Take a time stamp, in seconds or milliseconds since 1970, as a date; None if it is none."""
    if type(seconds) not in (int, float):
        return None
    seconds = seconds / 1000 if seconds > MILLISECONDS else seconds
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None

"""What a response says: tokens with log-probabilities, sampled answers, or nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Evidence, Position, Tokens
from cordial_ppl.formats.openai import as_record
from cordial_ppl.formats.rows import Row

MUTE = Tokens([Position("", {})])
"""An answer that says nothing."""


def read_response(body: Any) -> Evidence:
    """Read a response.

    Args:
        body: The response.

    Returns:
        What it says.

    Raises:
        ValueError, AttributeError, TypeError, KeyError: It is no completion.
    """
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        raise InputError("a response must have `choices`.")
    evidence = as_record(Row("the answer", {"response": body})).evidence
    assert evidence is not None  # A response always has some: labels alone do not.
    return evidence


def is_mute(body: Mapping[str, Any]) -> bool:
    """Say whether a response is a refusal or empty, which has no log-probabilities either."""
    message = body["choices"][0].get("message") or {}
    return bool(message.get("refusal")) or not message.get("content")


def as_tokens(body: Mapping[str, Any]) -> Tokens:
    """Read a response among others that have log-probabilities: one without is a refusal."""
    evidence = read_response(body)
    return evidence if isinstance(evidence, Tokens) else MUTE


def as_answers(bodies: Sequence[Mapping[str, Any]], samples: int) -> Answers:
    """Read sampled answers from one or more responses, and no more than were wanted."""
    texts: list[str] = []
    for evidence in map(read_response, bodies):
        if isinstance(evidence, Tokens):
            # A server may send log-probabilities that nobody asked for.
            texts.append("".join(position.token for position in evidence.positions))
        elif isinstance(evidence, Answers):
            texts += evidence.texts
    return Answers(texts[:samples])

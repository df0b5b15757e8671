"""What a chat completion says: an answer as text, token by token, or nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Position, Tokens
from cordial_ppl.formats.masses import is_absent
from cordial_ppl.formats.openai import as_record
from cordial_ppl.formats.rows import Row

Completion = Mapping[str, Any]
"""A response, as far as it is kept."""

KEPT = ("choices", "model", "created", "usage")
"""What is kept of a response."""

MUTE = Tokens([Position("", {})])
"""An answer that says nothing."""

WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a response raises that is no completion."""


def read_completion(body: Any) -> dict[str, Any]:
    """Check that a response is a completion, and take what is kept of it.

    Args:
        body: The response.

    Returns:
        Its `choices`, each with a readable answer, and `model`, `created` and `usage`.

    Raises:
        ArithmeticError, AttributeError, LookupError, TypeError, ValueError: It is no completion
            (`WRONG`).
    """
    choices = body["choices"]
    if not isinstance(choices, list) or not choices:
        raise InputError("a completion must have `choices`.")
    for choice in choices:
        _said(choice)
        tokens = _tokens(choice)
        for position in tokens.positions if tokens else ():
            for token, score in position.top.items():
                is_absent(token, score)
    return {name: body[name] for name in KEPT if name in body}


def is_mute(body: Completion) -> bool:
    """Say whether an answer is a refusal in words, or empty."""
    message = body["choices"][0]["message"]
    return bool(message.get("refusal")) or not message.get("content")


def has_alternatives(body: Completion) -> bool:
    """Say whether an answer shows what else might have stood in place of its tokens."""
    tokens = _tokens(body["choices"][0])
    return tokens is not None and any(len(own.top) > 1 for own in tokens.positions)


def as_tokens(body: Completion) -> Tokens:
    """Read the log-probabilities of an answer; one that is mute says nothing."""
    return _tokens(body["choices"][0]) or MUTE


def as_answers(bodies: Sequence[Completion], samples: int) -> Answers:
    """Read sampled answers from one or more responses, and no more than were wanted."""
    return Answers([_said(choice) for choice in _choices(bodies)[:samples]])


def cut_answers(bodies: Sequence[Completion], samples: int) -> list[str]:
    """List the answers of several tokens that ended because they were allowed no more."""
    chosen = _choices(bodies)[: max(samples, 1)]
    return [
        _said(choice)
        for choice in chosen
        # One token may be any of its alternatives.
        if choice.get("finish_reason") == "length" and not _is_one_token(choice)
    ]


def _choices(bodies: Sequence[Completion]) -> list[Mapping[str, Any]]:
    return [choice for body in bodies for choice in body["choices"]]


def _said(choice: Mapping[str, Any]) -> str:
    message = choice["message"]
    text = message.get("content") or message.get("refusal") or ""
    if not isinstance(text, str):
        raise InputError(f"an answer must be text; found {text!r}.")
    return text


def _tokens(choice: Mapping[str, Any]) -> Tokens | None:
    # Alone, without what stands around it in a log.
    evidence = as_record(Row("the answer", {"choices": [choice]})).evidence
    return evidence if isinstance(evidence, Tokens) else None


def _is_one_token(choice: Mapping[str, Any]) -> bool:
    tokens = _tokens(choice)
    return tokens is not None and len(tokens.positions) == 1

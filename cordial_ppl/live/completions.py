"""Chat completions: checked, and read as evidence."""

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

WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors that reading a body raises if it is no completion."""


def check_completion(body: Any) -> dict[str, Any]:
    """Check that a response is a completion whose answers can be read.

    Args:
        body: The response.

    Returns:
        What is kept of it.

    Raises:
        ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError: It is
            no completion (`WRONG`).
    """
    choices = body["choices"]
    if not isinstance(choices, list) or not choices:
        raise InputError("a completion must have `choices`.")
    for choice in choices:
        _text_of(choice)
        tokens = _tokens_of(choice)
        for position in tokens.positions if tokens else ():
            for token, score in position.top.items():
                is_absent(token, score)
    return {name: body[name] for name in KEPT if name in body}


def has_alternatives(body: Completion) -> bool:
    """Say whether an answer has log-probabilities of alternatives, or is empty or a refusal."""
    choice = body["choices"][0]
    if choice["message"].get("refusal") or not choice["message"].get("content"):
        return True
    tokens = _tokens_of(choice)
    return tokens is not None and any(len(position.top) > 1 for position in tokens.positions)


def as_evidence(bodies: Sequence[Completion], samples: int) -> Tokens | Answers:
    """Read the answers to a question.

    Args:
        bodies: The responses, in order.
        samples: How many sampled answers to take; 0 to read log-probabilities.

    Returns:
        The sampled texts, or the tokens of the one answer.
    """
    choices = [choice for body in bodies for choice in body["choices"]]
    if samples:
        return Answers([_text_of(choice) for choice in choices[:samples]])
    # A refusal in words has no log-probabilities.
    return _tokens_of(choices[0]) or Tokens([Position("", {})])


def _text_of(choice: Mapping[str, Any]) -> str:
    message = choice["message"]
    text = message.get("content") or message.get("refusal") or ""
    if not isinstance(text, str):
        raise InputError(f"an answer must be text; found {text!r}.")
    return text


def _tokens_of(choice: Mapping[str, Any]) -> Tokens | None:
    evidence = as_record(Row("the answer", {"choices": [choice]})).evidence
    return evidence if isinstance(evidence, Tokens) else None

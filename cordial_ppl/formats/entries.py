"""Generated tokens as servers list them, one entry each.

OpenAI's chat completions, and others after them, have `token`, `logprob` and `top_logprobs`;
llama.cpp after sampling `prob` and `top_probs`, and before December 2024 `content` and `probs` of
`tok_str` and `prob`.  A probability of zero is that of a token that the sampler cut off.
"""

from collections.abc import Mapping
from math import log
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Position, Tokens, make_position

NAMELESS = "token_id:"
"""How vLLM writes tokens by number (--return-tokens-as-token-ids)."""


def from_entries(entries: list[Mapping[str, Any]], ended: bool = False) -> Tokens:
    """Read listed tokens.

    Args:
        entries: One for each token.
        ended: Whether the model ended the answer.

    Returns:
        The tokens.

    Raises:
        InputError: An entry is of another form, or tokens are numbers.
    """
    return Tokens([_position(entry) for entry in entries], ended)


def with_text(position: Position) -> Position:
    """Return a position if its token is text; an `InputError` if the server wrote its number."""
    if position.token.startswith(NAMELESS):
        raise InputError(
            f"tokens must be text; found {position.token!r}. "
            "Run the server without --return-tokens-as-token-ids."
        )
    return position


def _position(entry: Mapping[str, Any]) -> Position:
    try:
        if "probs" in entry:
            others = [(own["tok_str"], _log(own["prob"])) for own in entry["probs"]]
            return make_position(entry["content"], None, others)
        listed = entry.get("top_logprobs", entry.get("top_probs")) or []
        others = [(own["token"], _score(own)) for own in listed]
        return with_text(make_position(entry["token"], _score(entry), others))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        shown = ", ".join(entry) if isinstance(entry, Mapping) else repr(entry)
        raise InputError(
            "log-probabilities must be `token`, `logprob` and `top_logprobs`, or `prob` and "
            f"`top_probs`; found {shown}."
        ) from error


def _score(entry: Mapping[str, Any]) -> float | None:
    return _log(entry["prob"]) if "prob" in entry else entry["logprob"]


def _log(prob: float) -> float | None:
    return log(prob) if prob > 0 else None

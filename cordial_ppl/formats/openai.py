"""Responses of servers that speak OpenAI's protocols, and results of their batch interface.

One response an object: chat completions (`choices[].logprobs.content[].top_logprobs`), Responses
(`output[].content[].logprobs`), legacy completions (`choices[].logprobs.top_logprobs`), as vLLM,
SGLang and llama.cpp serve them too.  The object may be a line of batch results (`custom_id` and
`response.body`), or wrap a response together with an `item_id`.  Several choices are samples: with
log-probabilities their distributions are averaged, without them their answers are counted.
"""

from collections.abc import Mapping
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import (
    Answers,
    Evidence,
    Position,
    Samples,
    Tokens,
    make_position,
)
from cordial_ppl.formats.gaps import NoAnswer
from cordial_ppl.formats.wrapping import Protocol

NAMELESS = "token_id:"
"""How vLLM writes tokens by number (--return-tokens-as-token-ids)."""


def _is_response(value: Mapping[str, Any]) -> bool:
    # Questions have choices too, and samples outputs: texts, not objects.
    for name in ("choices", "output"):
        found = value.get(name)
        if isinstance(found, list) and all(isinstance(own, Mapping) for own in found):
            return name == "choices" or value.get("object") in (None, "response")
    return False


def _evidence(body: Mapping[str, Any]) -> Evidence:
    if "choices" not in body:
        return _from_responses(body)
    choices = body["choices"]
    if not choices:
        raise NoAnswer("no choice among its `choices`.")
    tokens = [_tokens(choice, body) for choice in choices]
    known = [answer for answer in tokens if answer is not None]
    if len(known) < len(tokens):
        return Answers([_said(choice) for choice in choices])
    return known[0] if len(known) == 1 else Samples(known)


def _tokens(choice: Mapping[str, Any], body: Mapping[str, Any]) -> Tokens | None:
    logprobs = choice.get("logprobs") or {}
    ended = choice.get("finish_reason") == "stop"
    if logprobs.get("content"):
        return from_entries(logprobs["content"], ended)
    if not logprobs.get("tokens"):
        return None
    tokens = logprobs["tokens"]
    tops = logprobs.get("top_logprobs") or [None] * len(tokens)
    scores = logprobs.get("token_logprobs") or [None] * len(tokens)
    if not len(tokens) == len(tops) == len(scores):
        raise InputError(
            "`tokens`, `token_logprobs` and `top_logprobs` must be of one length; found "
            f"{len(tokens)}, {len(scores)} and {len(tops)}."
        )
    # With `echo` the prompt comes first; its first token has no log-probability.
    told = (body.get("usage") or {}).get("completion_tokens")
    start = max(len(tokens) - told, 0) if told and scores[0] is None else 0
    rows = list(zip(tokens, scores, tops, strict=True))[start:]
    return Tokens(
        [_named(make_position(own, score, (top or {}).items())) for own, score, top in rows], ended
    )


def _from_responses(body: Mapping[str, Any]) -> Evidence:
    parts = [
        part
        for item in body["output"]
        if isinstance(item, Mapping) and item.get("type", "message") == "message"
        for part in item.get("content") or []
    ]
    if not parts:
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        raise NoAnswer(f"no message in its `output` ({reason or body.get('status')}).")
    entries = [entry for part in parts for entry in part.get("logprobs") or []]
    if entries:
        return from_entries(entries, body.get("status") == "completed")
    return Answers(["".join(str(part.get("text") or part.get("refusal") or "") for part in parts)])


def from_entries(entries: list[Mapping[str, Any]], ended: bool = False) -> Tokens:
    """Read tokens as chat completions list them: `token`, `logprob`, `top_logprobs`.

    Args:
        entries: One a token.
        ended: Whether the model ended the answer.

    Returns:
        The tokens.

    Raises:
        InputError: An entry is of another form, or tokens are numbers.
    """
    return Tokens([_position(entry) for entry in entries], ended)


def _position(entry: Mapping[str, Any]) -> Position:
    try:
        token = entry["token"]
        others = [(own["token"], own["logprob"]) for own in entry.get("top_logprobs") or []]
        found = make_position(token, entry["logprob"], others)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        shown = ", ".join(entry) if isinstance(entry, Mapping) else repr(entry)
        raise InputError(
            f"log-probabilities must be `token`, `logprob` and `top_logprobs`; found {shown}."
        ) from error
    return _named(found)


def _named(position: Position) -> Position:
    if position.token.startswith(NAMELESS):
        raise InputError(
            f"tokens must be text; found {position.token!r}. "
            "Run the server without --return-tokens-as-token-ids."
        )
    return position


def _said(choice: Mapping[str, Any]) -> str:
    message = choice.get("message") or {}
    return str(message.get("content") or choice.get("text") or message.get("refusal") or "")


PROTOCOL = Protocol(
    _is_response, "a response with `choices` or `output`", _evidence, frozenset({"custom_id"})
)
recognises, read, as_record = PROTOCOL.recognises, PROTOCOL.read, PROTOCOL.record

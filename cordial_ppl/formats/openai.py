"""Responses of servers that speak OpenAI's protocols, and results of their batch interface.

One response an object: chat completions (`choices[].logprobs.content[].top_logprobs`), Responses
(`output[].content[].logprobs`), legacy completions (`choices[].logprobs.top_logprobs`), as vLLM,
SGLang and llama.cpp serve them too.  Several choices are samples: with log-probabilities their
distributions are averaged, without them their answers are counted.
"""

from collections.abc import Mapping
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.entries import from_entries, with_text
from cordial_ppl.formats.evidence import (
    Answers,
    Evidence,
    NoAnswer,
    Tokens,
    make_position,
    of_choices,
)
from cordial_ppl.formats.wrapping import Protocol


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
    return of_choices([_tokens(own, body) for own in choices], [_said(own) for own in choices])


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
    positions = [make_position(own, score, (top or {}).items()) for own, score, top in rows]
    return Tokens([with_text(position) for position in positions], ended)


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


def _said(choice: Mapping[str, Any]) -> str:
    message = choice.get("message") or {}
    return str(message.get("content") or choice.get("text") or message.get("refusal") or "")


PROTOCOL = Protocol(
    _is_response, "a response with `choices` or `output`", _evidence, frozenset({"custom_id"})
)
recognises, read, as_record = PROTOCOL.recognises, PROTOCOL.read, PROTOCOL.record

"""llama.cpp's own `/completion` with `n_probs`; its `/v1` routes speak OpenAI's protocol.

`completion_probabilities` has one entry a token: `token`, `logprob` and `top_logprobs`; after
sampling (`post_sampling_probs`) `prob` and `top_probs`; before December 2024 `content` and `probs`
of `tok_str` and `prob`.  Probabilities after sampling are zero where the sampler cut a token off.
"""

from collections.abc import Mapping
from math import log
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Answers, Evidence, Position, Tokens, make_position
from cordial_ppl.formats.wrapping import Protocol


def _is_completion(value: Mapping[str, Any]) -> bool:
    marks = ("completion_probabilities", "generation_settings", "tokens_predicted")
    return isinstance(value.get("content"), str) and any(mark in value for mark in marks)


def _evidence(body: Mapping[str, Any]) -> Evidence:
    entries = body.get("completion_probabilities")
    if not entries:
        return Answers([body["content"]])
    try:
        return Tokens([_position(entry) for entry in entries])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "`completion_probabilities` must be a list of tokens with `top_logprobs`, `top_probs` "
            "or `probs`; found another form."
        ) from error


def _position(entry: Mapping[str, Any]) -> Position:
    if "probs" in entry:
        others = [(own["tok_str"], _log(own["prob"])) for own in entry["probs"]]
        return make_position(entry["content"], None, others)
    if "top_probs" in entry:
        others = [(own["token"], _log(own["prob"])) for own in entry["top_probs"]]
        return make_position(entry["token"], _log(entry["prob"]), others)
    others = [(own["token"], own["logprob"]) for own in entry["top_logprobs"]]
    return make_position(entry["token"], entry["logprob"], others)


def _log(prob: float) -> float | None:
    return log(prob) if prob > 0 else None


PROTOCOL = Protocol(_is_completion, "a completion with `content`", _evidence)
recognises, read = PROTOCOL.recognises, PROTOCOL.read

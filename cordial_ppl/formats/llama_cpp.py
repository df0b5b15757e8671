"""llama.cpp's own `/completion` with `n_probs`; its `/v1` routes speak OpenAI's protocol.

`completion_probabilities` has one entry a token: `token`, `logprob` and `top_logprobs`; after
sampling (`post_sampling_probs`) `prob` and `top_probs`; before December 2024 `content` and `probs`
of `tok_str` and `prob`.  Probabilities after sampling are zero where the sampler cut a token off.
"""

from collections.abc import Iterator, Mapping
from math import log
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.evidence import Answers, Evidence, Position, Record, Tokens, make_position
from cordial_ppl.formats.rows import json_rows
from cordial_ppl.formats.wrapping import find_response, unwrap


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is a completion of llama.cpp."""
    del path
    return first is not None and unwrap(first, _is_completion) is not None


def read(path: Path) -> Iterator[Record]:
    """Read a file of completions.

    Args:
        path: JSON Lines, or a JSON list.

    Yields:
        A record a completion.

    Raises:
        FileError: The file cannot be read or is not JSON.
        InputError: An object is no completion.
    """
    for row in json_rows(path):
        response = find_response(row, _is_completion, "a completion with `content`")
        with naming(row.place):
            yield response.record(_evidence(response.body))


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

"""llama.cpp's own `/completion` with `n_probs`; its `/v1` routes speak OpenAI's protocol."""

from collections.abc import Mapping
from typing import Any

from cordial_ppl.formats.entries import from_entries
from cordial_ppl.formats.evidence import Answers, Evidence
from cordial_ppl.formats.wrapping import Protocol


def _is_completion(value: Mapping[str, Any]) -> bool:
    marks = ("completion_probabilities", "generation_settings", "tokens_predicted")
    return isinstance(value.get("content"), str) and any(mark in value for mark in marks)


def _evidence(body: Mapping[str, Any]) -> Evidence:
    entries = body.get("completion_probabilities")
    return from_entries(entries) if entries else Answers([body["content"]])


PROTOCOL = Protocol(_is_completion, "a completion with `content`", _evidence)
recognises, read = PROTOCOL.recognises, PROTOCOL.read

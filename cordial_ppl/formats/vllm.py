"""vLLM's offline outputs, as dictionaries.

A `RequestOutput` of `LLM.generate` with `SamplingParams(logprobs=20)`, written as JSON: `outputs`,
each with `text`, `token_ids` and `logprobs`, one dictionary a token: {"19": {"logprob": -0.1,
"rank": 1, "decoded_token": "4"}}.  Several outputs (`n`) are samples of one answer.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.evidence import (
    Answers,
    Evidence,
    Position,
    Record,
    Samples,
    Tokens,
    make_position,
)
from cordial_ppl.formats.rows import json_rows
from cordial_ppl.formats.wrapping import find_response, unwrap


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is an output of vLLM."""
    del path
    return first is not None and unwrap(first, _is_output) is not None


def read(path: Path) -> Iterator[Record]:
    """Read a file of outputs.

    Args:
        path: JSON Lines, or a JSON list.

    Yields:
        A record a request.

    Raises:
        FileError: The file cannot be read or is not JSON.
        InputError: An object is no output, or its tokens have no text.
    """
    for row in json_rows(path):
        response = find_response(row, _is_output, "an output with `outputs` or `logprobs` by token")
        with naming(row.place):
            record = response.record(_evidence(response.body))
        yield record


def _is_output(value: Mapping[str, Any]) -> bool:
    outputs = value.get("outputs")
    if isinstance(outputs, list):
        return bool(outputs) and all(
            isinstance(output, Mapping) and ("token_ids" in output or _is_output(output))
            for output in outputs
        )
    steps = value.get("logprobs")
    if not (isinstance(steps, list) and steps and isinstance(steps[0], Mapping)):
        return False
    return all(isinstance(own, Mapping | float) for own in steps[0].values())


def _evidence(body: Mapping[str, Any]) -> Evidence:
    outputs = body.get("outputs") or [body]
    if not all(output.get("logprobs") for output in outputs):
        return Answers([str(output.get("text") or "") for output in outputs])
    tokens = [_tokens(output) for output in outputs]
    return tokens[0] if len(tokens) == 1 else Samples(tokens)


def _tokens(output: Mapping[str, Any]) -> Tokens:
    steps = output["logprobs"]
    # The token that was sampled comes first.
    chosen = output.get("token_ids") or [next(iter(step), None) for step in steps]
    return Tokens([_position(step, str(own)) for step, own in zip(steps, chosen, strict=False)])


def _position(step: Mapping[str, Any], chosen: str) -> Position:
    try:
        found = {number: (own["decoded_token"], own["logprob"]) for number, own in step.items()}
        token, score = found[chosen]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            "`logprobs` must be one dictionary a token, by the token's number, of `logprob` and "
            f"`decoded_token`; found {str(dict(list(step.items())[:2]))[:80]}."
        ) from error
    if any(text is None for text, _ in found.values()):
        raise InputError(
            "tokens must have a `decoded_token`; found none. Generate with detokenize=True."
        )
    return make_position(token, score, found.values())

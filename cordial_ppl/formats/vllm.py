"""vLLM's offline outputs as dictionaries.

A `RequestOutput` of `LLM.generate` with `SamplingParams(logprobs=20)`, written as JSON: `outputs`,
each with `text`, `token_ids` and `logprobs`, one dictionary a token: {"19": {"logprob": -0.1,
"rank": 1, "decoded_token": "4"}}.  Several outputs (`n`) are samples of one answer.
"""

from collections.abc import Mapping
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Evidence, Position, Tokens, make_position, of_choices
from cordial_ppl.formats.wrapping import Protocol


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
    texts = [str(output.get("text") or "") for output in outputs]
    return of_choices([_tokens(output) for output in outputs], texts)


def _tokens(output: Mapping[str, Any]) -> Tokens | None:
    if not (steps := output.get("logprobs")):
        return None
    # The token that was sampled comes first.
    chosen = output.get("token_ids") or [next(iter(step), None) for step in steps]
    positions = [_position(step, str(own)) for step, own in zip(steps, chosen, strict=False)]
    return Tokens(positions, output.get("finish_reason") == "stop")


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


PROTOCOL = Protocol(_is_output, "an output with `outputs` or `logprobs` by token", _evidence)
recognises, read = PROTOCOL.recognises, PROTOCOL.read

"""Responses of servers, in whatever protocol: their answers as texts and tokens.

OpenAI's protocols, as vLLM, SGLang and llama.cpp serve them too: chat completions
(`choices[].logprobs.content[].top_logprobs`), Responses (`output[].content[].logprobs`), legacy
completions (`choices[].logprobs.top_logprobs`), and results of the batch interface; messages of
Anthropic, Bedrock and Ollama, and candidates of Gemini. vLLM's offline outputs as dictionaries:
`outputs`, each with `text`, `token_ids` and `logprobs`, a dictionary a token: {"19": {"logprob":
-0.1, "decoded_token": "4"}}. llama.cpp's native `/completion` with `n_probs`. Several choices or
outputs are several answers to one prompt; a call of a tool is an answer, its arguments.
"""

import json
from collections.abc import Iterable, Mapping
from math import log
from typing import Any

from cordial_ppl.logs.answers import KEY
from cordial_ppl.logs.evidence import Answer, Position, make_position
from cordial_ppl.logs.paths import opened

CALLS = ("function", "functionCall", "function_call", "toolUse")
"""What protocols call a tool's call, where it stands in an object of its own."""

ARGUMENTS = ("arguments", "args", "input")
"""What protocols call the arguments of a tool's call."""

LLAMA = ("completion_probabilities", "generation_settings", "tokens_predicted")
"""Fields of llama.cpp's native completions."""

Body = Mapping[str, Any]


def read_answers(body: Body) -> list[Answer]:
    """Read a response of any of the protocols.

    Args:
        body: The response.

    Returns:
        Its answers; none if the model gave none.

    Raises:
        InputError: A log-probability is NaN or above 0, or a token is not text.
        AttributeError, KeyError, TypeError, ValueError: It is of another form.
    """
    if "choices" in body:
        generated = (body.get("usage") or {}).get("completion_tokens")
        return [read_choice(choice, generated) for choice in body["choices"]]
    if message := _message_of(body):
        answer = read_choice({"message": message})
        return [answer] if answer.text else []
    if "candidates" in body:
        return [Answer(_read_parts(one["content"].get("parts"))) for one in body["candidates"]]
    if isinstance(body.get("content"), str):
        tokens = body.get("completion_probabilities") or []
        return [Answer(body["content"], [*map(_from_entry, tokens)])]
    if "output" in body:
        parts: list[Body] = []
        for item in body["output"]:
            kind = item.get("type", "message")
            parts += item.get("content") or [] if kind == "message" else [item]
        tokens = [entry for part in parts for entry in part.get("logprobs") or []]
        ended = body.get("status") == "completed"
        text = _read_parts(parts)
        return [Answer(text, [*map(_from_entry, tokens)], ended)] if text or tokens else []
    return [_read_output(output) for output in body.get("outputs") or []]


def read_choice(choice: Body, generated: int | None = None) -> Answer:
    """Read a choice of a chat completion, or of a legacy completion.

    Args:
        choice: The choice.
        generated: The number of tokens that were generated, if the response says so: with `echo`
            the prompt comes before them.

    Returns:
        The answer.

    Raises:
        InputError: A log-probability is NaN or above 0, or a token is not text.
        AttributeError, KeyError, TypeError, ValueError: It is of another form.
    """
    message, logprobs = choice.get("message") or {}, choice.get("logprobs") or {}
    text = message.get("content") or choice.get("text") or message.get("refusal") or ""
    text = _read_parts(text) if isinstance(text, list) else text
    calls = [*(message.get("tool_calls") or []), {"function": message.get("function_call")}]
    text = "\n".join(filter(None, (str(text), _read_parts(calls))))
    positions = [*map(_from_entry, logprobs.get("content") or [])]
    if tokens := logprobs.get("tokens"):
        none = [None] * len(tokens)
        scores, tops = (logprobs.get(f) or none for f in ("token_logprobs", "top_logprobs"))
        start = max(len(tokens) - generated, 0) if generated and scores[0] is None else 0
        listed = list(zip(tokens, scores, tops, strict=True))[start:]
        positions = [make_position(t, score, (top or {}).items()) for t, score, top in listed]
    ended = "stop" in (choice.get("finish_reason"), choice.get("stop_reason"))
    return Answer(text, positions, ended)


def _read_parts(parts: Iterable[Body] | None) -> str:
    """Read the text of a message in parts: texts, refusals, and the arguments of a tool's calls."""
    texts = []
    for part in parts or ():
        call = next((part[name] for name in CALLS if part.get(name)), part)
        arguments = next((call[name] for name in ARGUMENTS if call.get(name) is not None), None)
        if arguments is not None:
            texts.append("\n" * bool(texts) + _last_rating(opened(arguments)))
        elif part.get("type", "text") in ("text", "output_text", "refusal"):
            texts.append(str(part.get("text") or part.get("refusal") or ""))
    return "".join(texts)


def _last_rating(arguments: Any) -> str:
    """Write arguments as JSON, a rating last: what explains it stands before it."""
    if isinstance(arguments, Mapping):
        arguments = dict(sorted(arguments.items(), key=lambda item: bool(KEY.fullmatch(item[0]))))
        if len(arguments) == 1:
            (arguments,) = arguments.values()
    is_text = isinstance(arguments, str)
    return arguments if is_text else json.dumps(arguments, ensure_ascii=False)


def _from_entry(entry: Body) -> Position:
    """Read a token as servers list it; llama.cpp wrote another form before December 2024."""
    if "probs" in entry:
        return make_position(entry["content"], None, _scored(entry["probs"], "tok_str"))
    others = entry.get("top_logprobs", entry.get("top_probs")) or []
    return make_position(*_scored([entry])[0], _scored(others))


def _scored(entries: Iterable[Body], name: str = "token") -> list[tuple[str, float | None]]:
    """Read tokens with their log-probabilities; a sampler gives those that it cuts off none."""
    return [
        (e[name], e["logprob"] if "prob" not in e else log(e["prob"]) if e["prob"] > 0 else None)
        for e in entries
    ]


def _read_output(output: Body) -> Answer:
    """Read an output of vLLM."""
    steps = output.get("logprobs") or []
    # The token that was sampled comes first.
    chosen = output.get("token_ids") or [next(iter(step), None) for step in steps]
    positions = []
    for step, number in zip(steps, chosen, strict=False):
        tokens = {key: (token["decoded_token"], token["logprob"]) for key, token in step.items()}
        positions.append(make_position(*tokens[str(number)], tokens.values()))
    return Answer(str(output.get("text") or ""), positions, output.get("finish_reason") == "stop")


def protocol_of(value: Body) -> str | None:
    """Return the protocol of a response; None if it is none."""
    response = value.get("object") in (None, "response")
    # Questions have choices too, and samples outputs: texts, not objects.
    lists = ("choices", "candidates", *(("output",) if response else ()))
    if any(_objects(value.get(name)) is not None for name in lists) or _message_of(value):
        return "openai"
    if any("logprobs" in one or "token_ids" in one for one in _objects(value.get("outputs")) or ()):
        return "vllm"
    is_llama = isinstance(value.get("content"), str) and any(name in value for name in LLAMA)
    return "llama-cpp" if is_llama else None


def _message_of(value: Body) -> Body | None:
    """Return the message that a response of Anthropic, Bedrock, Cohere or Ollama is or holds."""
    output = value.get("output") if "stopReason" in value else value
    holds = any(name in value for name in ("stopReason", "done", "usage", "type"))
    message = output.get("message") if isinstance(output, Mapping) and holds else None
    message = value if message is None and value.get("type") == "message" else message
    is_message = isinstance(message, Mapping) and message.get("role") == "assistant"
    return message if is_message else None


def _objects(items: Any) -> list[Body] | None:
    """Return a list of objects; None for anything else."""
    is_list = isinstance(items, list) and all(isinstance(item, Mapping) for item in items)
    return items if is_list else None

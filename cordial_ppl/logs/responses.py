"""Responses of servers, one in each object of a file, wrapped or not.

OpenAI's protocols, as vLLM, SGLang and llama.cpp serve them too: chat completions
(`choices[].logprobs.content[].top_logprobs`), Responses (`output[].content[].logprobs`), legacy
completions (`choices[].logprobs.top_logprobs`), and results of the batch interface. vLLM's offline
outputs as dictionaries: `outputs`, each with `text`, `token_ids` and `logprobs`, a dictionary a
token: {"19": {"logprob": -0.1, "decoded_token": "4"}}. llama.cpp's native `/completion` with
`n_probs`. Several choices or outputs are several answers to one prompt.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import log
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Answer, Position, Record, as_day, as_text, make_position
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.rows import Row, by_row, say_fields

NAMES = ("item_id", "custom_id", "doc_id")
"""Fields that name the text, in order."""

WRAPPED = ("response", "body", "result", "completion", "output")
"""Fields that may hold a response."""

DEPTH = 3
"""How many wrappings are looked into."""

LONG = 200
"""Characters of an error that are quoted."""

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
    if isinstance(body.get("content"), str):
        tokens = body.get("completion_probabilities") or []
        return [Answer(body["content"], [*map(_from_entry, tokens)])]
    if "output" in body:
        messages = [item for item in body["output"] if item.get("type", "message") == "message"]
        parts = [part for message in messages for part in message.get("content") or []]
        tokens = [entry for part in parts for entry in part.get("logprobs") or []]
        text = "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
        ended = body.get("status") == "completed"
        return [Answer(text, [*map(_from_entry, tokens)], ended)] if parts else []
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
    if isinstance(text, list):
        text = "".join(part.get("text") or "" for part in text if part.get("type") == "text")
    positions = [*map(_from_entry, logprobs.get("content") or [])]
    if tokens := logprobs.get("tokens"):
        none = [None] * len(tokens)
        scores, tops = (logprobs.get(f) or none for f in ("token_logprobs", "top_logprobs"))
        start = max(len(tokens) - generated, 0) if generated and scores[0] is None else 0
        listed = list(zip(tokens, scores, tops, strict=True))[start:]
        positions = [make_position(t, score, (top or {}).items()) for t, score, top in listed]
    ended = "stop" in (choice.get("finish_reason"), choice.get("stop_reason"))
    return Answer(str(text), positions, ended)


def _from_entry(entry: Body) -> Position:
    """Read a token as servers list it; llama.cpp wrote another form before December 2024."""
    if "probs" in entry:
        return make_position(entry["content"], None, _scored(entry["probs"], "tok_str"))
    others = entry.get("top_logprobs", entry.get("top_probs")) or []
    return make_position(*_scored([entry])[0], _scored(others))


def _scored(entries: Iterable[Body], name: str = "token") -> list[tuple[str, float | None]]:
    """Tokens with their log-probabilities; a sampler gives those that it cuts off none."""
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


def _protocol_of(value: Body) -> str | None:
    """The protocol of a response; None if it is none."""
    choices, output, outputs = (value.get(name) for name in ("choices", "output", "outputs"))
    # Questions have choices too, and samples outputs: texts, not objects.
    if _are_objects(choices) or _are_objects(output) and value.get("object") in (None, "response"):
        return "openai"
    if _are_objects(outputs) and any("logprobs" in one or "token_ids" in one for one in outputs):
        return "vllm"
    is_llama = isinstance(value.get("content"), str) and any(name in value for name in LLAMA)
    return "llama-cpp" if is_llama else None


def _are_objects(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, Mapping) for item in items)


def _unwrap(value: Any, depth: int = DEPTH) -> Iterator[Body]:
    """An object and those that it wraps."""
    if isinstance(value, Mapping):
        yield value
        for name in WRAPPED if depth else ():
            yield from _unwrap(value.get(name), depth - 1)


def _find_error(value: Body) -> str | None:
    """What is said of a request that failed, which batch results say in several places."""
    for inner in _unwrap(value):
        if error := inner.get("error"):
            return str((error.get("message") if isinstance(error, Mapping) else None) or error)
    codes = [inner.get("status_code") for inner in _unwrap(value)]
    return next((f"status {code}" for code in codes if isinstance(code, int) and code >= 400), None)


def _format(name: str, words: str, expected: str, remedy: str) -> Format:
    """Make the format of a protocol."""

    def find(value: Body) -> Body | None:
        return next((body for body in _unwrap(value) if _protocol_of(body) == name), None)

    def read(row: Row) -> Iterator[Record]:
        value, body = row.value, find(row.value)
        failed = None if body else _find_error(value)
        if body is None and failed is None:
            fields = say_fields(dict.fromkeys(value, ()))
            raise InputError(f"expected a response with {expected}; found {fields}.")
        body = body or {}
        answers = read_answers(body) if failed is None else None
        if answers == []:
            reason = (body.get("incomplete_details") or {}).get("reason") or body.get("status")
            failed = "no answer in it" + (f" ({reason})" if reason else "")
        model, date = as_text(body.get("model")), body.get("created", body.get("created_at"))
        made = {"model": model, "date": as_day(date)}
        names = NAMES if body is value else (*NAMES, "id")
        yield Record(
            location=row.location,
            item_id=as_text(next((value[n] for n in names if value.get(n) is not None), None)),
            evidence=answers,
            reader=as_text(value.get("reader")) or model,
            task=as_text(value.get("task")),
            label=as_text(value.get("label")),
            made={name: text for name, text in made.items() if text},
            failed=failed and failed[:LONG].rstrip("."),
        )

    def knows(first: Body) -> bool:
        # Results of batches have a `custom_id`, which those that failed are known by.
        return find(first) is not None or name == "openai" and "custom_id" in first

    return Format(name, words, by_row(read, words), knows, remedy=remedy)


OPENAI = "responses in OpenAI's protocols"
FORMATS = (
    _format("openai", OPENAI, "`choices` or `output`", "logprobs=True, top_logprobs=20"),
    _format("vllm", "vLLM's offline outputs", "`outputs`", "SamplingParams(logprobs=20)"),
    _format("llama-cpp", "llama.cpp's native completions", "`content`", '"n_probs": 20'),
)

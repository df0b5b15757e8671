"""Responses of servers, in whatever protocol: their answers as texts and tokens, or probabilities.

OpenAI's protocols, as vLLM, SGLang and llama.cpp serve them too (chat completions, Responses,
legacy completions); vLLM's offline outputs as dictionaries; messages of Anthropic, Bedrock and
Ollama; candidates of Gemini. Several choices are several answers to one prompt; a call of a tool is
an answer, its arguments. Thoughts, marked as such, are none. Decision models answer with a
probability for each level, as a list or as a map.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, quote
from cordial_ppl.logs.evidence import (
    CUT,
    FILTERED,
    REFUSED,
    Answer,
    Position,
    Scores,
    as_text,
    make_position,
)

WRAPPED = ("response", "body", "result", "completion", "output", "modelOutput")
"""Fields that may hold a response."""

DEPTH = 3
"""How many wrappings are looked into."""

CALLS = ("function", "functionCall", "function_call", "toolUse")
"""What protocols call a tool's call, where it stands in an object of its own."""

ARGUMENTS = ("arguments", "args", "input")
"""What protocols call the arguments of a tool's call."""

MARKS = {
    "choices": {"message", "finish_reason", "logprobs"},
    "candidates": {"content", "finishReason"},
    "output": {"type", "content"},
    "outputs": {"token_ids"},
}
"""Lists of answers in responses, and fields of which each element has one."""

WRITTEN = ("text", "output_text", "refusal")
"""Kinds of parts that a message says; others are thoughts, images, searches."""

REASONS = {
    CUT: re.compile(r"length|max.*tokens|token.?limit|incomplete|context.?window", re.I),
    FILTERED: re.compile(r"filter|safety|recitation|block|prohibited|spii|guardrail", re.I),
    REFUSED: re.compile(r"refus", re.I),
}
"""Reasons for which an answer is none, as protocols say why it ended."""

Body = Mapping[str, Any]


class Response(NamedTuple):
    """A response of a server.

    Attributes:
        body: The response itself, without what it is wrapped in.
        answers: Its answers; none if the model gave none.
        decisions: Or the probabilities of a decision model, by question.
    """

    body: Body
    answers: list[Answer]
    decisions: dict[str, Scores]


def unwrap(value: Any, depth: int = DEPTH) -> Iterator[Body]:
    """List an object and those that it wraps."""
    if isinstance(value, Mapping):
        yield value
        for name in WRAPPED if depth else ():
            yield from unwrap(value.get(name), depth - 1)


def read_response(value: Any) -> Response | None:
    """Read a response of any of the protocols, wrapped or not.

    Args:
        value: The response, an object that holds it, or anything else.

    Returns:
        The response; None if there is none.

    Raises:
        InputError: A log-probability is NaN or above 0, or a token is not text.
        AttributeError, KeyError, TypeError, ValueError: It has another form inside.
    """
    for body in unwrap(value):
        answers, decisions = _read_answers(body), _read_decisions(body)
        if answers is not None or decisions is not None:
            return Response(body, answers or [], decisions or {})
    return None


def _read_answers(body: Body) -> list[Answer] | None:
    """Read the answers of a response; None if this is none."""
    # Questions have choices too, and samples outputs, of another form.
    lists = {
        name: body[name]
        for name, marks in MARKS.items()
        if _is_objects(body.get(name)) and all(marks & one.keys() for one in body[name])
    }
    if "choices" in lists:
        usage = body.get("usage") or {}
        return [read_choice(choice, usage.get("completion_tokens")) for choice in lists["choices"]]
    if "candidates" in lists:
        return [_read_candidate(candidate) for candidate in lists["candidates"]]
    if isinstance(feedback := body.get("promptFeedback"), Mapping):
        return [Answer("", lost=_why_lost(feedback.get("blockReason")) or FILTERED)]
    if message := _message_of(body):
        reason = body.get("done_reason") or body.get("stopReason") or message.get("stop_reason")
        choice = {"message": message, "finish_reason": reason}
        choice["logprobs"] = {"content": body.get("logprobs") or []}
        return [read_choice(choice, body.get("eval_count"))]
    if "output" in lists and (lists["output"] or body.get("object") == "response"):
        return [_read_output(body, lists["output"])]
    if lists.get("outputs"):
        return [_read_offline(output) for output in lists["outputs"]]
    return None


def read_choice(choice: Body, generated: int | None = None) -> Answer:
    """Read a choice of a chat completion, or of a legacy completion.

    Args:
        choice: The choice.
        generated: The number of tokens that were generated, if the response says so.

    Returns:
        The answer.

    Raises:
        InputError: A log-probability is NaN or above 0, or a token is not text.
        AttributeError, KeyError, TypeError, ValueError: It is of another form.
    """
    message, logprobs = choice.get("message") or {}, choice.get("logprobs") or {}
    text = message.get("content") or choice.get("text") or ""
    text = _read_parts(text) if isinstance(text, list) else str(text)
    calls = [*(message.get("tool_calls") or []), {"function": message.get("function_call")}]
    text = "\n".join(filter(None, (text, _read_parts(calls))))
    tokens = [*map(_read_token, logprobs.get("content") or [])]
    if listed := logprobs.get("tokens"):
        none = [None] * len(listed)
        scores, tops = (logprobs.get(f) or none for f in ("token_logprobs", "top_logprobs"))
        rows = zip(listed, scores, tops, strict=True)
        tokens = [make_position(t, score, (top or {}).items()) for t, score, top in rows]
    reason = choice.get("finish_reason") or choice.get("stop_reason")
    if message.get("refusal") and not text:
        return Answer(str(message["refusal"]), lost=REFUSED)
    return _finish(text, tokens, reason, generated)


def _finish(
    text: str, tokens: Sequence[Position], reason: Any, generated: int | None = None
) -> Answer:
    """Make an answer, or say why it is none: a single token is all that was asked for."""
    lost = _why_lost(reason)
    ended = lost is None and (reason is not None or not tokens)
    # Tokens that the text lacks are thoughts.
    joined = "".join(position.token for position in tokens)
    if text and len(joined) > len(text) and (start := joined.rfind(text)) > 0:
        ends = 0
        while tokens and ends + len(tokens[0].token) <= start:
            ends, tokens = ends + len(tokens[0].token), tokens[1:]
    single = sum(bool(one.token.strip()) for one in tokens) == 1
    if lost == CUT and (single or generated == 1 and not tokens):
        lost = None
    return Answer(text, tokens, ended, lost)


def _why_lost(reason: Any) -> str | None:
    """Find out why an answer is none by the reason for which it ended; None if it is one."""
    names = (name for name, form in REASONS.items() if form.search(str(reason or "")))
    return next(names, None)


def _read_candidate(candidate: Body) -> Answer:
    """Read a candidate of Gemini."""
    text = _read_parts((candidate.get("content") or {}).get("parts"))
    logprobs = candidate.get("logprobsResult") or {}
    tops = [top.get("candidates") or [] for top in logprobs.get("topCandidates") or []]
    chosen = logprobs.get("chosenCandidates") or [top[0] for top in tops]
    tokens = [
        make_position(*_scored([one], "logProbability")[0], _scored(top, "logProbability"))
        for one, top in zip(chosen, tops or [[]] * len(chosen), strict=True)
    ]
    return _finish(text, tokens, candidate.get("finishReason"))


def _read_output(body: Body, items: Sequence[Body]) -> Answer:
    """Read the output of the protocol Responses."""
    parts: list[Body] = []
    for item in items:
        kind = item.get("type", "message")
        parts += item.get("content") or [] if kind == "message" else [item]
    tokens = [_read_token(entry) for part in parts for entry in part.get("logprobs") or []]
    if parts and all(part.get("type") == "refusal" for part in parts):
        return Answer(_read_parts(parts), lost=REFUSED)
    details = body.get("incomplete_details") or {}
    reason = details.get("reason") or body.get("status")
    return _finish(_read_parts(parts), tokens, reason)


def _read_offline(output: Body) -> Answer:
    """Read an output of vLLM: {"19": {"logprob": -0.1, "decoded_token": "4"}} for each token."""
    tokens = []
    for step, number in zip(output.get("logprobs") or [], output["token_ids"], strict=False):
        top = {key: (token["decoded_token"], token["logprob"]) for key, token in step.items()}
        tokens.append(make_position(*top[str(number)], top.values()))
    return _finish(str(output.get("text") or ""), tokens, output.get("finish_reason"))


def _read_parts(parts: Iterable[Body] | None) -> str:
    """Read the text of a message in parts: texts, refusals, and the arguments of a tool's calls."""
    texts = []
    for part in parts or ():
        call = next((part[name] for name in CALLS if part.get(name)), part)
        arguments = next((call[name] for name in ARGUMENTS if call.get(name) is not None), None)
        if arguments is not None:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            texts.append("\n" * bool(texts) + text)
        elif part.get("type", "text") in WRITTEN and not part.get("thought"):
            texts.append(str(part.get("text") or part.get("refusal") or ""))
    return "".join(texts)


def _read_token(entry: Body) -> Position:
    """Read a token with its alternatives, as OpenAI lists them."""
    return make_position(*_scored([entry])[0], _scored(entry.get("top_logprobs") or []))


def _scored(entries: Iterable[Body], name: str = "logprob") -> list[tuple[str, float | None]]:
    """Read tokens with their log-probabilities."""
    return [(entry["token"], entry.get(name)) for entry in entries]


def _message_of(body: Body) -> Body | None:
    """Return the message that a response of Anthropic, Bedrock or Ollama is or holds."""
    output = body.get("output") if "stopReason" in body else body
    holds = any(name in body for name in ("stopReason", "done", "usage", "type"))
    message = output.get("message") if isinstance(output, Mapping) and holds else None
    message = body if message is None and body.get("type") == "message" else message
    is_message = isinstance(message, Mapping) and message.get("role") == "assistant"
    return message if is_message else None


def _is_objects(items: Any) -> bool:
    """Say whether this is a list of objects."""
    return isinstance(items, list) and all(isinstance(item, Mapping) for item in items)


def _read_decisions(body: Body) -> dict[str, Scores] | None:
    """Read the answers of a decision model: probabilities of the levels' labels, by question."""
    answers = body.get("answers")
    if isinstance(answers, Mapping):
        answers = [{"name": name, **one} for name, one in answers.items() if isinstance(one, dict)]
    if not answers or not all(isinstance(one, Mapping) and "type" in one for one in answers):
        return None
    return {str(one.get("name") or one.get("id") or ""): _read_decision(one) for one in answers}


def _read_decision(answer: Body) -> Scores:
    """Read the answer to one question."""
    levels, kind = answer.get("probabilities"), answer["type"]
    if kind == "refusal" or answer.get("refusal"):
        return Scores("p", (), lost=REFUSED)
    if kind == "predicate" and levels is None and "probability" in answer:
        probability = float(answer["probability"])
        return Scores("p", (1 - probability, probability), ("no", "yes"), ("false", "true"))
    if isinstance(levels, Mapping):
        legend = answer.get("legend") or {}
        levels = [
            {"value": value, "label": legend.get(value), "probability": number}
            for value, number in levels.items()
        ]
    if (
        not isinstance(levels, list)
        or not _is_objects(levels)
        or not all("probability" in level for level in levels)
    ):
        raise InputError(f"expected a probability for each level; found {quote(answer)}.")
    names = [as_text(level.get("value")) or "" for level in levels]
    labels = [
        as_text(level.get("label")) or name for level, name in zip(levels, names, strict=True)
    ]
    return Scores("p", [float(level["probability"]) for level in levels], labels, names)

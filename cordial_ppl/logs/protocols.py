"""Responses of servers, in whatever protocol: their answers as texts and tokens, or probabilities.

`protocols.toml` says where a response of OpenAI's protocols, as vLLM, SGLang and llama.cpp serve
them too, of Anthropic, Bedrock, Ollama or Gemini holds what. Several choices are several answers to
one prompt; a call of a tool is an answer, its arguments. Thoughts, marked as such, are none.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import fsum
from pathlib import Path
from typing import Any

import jmespath
import numpy as np

from cordial_ppl.errors import InputError, list_names, quote
from cordial_ppl.logs.decision_models import read_decisions
from cordial_ppl.logs.evidence import (
    ABSENT,
    CUT,
    FAILED,
    Answer,
    Evidence,
    Position,
    Scores,
    as_text,
    is_objects,
)
from cordial_ppl.logs.rows import parsing
from cordial_ppl.tables import is_filled

ROUNDING = 1e-3
"""How far above 0 rounding may put a log-probability."""

_TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
WRAPPED, CALLS, ARGUMENTS = _TABLE.pop("names").values()
"""What protocols call a field that holds a response, a call of a tool, and its arguments."""

MODEL, FAILURE, REASON = map(jmespath.compile, _TABLE.pop("fields").values())
"""The model of a response; why a request or a grader failed, and why an answer ended."""

REASONS = {lost: re.compile(form, re.I) for lost, form in _TABLE.pop("reasons").items()}
"""Reasons for which an answer is none."""

_NONE = dict.fromkeys(("parts", "tokens", "count"), "`null`") | {"marks": ()}
PROTOCOLS: Sequence[Mapping[str, Any]] = [_NONE | protocol for protocol in _TABLE.values()]

Body = Mapping[str, Any]


def unwrap(value: Any, depth: int = 3) -> Iterator[Body]:
    """List an object and those that it wraps."""
    if isinstance(value, Mapping):
        yield value
        for name in WRAPPED if depth else ():
            yield from unwrap(value.get(name), depth - 1)


@parsing("a response")
def read_response(value: Any) -> tuple[Body, Mapping[str, Any]] | None:
    """Read a response of any of the protocols, wrapped or not.

    Args:
        value: The response, an object that holds it, or anything else.

    Returns:
        The response without what it is wrapped in, and its answers, or a decision model's
        probabilities, by question ("" if unnamed); None if there is none.

    Raises:
        InputError: A log-probability is NaN or above 0, a token is not text, or it has another
            form inside.
    """
    bodies = [*unwrap(value)]
    for protocol, body in product(PROTOCOLS, bodies):
        answers, marks = jmespath.search(protocol["answers"], body), protocol["marks"]
        if not is_objects(answers) or not (answers or marks):
            continue
        if not marks or all(set(marks) & answer.keys() for answer in answers):
            count = jmespath.search(protocol["count"], body)
            return body, {"": [_read_answer(one, protocol, count) for one in answers]}
    return next(((body, one) for body in bodies if (one := read_decisions(body))), None)


def _read_answer(answer: Body, protocol: Mapping[str, str], count: Any) -> Answer:
    """Read an answer by the expressions of its protocol, or say why it is none."""
    names = ("parts", "tokens", "reason")
    whole, listed, reason = (jmespath.search(protocol[name], answer) for name in names)
    parts = [{"text": part} if isinstance(part, str) else part for part in whole or ()]
    text, tokens = _read_parts(parts), _read_tokens(listed)
    if not text and any(part.get("refusal") for part in parts):
        reason = "refusal"
    lost = find_lost(reason)
    ended = lost is None and (reason is not None or not tokens)
    # Tokens that the text lacks are thoughts.
    joined = "".join(position.token for position in tokens)
    start, end = joined.rfind(text) if text else 0, 0
    while tokens and (end := end + len(tokens[0].token)) <= start:
        tokens = tokens[1:]
    # A single token is all that was asked for.
    single = sum(bool(one.token.strip()) for one in tokens) == 1
    if lost == CUT and (single or count == 1 and not tokens):
        lost = None
    return Answer(str(reason) if lost == FAILED else text, tokens, ended, lost)


def find_lost(reason: Any) -> str | None:
    """Find out what a reason to end makes of an answer: `CUT` and so on; None if it is one."""
    return next((name for name, form in REASONS.items() if form.search(str(reason or ""))), None)


def _read_parts(parts: Iterable[Body]) -> str:
    """Read the text of an answer in parts, and the arguments of a tool's calls.

    Thoughts, refusals, images and searches are parts of other kinds.
    """
    text = ""
    for part in parts:
        call = next((part[name] for name in CALLS if part.get(name)), part)
        arguments = next((call[name] for name in ARGUMENTS if call.get(name) is not None), None)
        if arguments is not None:
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            text += "\n" * bool(text) + written
        elif part.get("type", "text") in ("text", "output_text") and not part.get("thought"):
            text += str(part.get("text") or "")
    return text


def _read_tokens(listed: Any) -> list[Position]:
    """Read tokens with their alternatives: objects, or lists of tokens, scores and alternatives."""
    if isinstance(listed, Mapping) and listed.get("tokens"):
        tokens, none = listed["tokens"], [None] * len(listed["tokens"])
        scores, tops = (listed.get(name) or none for name in ("token_logprobs", "top_logprobs"))
        rows = zip(tokens, scores, tops, strict=True)
    elif isinstance(listed, list):
        rows = ((one["token"], one.get("logprob"), one.get("top_logprobs")) for one in listed)
    else:
        return []
    return [_read_token(token, {token: score, **_list_scores(top)}) for token, score, top in rows]


def _list_scores(top: Any) -> Mapping[str, Any]:
    """Read the log-probabilities of tokens, from an object or from a list of objects.

    Those of several tokens with one text, such as "4" with a space and without, add up.
    """
    if isinstance(top, Mapping):
        return top
    scores: dict[str, Any] = {}
    # A token may be listed twice, as the chosen one and as an alternative.
    for text, score in dict.fromkeys((one["token"], one.get("logprob")) for one in top or ()):
        if score is not None:
            scores[text] = float(np.logaddexp(score, scores[text])) if text in scores else score
    return scores


def _read_token(token: str, scores: Mapping[str, float | None]) -> Position:
    """Read a token and its alternatives, without those whose log-probability stands for none."""
    top = {text: score for text, score in scores.items() if score is not None}
    for text, score in top.items():
        if not isinstance(text, str) or text.startswith("token_id:"):
            raise InputError(
                f"tokens must be text; found {text!r}. Generate with detokenize=True, and run the "
                "server without --return-tokens-as-token-ids."
            )
        if not score <= ROUNDING:
            raise InputError(f"log-probabilities must be 0 or below; found {score} for {text!r}.")
    return Position(token, {text: float(score) for text, score in top.items() if score > ABSENT})


@parsing("an answer")
def read_value(value: Any, name: str) -> Evidence | None:
    """Read what a field holds as evidence.

    Args:
        value: A text or a number, a list of them, a response of a server, one of its choices or
            its log-probabilities, or an object of numbers by option: log-probabilities (none above
            0), probabilities (which sum to 1), counts (whole) or logits.
        name: The field, for messages.

    Returns:
        The evidence; None if there is nothing.

    Raises:
        InputError: It is something else.
    """
    if not is_filled(value):
        return None
    if value and is_objects(value) and "logprob" in value[0]:
        # Tokens have alternatives, alternatives none.
        tokens = any("top_logprobs" in one for one in value)
        value = {"content": value} if tokens else _list_scores(value)
    if isinstance(value, list):
        # A sample that failed, or is empty, is one that names no option.
        samples: list[Any] = [read_value(one, name) or [Answer("")] for one in value]
        if list in map(type, value) or {*map(type, samples)} - {list}:
            problem = f"`{name}` must be one answer or a list of answers; found {quote(value)}."
            raise InputError(problem)
        return [answer for sample in samples for answer in sample]
    if not isinstance(value, Mapping):
        return [Answer(str(as_text(value)))]
    part = {"choices": [{"logprobs": value} if isinstance(value.get("content"), list) else value]}
    if response := read_response(value) or read_response(part):
        return response[1].get("") or None
    if value.keys() == {"options", "scores"}:
        scores = [*map(float, value["scores"])]
        names = [str(option).strip() for option in value["options"]]
        return Scores("logprob" if max(scores) <= 0 else "logit", scores, names)
    numbers = {option: cell for option, cell in value.items() if cell is not None}
    if not numbers or not all(type(score) in (int, float) for score in numbers.values()):
        first = next(iter(value), "name")
        raise InputError(
            f"`{name}` is an object with {list_names(value, 6)}. Name one of its fields, such as "
            f"{name}.{first}, or several fields separated by commas."
        )
    scores = [*map(float, numbers.values())]
    if max(scores) <= ROUNDING and any(scores):
        # An answer that is one of several texts; of equal ones the first by name, so that the
        # order of keys changes nothing.
        chosen = max(sorted(numbers), key=numbers.__getitem__)
        return [Answer(chosen, [_read_token(chosen, numbers)])]
    if min(scores) >= 0 and all(isinstance(score, int) for score in numbers.values()):
        return Scores("n", scores, [*numbers])
    # Rounding may put a sum of probabilities this far from 1.
    shares = min(scores) >= 0 and abs(fsum(scores) - 1.0) <= 0.02
    if not shares and min(scores) >= 0 < max(scores) <= 1:
        problem = f"`{name}` has numbers from 0 to 1 that sum to {fsum(scores):.3g}. Divide"
        raise InputError(f"{problem} probabilities by their sum; write logits to a table (logit_).")
    return Scores("p" if shares else "logit", scores, [*numbers])

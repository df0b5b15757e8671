"""What a field holds of one text as evidence: an answer, several, log-probabilities, or counts."""

from collections.abc import Mapping
from math import fsum, log
from typing import Any

from cordial_ppl.errors import InputError, list_names, quote
from cordial_ppl.logs.evidence import ROUNDING, Answer, Scores, as_text, make_position
from cordial_ppl.logs.paths import opened
from cordial_ppl.logs.protocols import protocol_of, read_answers, read_choice
from cordial_ppl.tables.formats import is_filled

COUNTED = 10_000
"""Answers that counts may stand for; more are taken as scores, which must name every option."""


def read_value(value: Any, name: str) -> list[Answer] | Scores | None:
    """Read what a field holds.

    Args:
        value: A text or a number, a list of them, a response of a server, one of its choices or
            its log-probabilities, or an object of numbers by option: log-probabilities (none above
            0), probabilities (parts of 1), counts (whole) or logits.
        name: The field, for messages.

    Returns:
        The evidence; None if there is nothing.

    Raises:
        InputError: It is something else.
    """
    if not is_filled(value):
        return None
    inside = opened(value)
    if isinstance(inside, list):
        return _read_list(inside, name)
    if isinstance(value, Mapping):
        return _read_object(value, name)
    return [Answer(as_text(value) or "")]


def _read_list(values: list[Any], name: str) -> list[Answer] | None:
    """Read several answers, or the tokens of one."""
    if values and all(isinstance(one, Mapping) and "logprob" in one for one in values):
        # Tokens have alternatives, alternatives none.
        if any("top_logprobs" in one for one in values):
            return [_of_logprobs({"content": values})]
        return [_of_options({str(one.get("token")): one["logprob"] for one in values})]
    answers: list[Answer] = []
    for one in values:
        # A sample that failed, or is empty, is one that names no option.
        read = read_value(one, name) if is_filled(one) else [Answer("")]
        if not isinstance(read, list) or isinstance(one, list):
            raise InputError(
                f"`{name}` must be one answer or a list of answers; found {quote(values)}."
            )
        answers += read
    return answers or None


def _read_object(value: Mapping[str, Any], name: str) -> list[Answer] | Scores | None:
    """Read a response or a part of one, or numbers by option."""
    if protocol_of(value):
        return read_answers(value) or None
    if any(isinstance(value.get(part), Mapping) for part in ("message", "logprobs")):
        return [read_choice(value)]
    if isinstance(value.get("content"), str) or "tool_calls" in value:
        return [read_choice({"message": value})]
    if any(isinstance(value.get(part), list) for part in ("content", "tokens")):
        return [_of_logprobs(value)]
    if "token" in value and "logprob" in value:
        return [_of_logprobs({"content": [value]})]
    numbers: dict[str, float] = {}
    for option, cell in value.items():
        if isinstance(cell, Mapping):
            option, cell = str(cell.get("decoded_token") or option), cell.get("logprob")
        if cell is not None:
            numbers[option] = cell
    if not numbers or not all(type(score) in (int, float) for score in numbers.values()):
        raise InputError(
            f"`{name}` is an object with {list_names(value, 6)}: name one of its fields "
            f"({name}.{next(iter(value), 'name')}), or all of them ({name}.*)."
        )
    scores = list(numbers.values())
    if max(scores) <= ROUNDING and any(scores):
        return [_of_options(numbers)]
    if min(scores) < 0:
        return Scores("logit", scores, [*numbers])
    if all(isinstance(score, int) for score in scores):
        if sum(scores) <= COUNTED:
            return [Answer(option) for option, n in numbers.items() for _ in range(int(n))] or None
        return Scores("n", scores, [*numbers])
    if fsum(scores) <= 1.0 + ROUNDING:
        return [_of_options({option: log(p) for option, p in numbers.items() if p > 0})]
    return Scores("logit", scores, [*numbers])


def _of_logprobs(logprobs: Mapping[str, Any]) -> Answer:
    """Make an answer by the log-probabilities of its tokens."""
    answer = read_choice({"logprobs": logprobs})
    return answer._replace(text="".join(position.token for position in answer.positions))


def _of_options(scores: Mapping[str, float]) -> Answer:
    """Make an answer that is one of several texts, by their log-probabilities."""
    # Of equal ones the first by name, so that the order of keys changes nothing.
    chosen = max(sorted(scores), key=scores.__getitem__)
    return Answer(chosen, [make_position(chosen, None, scores.items())], ended=True)

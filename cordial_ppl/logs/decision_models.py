"""Responses of decision models: a probability for each ordered level, in a list or in a map.

OpenAI's `/v1/decisions` has a list of answers, each with a list of levels; System One's, by
question, a map of levels by their number, with a legend of labels.
"""

from collections.abc import Mapping
from math import nan
from typing import Any

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.errors import quote
from cordial_ppl.logs.evidence import (
    FAILED,
    REFUSED,
    Answer,
    Evidence,
    Scores,
    as_text,
    is_objects,
)


def read_decisions(body: Mapping[str, Any]) -> dict[str, Evidence] | None:
    """Read the answers in a response of a decision model, by question; None if there are none."""
    answers = body.get("answers")
    if isinstance(answers, Mapping):
        answers = [{"name": name, **one} for name, one in answers.items() if isinstance(one, dict)]
    if not answers or not is_objects(answers) or not all("type" in one for one in answers):
        return None
    several, decisions = len(answers) > 1, dict[str, Evidence]()
    for number, one in enumerate(answers, 1):
        # Several questions without a name are told apart by their order.
        name = str(one.get("name") or one.get("id") or (number if several else ""))
        doubled = [Answer(f"several answers to {name!r}", lost=FAILED)]
        decisions[name] = doubled if name in decisions else _read_decision(one)
    return decisions


def _read_decision(answer: Mapping[str, Any]) -> Evidence:
    """Read the answer to one question."""
    levels, legend = answer.get("probabilities"), answer.get("legend")
    if answer["type"] == "refusal" or answer.get("refusal"):
        return [Answer("", lost=REFUSED)]
    if levels is None:
        yes = _read_number(answer.get("probability", answer.get("noul")))
        levels = {"false": 1.0 - yes, "true": yes}
        legend = {"false": "no", "true": "yes"}
    if isinstance(levels, Mapping):
        labels = legend if isinstance(legend, Mapping) else {}
        listed = [(value, labels.get(value), number) for value, number in levels.items()]
    else:
        keys = ("value", "label", "probability")
        listed = [[*map(one.get, keys)] for one in levels] if is_objects(levels) else []
    named = [(as_text(value) or "", told, _read_number(cell)) for value, told, cell in listed]
    total = sum(number for *_, number in named)
    # Some say per cent; each level may be rounded to two digits.
    unit = 100.0 if total > 50.0 else 1.0
    off = abs(total / unit - 1.0) > 0.02 + 0.005 * len(named)
    if off or not all(number >= 0.0 for *_, number in named):
        # Or an answer of another kind, such as a place in an image.
        return [Answer(f"no probabilities that sum to 1 in {quote(answer)}", lost=FAILED)]
    if all(parse_number(name) is not None for name, *_ in named):
        # Servers list numbered levels in any order.
        named.sort(key=lambda one: parse_number(one[0]) or 0.0)
    shares = [number / unit for *_, number in named]
    # A rubric may describe its levels by objects.
    options = [told if isinstance(told, str) and told else name for name, told, _ in named]
    return Scores("p", shares, options, [name for name, *_ in named])


def _read_number(cell: Any) -> float:
    """Read a number; NaN if it is none."""
    number = parse_number(cell)
    return nan if number is None else number

"""Responses of decision models: a probability for each ordered level, in a list or in a map.

OpenAI's `/v1/decisions` has a list of answers, each with a list of levels; System One's, by
question, a map of levels by their number, with a legend of labels.
"""

from collections.abc import Mapping
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
    # Several questions without a name are told apart by their order.
    several = len(answers) > 1
    return {
        str(one.get("name") or one.get("id") or (number if several else "")): _read_decision(one)
        for number, one in enumerate(answers, 1)
    }


def _read_decision(answer: Mapping[str, Any]) -> Evidence:
    """Read the answer to one question."""
    levels, legend = answer.get("probabilities"), answer.get("legend") or {}
    if answer["type"] == "refusal" or answer.get("refusal"):
        return [Answer("", lost=REFUSED)]
    yes = answer.get("probability", answer.get("noul"))
    if levels is None and yes is not None:
        return Scores("p", (1 - float(yes), float(yes)), ("no", "yes"), ("false", "true"))
    if isinstance(levels, Mapping):
        levels = [
            {"value": value, "label": legend.get(value), "probability": number}
            for value, number in levels.items()
        ]
    if not levels or not is_objects(levels):
        # An answer of another kind, such as a place in an image.
        return [Answer(f"no probability for each level in {quote(answer)}", lost=FAILED)]
    named = [(as_text(level.get("value")) or "", level) for level in levels]
    if all(parse_number(name) is not None for name, _ in named):
        # Servers list numbered levels in any order.
        named.sort(key=lambda one: parse_number(one[0]) or 0.0)
    # A rubric may describe its levels by objects.
    told = [(level.get("label"), name) for name, level in named]
    labels = [label if isinstance(label, str) and label else name for label, name in told]
    shares = [float(level["probability"]) for _, level in named]
    return Scores("p", shares, labels, [name for name, _ in named])

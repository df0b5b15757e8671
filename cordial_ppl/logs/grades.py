"""What the scorers of Inspect say of a sample: their values, and the calls of models that grade.

A score is a value (a number, a letter such as C or I, a mapping of several, NaN for none) and, of
`model_graded_qa` and its kin, the grader's message in `metadata.grading`. What a scorer asked a
model is among the sample's `events`, inside the scorer's span, with log-probabilities if these were
asked for; logs from before 2025 mark a step instead.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, list_names
from cordial_ppl.logs.evidence import Answer
from cordial_ppl.logs.records import as_text
from cordial_ppl.logs.responses import read_choice

Object = Mapping[str, Any]


class Grade(NamedTuple):
    """A grade of a sample.

    Attributes:
        reader: The model that gave it, else the scorer.
        answer: The model's answer if the log has its log-probabilities, else the value.
        made: How it was made: "model", "decoding".
    """

    reader: str
    answer: Answer
    made: dict[str, str]


def list_scores(sample: Object) -> dict[str, bool]:
    """Name the scores of a sample: "stars", and "rubric.style" for one of several values.

    Args:
        sample: The sample.

    Returns:
        The names, each with whether a model gave it.
    """
    names: dict[str, bool] = {}
    for scorer, score in (sample.get("scores") or {}).items():
        graded = _grader(score) is not None or bool(_calls(sample, scorer))
        keys = [f"{scorer}.{key}" for key in _parts(score.get("value"))]
        names |= dict.fromkeys(keys or [scorer], graded)
    return names


def has_calls(sample: Object, name: str) -> bool:
    """Whether a scorer asked a model of a sample, as far as the log has it.

    Args:
        sample: The sample.
        name: The scorer, or one of its values: "rubric.style".

    Returns:
        Whether the log has a call.
    """
    return bool(_calls(sample, _scorer(sample, name)[0]))


def read_grades(sample: Object, name: str) -> list[Grade]:
    """Read a score of a sample.

    Args:
        sample: The sample.
        name: The scorer, or one of its values: "rubric.style".

    Returns:
        A grade for each model whose log-probabilities the log has, else one; none if the sample
        has no such score.

    Raises:
        InputError: The scorer gives several values, and none is named.
    """
    scores = sample.get("scores") or {}
    scorer, key = _scorer(sample, name)
    value = scores.get(scorer, {}).get("value")
    parts = _parts(value)
    if scorer not in scores or key and key not in parts:
        return []
    if parts and not key:
        raise InputError(
            f"{scorer!r} gives {len(parts)} values: choose one, for example "
            f"--score {scorer}.{next(iter(parts))}; found {list_names(parts)}."
        )
    value = _write(parts[key] if key else value)
    calls = _calls(sample, scorer)
    answers = {
        model: read_choice(call["output"]["choices"][0])._replace(value=value)
        for model, call in calls.items()
    }
    # Which of its tokens one of several values came from is unknown.
    if answers and not key and all(answer.positions for answer in answers.values()):
        return [Grade(m, answer, _made(m, calls[m])) for m, answer in answers.items()]
    graders = [*calls] or [grader for grader in [_grader(scores[scorer])] if grader]
    if len(graders) == 1:
        (model,) = graders
        return [Grade(model, Answer(value), _made(model, calls.get(model, {})))]
    return [Grade(scorer, Answer(value), {})]


def _scorer(sample: Object, name: str) -> tuple[str, str]:
    """The scorer of a score, and which of its values it is."""
    scorer, _, key = name.rpartition(".")
    return (name, "") if name in (sample.get("scores") or {}) else (scorer, key)


def _parts(value: Any) -> Object:
    """The values of a mapping or a list by their keys; none of a single value."""
    if isinstance(value, list):
        return {str(place): part for place, part in enumerate(value)}
    return value if isinstance(value, Mapping) else {}


def _write(value: Any) -> str:
    """Write a value; NaN stands for none."""
    return "" if value != value else as_text(value) or ""


def _grader(score: Object) -> str | None:
    """The model that a score names as its grader."""
    messages = (score.get("metadata") or {}).get("grading") or [{}]
    return as_text(messages[-1].get("model"))


def _made(model: str, call: Object) -> dict[str, str]:
    config = call.get("config")
    decoding = {"decoding": json.dumps(config, sort_keys=True)} if config else {}
    return {"model": model, **decoding}


def _calls(sample: Object, scorer: str) -> dict[str, Object]:
    """The last call of each model that a scorer asked."""
    return {str(call.get("model")): call for call in _inside(sample, scorer)}


def _inside(sample: Object, scorer: str) -> Iterator[Object]:
    """The calls of models within a scorer."""
    spans: set[str] = set()
    step = False
    for event in sample.get("events") or []:
        own = event.get("type") == "scorer" and event.get("name") == scorer
        match event.get("event"):
            case "step" if own:
                step = event.get("action") == "begin"
            case "span_begin" if own or event.get("parent_id") in spans:
                spans.add(event["id"])
            case "model" if step or event.get("span_id") in spans:
                if (event.get("output") or {}).get("choices"):
                    yield event

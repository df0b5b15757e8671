"""Logs of Inspect, `.eval` and `.json`, as its own package reads them.

With `logprobs=True, top_logprobs=20` in the generation's configuration, the log-probabilities of a
sample's choices are read, else its text. Epochs of a sample, and several choices, are several
answers to one prompt. The target is the label. With a scorer's name its scores are read instead: a
value of each sample, or the answer of the model that the scorer asked.
"""

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, InputError, list_names
from cordial_ppl.logs.evidence import Answer, Record, as_text
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.paths import list_cells
from cordial_ppl.logs.protocols import read_choice
from cordial_ppl.logs.responses import LONG
from cordial_ppl.logs.rows import at

WORDS = "Inspect's logs"

UNGRADED = "Grade not found in model output"
"""How Inspect's scorers explain the value, incorrect, of an answer that they could not read."""

Sample = Any
"""An `EvalSample` of Inspect."""


def of_scorer(form: Format, name: str) -> Format:
    """Read a scorer's scores instead of the answers of the model.

    Args:
        form: The format of the log.
        name: The scorer, or one of its values: "rubric.style".

    Returns:
        The format that reads them.

    Raises:
        InputError: The log is not of Inspect.
    """
    if form is not FORMAT:
        raise InputError(f"--score is for {FORMAT.words}; these are {form.words}.")
    return replace(form, records=partial(_read, score=name))


def _load(path: Path) -> Any:
    """Read a log with Inspect's package."""
    try:
        read_eval_log = importlib.import_module("inspect_ai.log").read_eval_log
    except ImportError as error:
        raise FileError(
            f"{path} is a log of Inspect; to read it, install Inspect's package: "
            'pip install "cordial-ppl[inspect]".'
        ) from error
    path.open("rb").close()
    try:
        return read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # Whatever a damaged archive makes the package raise.
        raise FileError(f"Inspect cannot read {path}: {error!r:.{LONG}}") from error


def _read(path: Path, score: str | None = None) -> Iterator[Record]:
    """Read a log: a record for each sample, or for each of its graders, its epochs together."""
    log = _load(path)
    samples: dict[str, list[Sample]] = {}
    for sample in log.samples or []:
        samples.setdefault(str(sample.id), []).append(sample)
    ended = "" if log.status in (None, "success") else f"the evaluation ended with {log.status!r}"
    if ended and log.error:
        ended += f": {log.error.message}"
    if not samples:
        raise FileError(f"{path} holds no samples{'; ' if ended else ''}{ended[:LONG]}.")
    if ended:
        yield Record("the log", failed=ended[:LONG])
    names = dict.fromkeys(name for sample in log.samples for name in _values(sample))
    if score is not None and score not in names:
        raise FileError(f"{path} has no score {score!r}; it has {list_names(names)}.")
    for item, epochs in samples.items():
        with at(f"sample {item}", WORDS):
            record = _record(log.eval, f"sample {item}", epochs)
            yield from [record] if score is None else _grade(record, epochs, score)


def _record(run: Any, location: str, epochs: list[Sample]) -> Record:
    """Make a record of the model's answers in all epochs of a sample."""
    target = epochs[0].target
    # Several targets are several right answers, and no label.
    targets = target if isinstance(target, list) else [target]
    made = {"model": as_text(run.model), "date": str(run.created or "")[:10]}
    made |= _decoding(run.model_generate_config)
    answers = [read_choice(choice.model_dump()) for s in epochs for choice in s.output.choices]
    return Record(
        location,
        as_text(epochs[0].id),
        answers,
        failed=None if answers else _failure(epochs, "no answer"),
        reader=made["model"],
        task=as_text(run.task),
        label=as_text(targets[0]) if len(targets) == 1 else None,
        made={name: text for name, text in made.items() if text},
        scored={
            name: bool(_calls(sample, scorer))
            for sample in epochs
            for name, (scorer, _) in _values(sample).items()
        },
        extras=dict(list_cells({"metadata": epochs[0].metadata})),
    )


def _decoding(config: Any) -> dict[str, str]:
    """Write how a model was asked to generate."""
    settings = config.model_dump(exclude_none=True) if config is not None else {}
    return {"decoding": json.dumps(settings, sort_keys=True)} if settings else {}


def _grade(record: Record, epochs: list[Sample], score: str) -> list[Record]:
    """Make a record for each grader of a sample."""
    answers: dict[str, list[Answer]] = {}
    made: dict[str, dict[str, str]] = {}
    for sample in epochs:
        for grader, answer, how in _grades(sample, score):
            answers.setdefault(grader, []).append(answer)
            made.setdefault(grader, how)
    record = replace(record, label=None, scored={}, failed=None)
    if not answers:
        failed = _failure(epochs, f"no score {score!r}")
        return [replace(record, reader=None, evidence=None, failed=failed)]
    date = {"date": record.made["date"]} if "date" in record.made else {}
    return [
        replace(record, reader=grader, evidence=evidence, made=date | made[grader])
        for grader, evidence in answers.items()
    ]


def _failure(epochs: list[Sample], otherwise: str) -> str:
    """Say why a sample has no answer."""
    errors = (sample.error.message for sample in epochs if sample.error)
    return next(errors, otherwise)[:LONG]


def _grades(sample: Sample, name: str) -> Iterator[tuple[str, Answer, dict[str, str]]]:
    """Read a score of a sample: yields who gave it, the answer, and how it was made."""
    scorer, value = _values(sample).get(name, (None, None))
    if scorer is None:
        return
    value = "" if value != value else as_text(value) or ""
    calls = {call.model: call for call in _calls(sample, scorer)}
    answers = {
        model: read_choice(call.output.choices[0].model_dump())._replace(value=value)
        for model, call in calls.items()
    }
    # Which of its tokens one of several values came from is unknown.
    if answers and name == scorer and all(answer.positions for answer in answers.values()):
        for model, answer in answers.items():
            yield model, answer, {"model": model} | _decoding(calls[model].config)
    elif len(calls) == 1:
        ((model, call),) = calls.items()
        yield model, Answer(value), {"model": model} | _decoding(call.config)
    else:
        yield scorer, Answer(value), {}


def _values(sample: Sample) -> dict[str, tuple[str, Any]]:
    """List scorers and values of all scores: "stars", and "rubric.style" for one of several."""
    values: dict[str, tuple[str, Any]] = {}
    for scorer, score in (sample.scores or {}).items():
        parts = dict(enumerate(score.value)) if isinstance(score.value, list) else score.value
        if (score.explanation or "").startswith(UNGRADED):
            parts = float("nan")
        if isinstance(parts, Mapping):
            values |= {f"{scorer}.{key}": (scorer, value) for key, value in parts.items()}
        else:
            values[scorer] = scorer, parts
    return values


def _calls(sample: Sample, scorer: str) -> list[Any]:
    """List the calls of models within a scorer, in order."""
    spans: set[str] = set()
    calls = []
    for event in sample.events:
        if event.event == "span_begin":
            begins = event.type == "scorer" and event.name == scorer
            spans |= {event.id} if begins or event.parent_id in spans else set()
        elif event.event == "model" and event.span_id in spans and event.output.choices:
            calls.append(event)
    return calls


FORMAT = Format(
    "inspect",
    WORDS,
    _read,
    lambda first: isinstance(first.get("eval"), dict) and "plan" in first,
    ending=".eval",
    remedy="--logprobs --top-logprobs 20; of a grader, in its --model-role",
)

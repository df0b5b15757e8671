"""lm-evaluation-harness, the samples that `--log_samples` writes: samples_<task>_<date>.jsonl.

Multiple-choice tasks score every choice as a continuation (`arguments`, `filtered_resps`, which
are strings in current versions); tasks that generate have answers (`resps`), all repeats of which
are taken. Every filter has its rows of the same texts; those of the first are taken. A text is
named by the hash of its document, which other runs share. The model's name stands in
results_<date>.json beside the samples, and the task's settings: whether targets are positions of
choices, counted from 0, or their names.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Answer, Record, Scores, as_day, as_text
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.paths import list_cells
from cordial_ppl.logs.rows import at, read_rows, say_fields

FILE = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d{2}-\d{2}T[\d\-.:]+)\.jsonl?")

WORDS = "lm-evaluation-harness, --log_samples"

UNCLEAR = (
    'a target such as "3" may be the name of a choice or its position from 0. Keep '
    "results_<date>.json beside the samples, or take the labels from a table: leave --labels out."
)


def _knows(first: Mapping[str, Any]) -> bool:
    return {"doc", "arguments", "resps"} <= set(first)


def _read(path: Path) -> Iterator[Record]:
    """Read a file of samples: a record for each document."""
    task, made, template = _run(path)
    first = next(read_rows(path)).value
    named = _is_named(template, first.get("doc"))
    seen: dict[str, Any] = {}
    for row in read_rows(path):
        value = row.value
        with at(row.location, WORDS):
            if not _knows(value):
                raise InputError(
                    f"expected a sample of lm-eval; found {say_fields(dict.fromkeys(value, ()))}."
                )
            scores = _scores(value)
        if value.get("filter") != first.get("filter"):
            continue
        item, number = value.get("doc_hash"), value.get("doc_id")
        # A data set may hold a document twice.
        if item is not None and seen.setdefault(item, number) != number:
            item = f"{item}-{number}"
        texts = [text for request in value["resps"] for text in request]
        answers = [Answer(t if isinstance(t, str) else json.dumps(t)) for t in texts]
        yield Record(
            row.location,
            as_text(number if item is None else item),
            Scores("logprob", [*scores.values()], [*scores]) if scores else answers,
            reader=made.get("model"),
            task=task,
            label=_label(value, scores, named),
            made=made,
            extras=dict(list_cells({"doc": value["doc"]})),
        )


def _scores(value: Mapping[str, Any]) -> dict[str, float]:
    """Read log-likelihoods by choice; none if the task generates."""
    asked = value["arguments"]
    pairs: list[list[Any]] = (
        [list(one.values()) for one in asked.values()] if isinstance(asked, Mapping) else asked
    )
    if not all(len(pair) > 1 and isinstance(pair[1], str) for pair in pairs):
        return {}
    # What is scored without a context is for acc_mutual_info, and no answer to anything.
    first = next((context for context, *_ in pairs if context), "")
    scores: dict[str, float] = {}
    for (context, choice, *_), response in zip(pairs, value["filtered_resps"], strict=False):
        choice = choice.strip()
        if context != first and not context:
            continue
        if choice in scores or context != first:
            raise InputError(
                f"choices must be different continuations of one prompt; found {choice!r} again, "
                "or after another prompt. A task with its choices in the prompt has no options "
                "to read."
            )
        score = response[0] if isinstance(response, list) else response
        scores[choice] = float(score)
    return scores


def _is_named(template: Any, doc: Any) -> bool | None:
    """Say whether targets are names of choices, by `doc_to_target`; None if it is unknown."""
    if isinstance(template, str) and isinstance(doc, Mapping) and template in doc:
        return isinstance(doc[template], str)
    return False if isinstance(template, int) or "{{" in str(template) else None


def _label(
    value: Mapping[str, Any], scores: Mapping[str, float], named: bool | None
) -> str | InputError | None:
    """Take the target as the name or the position of a choice."""
    target = as_text(value.get("target"))
    if named or not scores or target is None or not target.isdecimal():
        return target
    if named is None:
        return InputError(UNCLEAR)
    return dict(enumerate(scores)).get(int(target))


def _run(path: Path) -> tuple[str | None, dict[str, str], Any]:
    """Read the task, what the results beside the samples say of them, and `doc_to_target`."""
    name = FILE.fullmatch(path.name)
    if name is None:
        return None, {}, None
    task, beside = name["task"], path.with_name(f"results_{name['date']}.json")
    made = {"date": name["date"].partition("T")[0]}
    template = None
    try:
        results = json.loads(beside.read_text(encoding="utf-8"))
        made["model"] = str(results.get("model_name") or results["config"]["model"])
        made["date"] = as_day(float(results["date"])) or made["date"]
        config = results["configs"][task]
        template = config.get("doc_to_target") if config.get("doc_to_choice") else None
        prompt = str(config["doc_to_text"])
        made["prompt"] = hashlib.sha256(prompt.encode()).hexdigest()[:16]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Nothing hangs on it: the samples are complete without.
        pass
    return task, made, template


FORMAT = Format(
    "lm-eval",
    WORDS,
    _read,
    _knows,
    remedy="a multiple-choice task",
)

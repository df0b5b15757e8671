"""lm-evaluation-harness, the samples that `--log_samples` writes: samples_<task>_<date>.jsonl.

Multiple-choice tasks score every choice as a continuation (`arguments`, `filtered_resps`, which
are strings in current versions); tasks that generate have answers (`resps`), all repeats of which
are samples.  Every filter has its rows of the same texts; those of the first are taken.  A text is
named by the hash of its document, which other runs share.  The model's name stands in
results_<date>.json beside the samples.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.evidence import Answers, Record, Sequences, Unlabelled
from cordial_ppl.formats.rows import Row, json_rows, name_fields
from cordial_ppl.formats.targets import Sample, told_by_samples, told_by_task
from cordial_ppl.formats.wrapping import as_day, as_text

FILE = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d{2}-\d{2}T[\d\-.:]+)\.jsonl?")

UNTOLD = (
    'targets such as "3" may be names of choices or their positions from 0, and nothing in the '
    "log tells. Keep results_<date>.json beside the samples, log `acc`, or take the labels from a "
    "table: leave --labels out."
)


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is a sample of the harness."""
    del path
    return first is not None and {"doc", "arguments", "resps"} <= set(first)


def read(path: Path) -> Iterator[Record | Unlabelled]:
    """Read a file of samples: a record for each document; first, whether targets cannot be told."""
    task, made, template = _run(path)
    named = _targets_are_names(path, template)
    if named is None:
        yield Unlabelled(UNTOLD)
    seen: dict[str, Any] = {}
    filters: list[Any] = []
    for row in json_rows(path):
        value = row.value
        if not recognises(path, value):
            found = name_fields(value)
            raise InputError(f"{row.place} must be a sample of lm-eval; found {found}.")
        filters = filters or [value.get("filter")]
        if value.get("filter") not in filters:
            continue
        item, place = value.get("doc_hash"), value.get("doc_id")
        # A data set may hold a document twice.
        if item is not None and seen.setdefault(item, place) != place:
            item = f"{item}-{place}"
        with naming(row.place):
            scores = _scores(value)
            yield Record(
                item_id=as_text(place if item is None else item),
                evidence=Sequences(scores) if scores else Answers(_texts(value)),
                place=row.place,
                reader=made.get("model"),
                task=task,
                label=_label(value, list(scores), named),
                made=made,
            )


def _scores(value: Mapping[str, Any]) -> dict[str, float]:
    """Log-likelihoods by choice; none if the task generates."""
    asked = value["arguments"]
    pairs: list[list[Any]] = (
        [list(one.values()) for one in asked.values()] if isinstance(asked, Mapping) else asked
    )
    given: list[Any] = value.get("filtered_resps") or []
    if not all(len(pair) > 1 and isinstance(pair[1], str) for pair in pairs):
        return {}
    # What is scored without a context is for acc_mutual_info, and no answer to anything.
    first = next((context for context, *_ in pairs if context), "")
    scores: dict[str, float] = {}
    for (context, choice, *_), response in zip(pairs, given, strict=False):
        if context != first and not context:
            continue
        if choice not in scores:
            scores[choice] = _score(response)
        elif context == first:
            raise InputError(f"choices must differ; found {choice!r} twice.")
        else:
            raise InputError(
                f"choices must be continuations of one prompt; found {choice!r} after several. "
                "A task that puts its choices into the prompt has no options to read."
            )
    return scores


def _score(response: Any) -> float:
    score: Any = response[0] if isinstance(response, list) and response else response
    try:
        return float(score)
    except (TypeError, ValueError):
        raise InputError(
            f"`filtered_resps` must be log-likelihoods; found {str(response)[:60]}."
        ) from None


def _texts(value: Mapping[str, Any]) -> list[str]:
    texts = [text for request in value["resps"] for text in request]
    return [text if isinstance(text, str) else json.dumps(text) for text in texts]


def _label(value: Mapping[str, Any], choices: list[str], named: bool | None) -> str | None:
    target = as_text(value.get("target"))
    if target is None or not choices or named or not target.isdecimal():
        return target
    place = int(target)
    # The harness itself counts no position beyond the choices.
    return choices[place] if named is not None and place < len(choices) else None


def _targets_are_names(path: Path, template: Any) -> bool | None:
    """Whether "2" means the choice of that name and not the third; None if it cannot be told."""
    rows = json_rows(path)
    first = next(rows)
    told = told_by_task(template, first.value.get("doc"))
    return told_by_samples(map(_sample, chain([first], rows))) if told is None else told


def _sample(row: Row) -> Sample:
    value = row.value
    if not recognises(Path(), value):
        return Sample("", {}, {})
    with naming(row.place):
        scores = {choice.strip(): score for choice, score in _scores(value).items()}
    return Sample(as_text(value.get("target")) or "", scores, value)


def _run(path: Path) -> tuple[str | None, dict[str, str], Any]:
    """The task, what the results beside the samples say of how they were made, `doc_to_target`."""
    name = FILE.fullmatch(path.name)
    if name is None:
        return None, {}, None
    task, beside = name["task"], path.with_name(f"results_{name['date']}.json")
    made = {"date": name["date"].partition("T")[0]}
    template = None
    folder = path.absolute().parent.name
    if "__" in folder:
        made["model"] = folder.replace("__", "/")
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

"""lm-evaluation-harness, the samples that `--log_samples` writes: samples_<task>_<date>.jsonl.

Multiple-choice tasks score every choice as a continuation (`arguments`, `filtered_resps`, which
are strings in current versions); tasks that generate have answers (`resps`), all repeats of which
are samples.  Every filter has its rows of the same texts; those of the first are taken.  A text is
named by the hash of its document, which other runs share.  The model's name stands in
results_<date>.json beside the samples.
"""

import datetime
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.evidence import Answers, Record, Sequences
from cordial_ppl.formats.rows import json_rows
from cordial_ppl.formats.wrapping import as_text

FILE = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d{2}-\d{2}T[\d\-.:]+)\.jsonl?")


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is a sample of the harness."""
    del path
    return first is not None and {"doc", "arguments", "resps"} <= set(first)


def read(path: Path) -> Iterator[Record]:
    """Read a file of samples.

    Args:
        path: JSON Lines; older versions wrote a JSON list.

    Yields:
        A record a document.

    Raises:
        FileError: The file cannot be read or is not JSON.
        InputError: An object is no sample, or its choices are not continuations of one prompt.
    """
    task, made = _run(path)
    by_text = _targets_are_texts(path)
    seen: dict[str, Any] = {}
    chosen: Any = None
    for number, row in enumerate(json_rows(path)):
        value = row.value
        if not recognises(path, value):
            raise InputError(f"{row.place} must be a sample of lm-eval; found {', '.join(value)}.")
        chosen = value.get("filter") if number == 0 else chosen
        if value.get("filter") != chosen:
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
                label=_label(value, list(scores), by_text),
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
    scores: dict[str, float] = {}
    for (context, choice, *_), response in zip(pairs, given, strict=False):
        if choice not in scores:
            scores[choice] = _score(response)
        elif context and context == pairs[0][0]:
            raise InputError(f"choices must differ; found {choice!r} twice.")
        elif context:
            raise InputError(
                f"choices must be continuations of one prompt; found {choice!r} after several. "
                "A task that puts its choices into the prompt has no options to read."
            )
        # Without a context it is scored again, for acc_mutual_info.
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


def _label(value: Mapping[str, Any], choices: list[str], by_text: bool) -> str | None:
    target = as_text(value.get("target"))
    if target is None or not choices or by_text:
        return target
    place = int(target) if target.isdigit() else -1
    return choices[place] if 0 <= place < len(choices) else target


def _targets_are_texts(path: Path) -> bool:
    """Whether "2" means the choice of that name and not the third.

    The harness writes positions, unless the data's own field is a text.  The first text on which
    both differ and `acc` agrees with one of them alone tells.
    """
    for row in json_rows(path):
        if not recognises(path, row.value) or "acc" not in row.value:
            return False
        with naming(row.place):
            scores = _scores(row.value)
        names = [choice.strip() for choice in scores]
        target = str(row.value.get("target"))
        if not target.isdigit() or target not in names:
            continue
        best = max(range(len(names)), key=list(scores.values()).__getitem__)
        right = float(row.value["acc"]) == 1.0
        as_place, as_name = int(target) == best, target == names[best]
        if as_place != as_name:
            return as_name == right
    return False


def _run(path: Path) -> tuple[str | None, dict[str, str]]:
    """The task, and what the results beside the samples say of how they were made."""
    name = FILE.fullmatch(path.name)
    if name is None:
        return None, {}
    task, beside = name["task"], path.with_name(f"results_{name['date']}.json")
    made = {"date": name["date"].partition("T")[0]}
    folder = path.absolute().parent.name
    if "__" in folder:
        made["model"] = folder.replace("__", "/")
    try:
        results = json.loads(beside.read_text(encoding="utf-8"))
        made["model"] = str(results.get("model_name") or results["config"]["model"])
        seconds = float(results["date"])
        made["date"] = datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
        prompt = str(results["configs"][task]["doc_to_text"])
        made["prompt"] = hashlib.sha256(prompt.encode()).hexdigest()[:16]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Nothing hangs on it: the samples are complete without.
        pass
    return task, made

"""Logs of Inspect: `.eval` archives, with a file for each sample, and `.json`.

With `logprobs=True, top_logprobs=20` in the generation's configuration, a sample's
`output.choices[].logprobs` are read, else its text.  Epochs of a sample, and several choices, are
samples of one answer.  The target is the label.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, naming
from cordial_ppl.formats.archives import Archive
from cordial_ppl.formats.entries import from_entries
from cordial_ppl.formats.evidence import Evidence, Record, of_choices
from cordial_ppl.formats.rows import json_rows, name_fields
from cordial_ppl.formats.wrapping import as_text

SAMPLE = re.compile(r"samples/(?P<item>.*)_epoch_\d+\.json", re.DOTALL)

HEADERS = ("header.json", "_journal/start.json")
"""What a log says of itself; one that is not finished has only the second."""

Epochs = list[Mapping[str, Any]]


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether a file is a log of Inspect, by its ending or its first object."""
    return path.suffix == ".eval" or (
        first is not None and isinstance(first.get("eval"), dict) and "plan" in first
    )


def read(path: Path) -> Iterator[Record]:
    """Read a log: a record for each sample, its epochs together."""
    place = None
    for log, item, epochs in _archived(path) if _is_archive(path) else _listed(path):
        place = f"sample {item}"
        with naming(place):
            yield _record(log, place, epochs)
    if place is None:
        raise FileError(f"{path} holds no samples.")


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


def _archived(path: Path) -> Iterator[tuple[Mapping[str, Any], str, Epochs]]:
    with Archive(path) as archive:
        header = next((name for name in HEADERS if name in archive.names), None)
        if header is None:
            raise FileError(f"{path} must be a log of Inspect; found no {HEADERS[0]} in it.")
        log = _json(archive, header).get("eval") or {}
        groups: dict[str, list[str]] = {}
        for name in archive.names:
            if sample := SAMPLE.fullmatch(name):
                groups.setdefault(sample["item"], []).append(name)
        for item, names in groups.items():
            yield log, item, [_json(archive, name) for name in names]


def _json(archive: Archive, name: str) -> dict[str, Any]:
    content = archive.unpack(name)
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise FileError(f"{archive.path}: {name} is nested too deeply.") from error
    except ValueError as error:
        raise FileError(f"{archive.path}: {name} is not JSON: {error}.") from error
    return value if isinstance(value, dict) else {}


def _listed(path: Path) -> Iterator[tuple[Mapping[str, Any], str, Epochs]]:
    log = next(json_rows(path)).value
    if not isinstance(log.get("eval"), dict):
        raise FileError(f"{path} must be a log of Inspect; found {name_fields(log)}.")
    groups: dict[str, Epochs] = {}
    for sample in log.get("samples") or []:
        groups.setdefault(str(sample.get("id")), []).append(sample)
    for item, epochs in groups.items():
        yield log["eval"], item, epochs


def _record(log: Mapping[str, Any], place: str, epochs: Epochs) -> Record:
    target = epochs[0].get("target")
    # Several targets are several right answers, and no label.
    targets = target if isinstance(target, list) else [target]
    made = {"model": as_text(log.get("model")), "date": str(log.get("created") or "")[:10]}
    if config := log.get("model_generate_config"):
        made["decoding"] = json.dumps(config, sort_keys=True)
    return Record(
        item_id=as_text(epochs[0].get("id")),
        evidence=_evidence(epochs),
        place=place,
        reader=made["model"],
        task=as_text(log.get("task")),
        label=as_text(targets[0]) or None if len(targets) == 1 else None,
        made={name: value for name, value in made.items() if value},
    )


def _evidence(epochs: Iterable[Mapping[str, Any]]) -> Evidence:
    choices = [
        (sample, choice)
        for sample in epochs
        for choice in (sample.get("output") or {}).get("choices") or []
    ]
    entries: list[Any] = [(choice.get("logprobs") or {}).get("content") for _, choice in choices]
    tokens = [from_entries(own) if own else None for own in entries]
    return of_choices(tokens, [_said(sample, choice) for sample, choice in choices])


def _said(sample: Mapping[str, Any], choice: Mapping[str, Any]) -> str:
    content = (choice.get("message") or {}).get("content") or ""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    # Long texts are kept apart.
    _, attached, name = content.partition("attachment://")
    return str((sample.get("attachments") or {}).get(name, "")) if attached else content

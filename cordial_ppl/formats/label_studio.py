"""Labels from Label Studio, exported as JSON: tasks with annotations.

A task has `data` and `annotations`, each with results: a choice, a rating or a number.  The text
is named by `item_id` or `id` in its data, else by the task's `id`; the control (`from_name`) is
the task.  Annotations that were cancelled count nothing.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Record
from cordial_ppl.formats.rows import json_rows, name_fields
from cordial_ppl.formats.wrapping import as_text

KINDS = ("choices", "rating", "number")
"""Kinds of results that are labels of a whole text."""


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is a task of Label Studio."""
    del path
    return first is not None and ({"data", "annotations"} <= set(first) or "annotation_id" in first)


def read(path: Path) -> Iterator[Record]:
    """Read the labels of an export.

    Args:
        path: JSON.

    Yields:
        A record a result.

    Raises:
        FileError: The file cannot be read or is not JSON.
        InputError: An object is no task, or a result has several choices.
    """
    for row in json_rows(path):
        if "annotations" not in row.value:
            raise InputError(
                f"{row.place} must be a task with `annotations`; found "
                f"{name_fields(row.value)}. Export as JSON, not as JSON-MIN."
            )
        data = row.value.get("data") or {}
        item = next(
            (data[name] for name in ("item_id", "id") if data.get(name) is not None),
            row.value.get("id"),
        )
        for question, value, user in _results(row.value["annotations"], row.place):
            yield Record(
                as_text(item), None, row.place, task=question, label=as_text(value), user=user
            )


def _results(annotations: Any, place: str) -> Iterator[tuple[str | None, Any, str | None]]:
    """Control, label and user of each result."""
    for annotation in annotations:
        if annotation.get("was_cancelled"):
            continue
        user = annotation.get("completed_by")
        user = user.get("email") or user.get("id") if isinstance(user, Mapping) else user
        for result in annotation.get("result") or []:
            kind = next((kind for kind in KINDS if kind in (result.get("value") or {})), None)
            if kind is None:
                continue
            value = result["value"][kind]
            if isinstance(value, list):
                if len(value) != 1:
                    raise InputError(f"{place}: a label must be one choice; found {value}.")
                (value,) = value
            yield as_text(result.get("from_name")), value, as_text(user)

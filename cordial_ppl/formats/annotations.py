"""Labels from annotation tools: Argilla's records and Label Studio's JSON export.

A record of Argilla has `responses`, by question: {"stars": [{"value": 4, "user_id": ...}]}.
Version 1 has a list of {"user_id": ..., "values": {"stars": {"value": 4}}}; flattened records have
the columns `stars.responses` and `stars.responses.users`. A task of Label Studio has `data` and
`annotations`, each with results: a choice, a rating or a number; the control (`from_name`) is the
task. What was not submitted, or was cancelled, is no label.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.format import Format
from cordial_ppl.formats.records import Record, as_text, first_of
from cordial_ppl.formats.rows import Row, by_row

FLAT = ".responses"

LEFT = ("draft", "discarded")
"""States of Argilla's responses that do not count."""

KINDS = ("choices", "rating", "number")
"""Kinds of Label Studio's results that are labels of a whole text."""

Object = Mapping[str, Any]


def _is_argilla(value: Object) -> bool:
    return any(name.endswith(FLAT) for name in value) or {"fields", "responses"} <= set(value)


def _read_argilla(row: Row) -> Iterator[Record]:
    """Read a record of Argilla, whatever its version."""
    value = row.value
    if not _is_argilla(value):
        raise InputError(f"expected a record with `responses`; found {row.fields}.")
    item = _named(value.get("id") or value.get("external_id"))
    for question, given in _responses(value):
        kept = [(label, user) for label, user, state in given if state not in LEFT]
        for number, (label, user) in enumerate(kept, start=1):
            # Each response is one person's, even if the export does not name them.
            user = f"person {number}" if user is None and len(kept) > 1 else user
            named = {question: label}
            if question is None:
                named = {name: answer.get("value") for name, answer in (label or {}).items()}
            for task, text in named.items():
                if isinstance(text, str | int | float):
                    label, user = as_text(text), as_text(user)
                    yield Record(row.place, item, task=task, label=label, user=user)


def _responses(value: Object) -> Iterator[tuple[str | None, list[tuple[Any, Any, Any]]]]:
    """Label, user and state of all responses to each question; None for all questions together."""
    found = value.get("responses") or {}
    groups = {None: found} if isinstance(found, list) else found
    for question, given in groups.items():
        name = "values" if question is None else "value"
        yield question, [(r.get(name), r.get("user_id"), r.get("status")) for r in given or []]
    for name in value:
        if name.endswith(FLAT):
            given = value[name] or []
            columns = (
                value.get(f"{name}.{field}") or [None] * len(given) for field in ("users", "status")
            )
            yield name.removesuffix(FLAT), list(zip(given, *columns, strict=False))


def _is_label_studio(value: Object) -> bool:
    return {"data", "annotations"} <= set(value)


def _read_label_studio(row: Row) -> Iterator[Record]:
    """Read a task of Label Studio."""
    value = row.value
    if not _is_label_studio(value):
        raise InputError(
            f"expected a task with `data` and `annotations`; found {row.fields}. Export as JSON, "
            "not as JSON-MIN."
        )
    item = _named(first_of(value["data"] or {}, ("item_id", "id")) or value.get("id"))
    for annotation in value["annotations"]:
        if annotation.get("was_cancelled"):
            continue
        user = annotation.get("completed_by")
        user = user.get("email") or user.get("id") if isinstance(user, Mapping) else user
        for result in annotation.get("result") or []:
            label = first_of(result.get("value") or {}, KINDS)
            if isinstance(label, list):
                if len(label) != 1:
                    raise InputError(f"a label must be one choice; found {label}.")
                (label,) = label
            task = as_text(result.get("from_name"))
            yield Record(row.place, item, task=task, label=as_text(label), user=as_text(user))


def _named(item: Any) -> str:
    """The name of a text, without which labels are of no use."""
    name = as_text(item)
    if name is None:
        raise InputError("expected an `id`; found none.")
    return name


ARGILLA = Format("argilla", "Argilla's records: labels", by_row(_read_argilla), _is_argilla)
LABEL_STUDIO = Format(
    "label-studio",
    "Label Studio's JSON export: labels",
    by_row(_read_label_studio),
    # An export as JSON-MIN is known too, and refused with what to do.
    lambda first: _is_label_studio(first) or "annotation_id" in first,
)

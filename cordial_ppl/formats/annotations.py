"""Labels from annotation tools: Argilla's records and Label Studio's JSON export.

A record of Argilla has `responses`, by question: {"stars": [{"value": 4, "user_id": ...}]}.
Version 1 has a list of {"user_id": ..., "values": {"stars": {"value": 4}}}; flattened records have
the columns `stars.responses` and `stars.responses.users`.  A task of Label Studio has `data` and
`annotations`, each with results: a choice, a rating or a number; the control (`from_name`) is the
task.  What was not submitted, or was cancelled, is no label.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Record
from cordial_ppl.formats.rows import json_rows, name_fields
from cordial_ppl.formats.wrapping import as_text, first_of

FLAT = ".responses"

LEFT = ("draft", "discarded")
"""States of Argilla's responses that do not count."""

KINDS = ("choices", "rating", "number")
"""Kinds of Label Studio's results that are labels of a whole text."""

Said = Iterator[tuple[Any, Any, Any]]
"""Question, label and person of each response."""


class Export(NamedTuple):
    """The export of an annotation tool, with one text in each object.

    Attributes:
        test: Tells an object that has labels.
        expected: What it has, for messages.
        item: Names the text.
        said: Its labels, given the object and its place.
        marks: Fields by which the file is known, besides those.
    """

    test: Callable[[Mapping[str, Any]], bool]
    expected: str
    item: Callable[[Mapping[str, Any]], Any]
    said: Callable[[Mapping[str, Any], str], Said]
    marks: frozenset[str] = frozenset()

    def recognises(self, path: Path, first: Mapping[str, Any] | None) -> bool:
        """Say whether the first object of a file is of this tool."""
        del path
        return first is not None and (self.test(first) or not self.marks.isdisjoint(first))

    def read(self, path: Path) -> Iterator[Record]:
        """Read the labels of an export: a record for each; the question is its task."""
        for row in json_rows(path):
            if not self.test(row.value):
                found = name_fields(row.value)
                raise InputError(f"{row.place} must be {self.expected.format(found)}")
            if (item := as_text(self.item(row.value))) is None:
                raise InputError(f"{row.place} must have an `id`; found none.")
            for question, label, user in self.said(row.value, row.place):
                task, user, label = as_text(question), as_text(user), as_text(label)
                yield Record(item, None, row.place, task=task, label=label, user=user)


def _is_record(value: Mapping[str, Any]) -> bool:
    flat = any(name.endswith(FLAT) for name in value)
    return flat or {"fields", "responses"} <= set(value)


def _responses(value: Mapping[str, Any], place: str) -> Said:
    """The responses in a record of Argilla, whatever its version."""
    del place
    answers: list[tuple[Any, list[Any]]] = []
    found = value.get("responses") or {}
    if isinstance(found, list):
        answers.append((None, [_take(own, "values") for own in found]))
    else:
        for question, given in found.items():
            answers.append((question, [_take(own, "value") for own in given or []]))
    for name in value:
        if name.endswith(FLAT):
            given = value[name] or []
            users, states = (
                value.get(f"{name}.{own}") or [None] * len(given) for own in ("users", "status")
            )
            answers.append((name.removesuffix(FLAT), list(zip(given, users, states, strict=False))))
    for question, given in answers:
        kept = [(label, user) for label, user, state in given if state not in LEFT]
        for number, (label, user) in enumerate(kept, start=1):
            # Each response is one person's, even if the export does not name them.
            user = f"person {number}" if user is None and len(kept) > 1 else user
            labels = {question: label}
            if question is None:
                labels = {name: own.get("value") for name, own in (label or {}).items()}
            for name, own in labels.items():
                if isinstance(own, str | int | float):
                    yield name, own, user


def _take(answer: Mapping[str, Any], name: str) -> tuple[Any, Any, Any]:
    return answer.get(name), answer.get("user_id"), answer.get("status")


def _results(value: Mapping[str, Any], place: str) -> Said:
    """The results in a task of Label Studio."""
    for annotation in value["annotations"]:
        if annotation.get("was_cancelled"):
            continue
        user = annotation.get("completed_by")
        user = user.get("email") or user.get("id") if isinstance(user, Mapping) else user
        for result in annotation.get("result") or []:
            label = first_of(result.get("value") or {}, KINDS)
            if isinstance(label, list):
                if len(label) != 1:
                    raise InputError(f"{place}: a label must be one choice; found {label}.")
                (label,) = label
            if label is not None:
                yield result.get("from_name"), label, user


ARGILLA = Export(
    _is_record,
    "a record with `responses`; found {}.",
    lambda value: value.get("id") or value.get("external_id"),
    _responses,
)
LABEL_STUDIO = Export(
    lambda value: {"data", "annotations"} <= set(value),
    "a task with `annotations`; found {}. Export as JSON, not as JSON-MIN.",
    lambda value: first_of(value.get("data") or {}, ("item_id", "id")) or value.get("id"),
    _results,
    frozenset({"annotation_id"}),
)

"""Labels from Argilla: `dataset.records.to_json(...)`, nested or flattened, and version 1.

A record has `responses`, by question: {"stars": [{"value": 4, "user_id": ...}]}.  Version 1 has a
list of {"user_id": ..., "values": {"stars": {"value": 4}}}; flattened records have the columns
`stars.responses` and `stars.responses.users`.  Responses that were not submitted are none.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Record
from cordial_ppl.formats.rows import json_rows, name_fields
from cordial_ppl.formats.wrapping import as_text

FLAT = ".responses"

LEFT = ("draft", "discarded")
"""States of responses that do not count."""


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Say whether the first object of a file is a record of Argilla."""
    del path
    if first is None:
        return False
    return ("fields" in first and "responses" in first) or any(
        name.endswith(FLAT) for name in first
    )


def read(path: Path) -> Iterator[Record]:
    """Read the labels of an export.

    Args:
        path: JSON or JSON Lines.

    Yields:
        A record a response; the question is its task.

    Raises:
        FileError: The file cannot be read or is not JSON.
        InputError: An object is no record of Argilla.
    """
    for row in json_rows(path):
        if not recognises(path, row.value):
            found = name_fields(row.value)
            raise InputError(f"{row.place} must be a record with `responses`; found {found}.")
        item = as_text(row.value.get("id") or row.value.get("external_id"))
        if item is None:
            raise InputError(f"{row.place} must have an `id`; found none.")
        for question, value, user in _responses(row.value):
            if isinstance(value, str | int | float):
                yield Record(
                    item, None, row.place, task=question, label=as_text(value), user=as_text(user)
                )


def _responses(value: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Question, label and user of each response."""
    found = value.get("responses")
    if isinstance(found, Mapping):
        for question, answers in found.items():
            kept = [answer for answer in answers or [] if answer.get("status") not in LEFT]
            users = _told_apart([answer.get("user_id") for answer in kept])
            for answer, user in zip(kept, users, strict=True):
                yield question, answer.get("value"), user
    elif isinstance(found, list):
        kept = [answer for answer in found if answer.get("status") not in LEFT]
        users = _told_apart([answer.get("user_id") for answer in kept])
        for answer, user in zip(kept, users, strict=True):
            for question, own in (answer.get("values") or {}).items():
                yield question, own.get("value"), user
    for name in value:
        if name.endswith(FLAT):
            answers = value[name] or []
            users = _told_apart(value.get(f"{name}.users") or [None] * len(answers))
            states = value.get(f"{name}.status") or [None] * len(answers)
            for answer, user, state in zip(answers, users, states, strict=False):
                if state not in LEFT:
                    yield name.removesuffix(FLAT), answer, user


def _told_apart(users: list[Any]) -> list[Any]:
    """Names for several people that the export does not name: each response is one person's."""
    if len(users) < 2:
        return users
    return [f"person {i}" if user is None else user for i, user in enumerate(users, start=1)]

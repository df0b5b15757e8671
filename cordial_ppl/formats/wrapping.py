"""A response and what a user put around it: which text it is of, its label, its task."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError
from cordial_ppl.formats.evidence import Evidence, Record
from cordial_ppl.formats.rows import Row

NAMES = ("item_id", "custom_id", "doc_id")
"""Fields that name the text, in order."""

WRAPPED = ("response", "body", "result", "completion", "output")
"""Fields that a response may be wrapped in."""

Test = Callable[[Mapping[str, Any]], bool]


class Response(NamedTuple):
    """A response in its wrapping.

    Attributes:
        body: The response itself.
        row: The object of the file, which may be the response.
    """

    body: Mapping[str, Any]
    row: Row

    def record(self, evidence: Evidence) -> Record:
        """Make a record of what is around the evidence."""
        value, body = self.row.value, self.body
        item = next((value[name] for name in NAMES if value.get(name) is not None), None)
        if item is None and body is not value:
            item = value.get("id")
        made = {"model": str(body["model"])} if body.get("model") else {}
        seconds = body.get("created", body.get("created_at"))
        if isinstance(seconds, int | float):
            day = datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
            made["date"] = day.isoformat()
        return Record(
            item_id=as_text(item),
            evidence=evidence,
            place=self.row.place,
            reader=as_text(value.get("reader")) or made.get("model"),
            task=as_text(value.get("task")),
            label=as_text(value.get("label")),
            made=made,
        )


def unwrap(value: Any, test: Test, depth: int = 3) -> Mapping[str, Any] | None:
    """Find the response in an object.

    Args:
        value: The object, a response or something around one.
        test: Tells a response.
        depth: How many wrappings are looked into.

    Returns:
        The response; None if there is none.
    """
    if not isinstance(value, Mapping):
        return None
    if test(value):
        return value
    inner = (unwrap(value.get(name), test, depth - 1) for name in WRAPPED) if depth else ()
    return next((body for body in inner if body is not None), None)


def find_response(row: Row, test: Test, expected: str) -> Response:
    """Find the response in an object of a file.

    Args:
        row: The object.
        test: Tells a response.
        expected: What is expected, for the message: "a response with `choices`".

    Returns:
        The response.

    Raises:
        InputError: There is none, or the server reported an error.
    """
    body = unwrap(row.value, test)
    if body is not None:
        return Response(body, row)
    inner = row.value.get("response")
    failed = row.value.get("error") or (inner.get("error") if isinstance(inner, Mapping) else None)
    found = ", ".join(list(row.value)[:8]) or "nothing"
    if failed:
        message = failed.get("message") if isinstance(failed, Mapping) else None
        found = f"an error: {message or failed}"
    raise InputError(f"{row.place} must hold {expected}; found {found}.")


def as_text(value: Any) -> str | None:
    """Take a name or a number as text; None is none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)

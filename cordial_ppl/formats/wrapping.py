"""A response and what a user put around it: which text it is of, its label, its task."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.evidence import Evidence, Record
from cordial_ppl.formats.gaps import Failed, NoAnswer
from cordial_ppl.formats.rows import Row, json_rows, name_fields

NAMES = ("item_id", "custom_id", "doc_id")
"""Fields that name the text, in order."""

WRAPPED = ("response", "body", "result", "completion", "output")
"""Fields that a response may be wrapped in."""

LONG = 200
"""Characters of an error that are quoted."""

MILLISECONDS = 1e11
"""Time stamps above it are not in seconds, which would be the year 5138."""

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
        if day := as_day(body.get("created", body.get("created_at"))):
            made["date"] = day
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


class Protocol(NamedTuple):
    """A tool's responses, of which a file has one an object.

    Attributes:
        test: Tells a response.
        expected: What a response has, for messages: "a response with `choices`".
        evidence: Makes evidence of one.
        marks: Fields that only what is around its responses has.
    """

    test: Test
    expected: str
    evidence: Callable[[Mapping[str, Any]], Evidence]
    marks: frozenset[str] = frozenset()

    def recognises(self, path: Path, first: Mapping[str, Any] | None) -> bool:
        """Say whether the first object of a file is a response, or around one."""
        del path
        if first is None:
            return False
        return unwrap(first, self.test) is not None or not self.marks.isdisjoint(first)

    def read(self, path: Path) -> Iterator[Record | Failed]:
        """Read a file of responses.

        Args:
            path: JSON Lines, or a JSON list.

        Yields:
            A record a response, or what is said of a request that failed.

        Raises:
            FileError: The file cannot be read or is not JSON.
            InputError: An object is no response, or its log-probabilities are of another form.
        """
        for row in json_rows(path):
            try:
                yield self.record(row)
            except NoAnswer as error:
                value = row.value
                names = as_text(value.get("task")), as_text(value.get("reader"))
                why = str(error).removeprefix(f"{row.place}: ").rstrip(".")
                yield Failed(row.place, why, *names)

    def record(self, row: Row) -> Record:
        """Read one response.

        Args:
            row: The object.

        Returns:
            The record.

        Raises:
            NoAnswer: The request failed.
            InputError: It is no response, or its log-probabilities are of another form.
        """
        with naming(row.place):
            response = self._find(row)
            return response.record(self.evidence(response.body))

    def _find(self, row: Row) -> Response:
        body = unwrap(row.value, self.test)
        if body is not None:
            return Response(body, row)
        reason = _find_error(row.value)
        if reason is not None:
            raise NoAnswer(f"{reason[:LONG].rstrip('.')}.")
        raise InputError(f"expected {self.expected}; found {name_fields(row.value)}.")


def _find_error(value: Any, depth: int = 3) -> str | None:
    """What is said of a request that failed, which batch results say at several places."""
    if not isinstance(value, Mapping):
        return None
    if failed := value.get("error"):
        message = failed.get("message") if isinstance(failed, Mapping) else None
        return str(message or failed)
    inner = (_find_error(value.get(name), depth - 1) for name in WRAPPED) if depth else ()
    status = value.get("status_code")
    failed = f"status {status}" if isinstance(status, int) and status >= 400 else None
    return next((reason for reason in inner if reason is not None), failed)


def as_text(value: Any) -> str | None:
    """Take a name or a number as text; None is none."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)


def as_day(seconds: Any) -> str | None:
    """Take a time stamp, seconds or milliseconds since 1970, as a date; what is none is None."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    seconds = seconds / 1000 if seconds > MILLISECONDS else seconds
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None

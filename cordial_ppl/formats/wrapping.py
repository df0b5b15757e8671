"""A response and what a user put around it: which text it is of, its label, its task."""

import datetime
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, naming
from cordial_ppl.formats.evidence import Evidence, Failed, NoAnswer, Record
from cordial_ppl.formats.rows import Row, json_rows, name_fields

NAMES = ("item_id", "custom_id", "doc_id")
"""Fields that name the text, in order."""

WRAPPED = ("response", "body", "result", "completion", "output")
"""Fields that may hold a response."""

DEPTH = 3
"""How many wrappings are looked into."""

LONG = 200
"""Characters of an error that are quoted."""

MILLISECONDS = 1e11
"""Time stamps above it are not in seconds, which would be the year 5138."""


class Protocol(NamedTuple):
    """The responses of a tool, one in each object of a file.

    Attributes:
        test: Tells a response.
        expected: What a response has, for messages: "a response with `choices`".
        evidence: Makes evidence of one.
        marks: Fields that only the wrapping of such responses has.
    """

    test: Callable[[Mapping[str, Any]], bool]
    expected: str
    evidence: Callable[[Mapping[str, Any]], Evidence]
    marks: frozenset[str] = frozenset()

    def recognises(self, path: Path, first: Mapping[str, Any] | None) -> bool:
        """Say whether the first object of a file is a response, or holds one."""
        del path
        return first is not None and (
            self._find(first) is not None or not self.marks.isdisjoint(first)
        )

    def read(self, path: Path) -> Iterator[Record | Failed]:
        """Read responses: a record for each, or what the log says of a request that failed."""
        for row in json_rows(path):
            try:
                yield self.record(row)
            except NoAnswer as error:
                why = str(error).removeprefix(f"{row.place}: ").rstrip(".")
                names = (as_text(row.value.get(name)) for name in ("task", "reader"))
                yield Failed(row.place, why, *names)

    def record(self, row: Row) -> Record:
        """Read one response.

        Args:
            row: The object that is or holds it.

        Returns:
            The record.

        Raises:
            NoAnswer: The request failed.
            InputError: It is no response, or its log-probabilities are of another form.
        """
        value = row.value
        with naming(row.place):
            body = self._find(value)
            if body is None:
                if (reason := _find_error(value)) is not None:
                    raise NoAnswer(f"{reason[:LONG].rstrip('.')}.")
                raise InputError(f"expected {self.expected}; found {name_fields(value)}.")
            evidence = self.evidence(body)
        names = NAMES if body is value else (*NAMES, "id")
        made = {"model": str(body["model"])} if body.get("model") else {}
        if day := as_day(body.get("created", body.get("created_at"))):
            made["date"] = day
        return Record(
            item_id=as_text(first_of(value, names)),
            evidence=evidence,
            place=row.place,
            reader=as_text(value.get("reader")) or made.get("model"),
            task=as_text(value.get("task")),
            label=as_text(value.get("label")),
            made=made,
        )

    def _find(self, value: Any, depth: int = DEPTH) -> Mapping[str, Any] | None:
        """The response in an object."""
        if not isinstance(value, Mapping) or self.test(value):
            return value if isinstance(value, Mapping) else None
        inner = (self._find(value.get(name), depth - 1) for name in WRAPPED) if depth else ()
        return next((body for body in inner if body is not None), None)


def _find_error(value: Any, depth: int = DEPTH) -> str | None:
    """What is said of a request that failed, which batch results say in several places."""
    if not isinstance(value, Mapping):
        return None
    if failed := value.get("error"):
        message = failed.get("message") if isinstance(failed, Mapping) else None
        return str(message or failed)
    inner = (_find_error(value.get(name), depth - 1) for name in WRAPPED) if depth else ()
    status = value.get("status_code")
    failed = f"status {status}" if isinstance(status, int) and status >= 400 else None
    return next((reason for reason in inner if reason is not None), failed)


def first_of(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of several fields that is there and not null; None if there is none."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def as_text(value: Any) -> str | None:
    """Take a name or a number as text: 4.0 is "4"."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)


def as_day(seconds: Any) -> str | None:
    """Take a time stamp, in seconds or milliseconds since 1970, as a date; None if it is none."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    seconds = seconds / 1000 if seconds > MILLISECONDS else seconds
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None

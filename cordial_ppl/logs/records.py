"""What a log says of one text: a reading's evidence, a label, or why there is no answer."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Evidence

MILLISECONDS = 1e11
"""Time stamps above it are not in seconds, which would be the year 5138."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a log says of one text.

    Attributes:
        location: Where it stands, for messages: "line 7".
        item_id: The text; None if the log does not name it, and then its number is its name.
        evidence: What the reading is made from; None if there is only a label.
        reader: Who read it, usually the model's name.
        task: What was asked.
        label: A person's label, or the error to raise if somebody wants it.
        user: That person.
        made: How the reading was made: "model", "prompt", "decoding", "date".
        failed: Why the request got no answer; None if it did.
        numbered: Whether the text has its number as its name, because the log does not name it.
        rows: The number of rows that hold its answers.
        swapped: Whether the options of each part of the evidence run the other way; none do if
            empty.
        scored: Scores of it that the log has too, each with whether a model gave it.
    """

    location: str
    item_id: str | None = None
    evidence: Evidence | None = None
    reader: str | None = None
    task: str | None = None
    label: str | InputError | None = None
    user: str | None = None
    made: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None
    numbered: bool = False
    rows: int = 1
    swapped: tuple[bool, ...] = ()
    scored: Mapping[str, bool] = field(default_factory=dict)


def first_of(value: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of several fields that is there and not null; None if there is none."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def as_text(value: Any) -> str | None:
    """Take a name or a number as text, 4.0 as "4"; None for null and for nothing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None or value == "" else str(value)


def as_day(seconds: Any) -> str | None:
    """Take a time stamp, in seconds or milliseconds since 1970, as a date; None if it is none."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    seconds = seconds / 1000 if seconds > MILLISECONDS else seconds
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None

"""Which fields of a file's rows hold the text, the answer, the reader, the task and the label."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, list_names
from cordial_ppl.logs.paths import EACH, Found
from cordial_ppl.logs.records import as_text
from cordial_ppl.tables.choices import join_parts
from cordial_ppl.tables.files import is_filled

OTHERWISE, MAYBE = " | ", " ?"
"""Between fields of which the first that the file has is taken; after one that may be missing."""

SINGLE = ("reader", "task", "annotator")
"""Attributes of a naming that are one field."""

DATA = ("answer", "label")
"""Attributes that say something of a text."""


class Condition(NamedTuple):
    """A condition on a field: that it has a value, or (`wanted` is false) that it has not."""

    path: str
    value: str
    wanted: bool

    @classmethod
    def of(cls, text: str) -> "Condition":
        """Read "field=value" or "field!=value"; raise an `InputError` for another form."""
        path, equals, value = text.partition("=")
        if not equals or not path.strip("! "):
            raise InputError(f"a condition must be FIELD=VALUE or FIELD!=VALUE; found {text!r}.")
        return cls(path.rstrip("!").strip(), value.strip(), not path.endswith("!"))

    @property
    def text(self) -> str:
        """The condition as it is written."""
        return f"{self.path}{'=' if self.wanted else '!='}{self.value}"

    def holds(self, match: Found) -> bool:
        """Say whether what was found meets it, whatever its capitals."""
        text = name_of(self.path, match) or ""
        return (text.casefold() == self.value.casefold()) == self.wanted


@dataclass(frozen=True)
class Naming:
    """Which fields hold what, as paths.

    Attributes:
        item: What names the text; several fields together make one name.
        answer: The answer, or several fields that are tasks of their own.
        reader: Who read it.
        task: What was asked.
        label: A person's label, or several fields.
        annotator: That person.
        where: Conditions that a row has to meet.
        swapped: Answers whose options run the other way, or flags that say so.
    """

    item: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    reader: str | None = None
    task: str | None = None
    label: tuple[str, ...] = ()
    annotator: str | None = None
    where: tuple[Condition, ...] = ()
    swapped: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The attributes that are set."""
        values = {name: getattr(self, name) for name in ROLES}
        return {name: value for name, value in values.items() if value}

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The paths of every attribute."""
        paths = {name: as_tuple(value) for name, value in self.settings.items() if name != "where"}
        return paths | {"where": tuple(condition.path for condition in self.where)}


ROLES = tuple(field.name for field in fields(Naming))


def name_of(path: str, match: Found) -> str | None:
    """The name that a field gives: its value, or its key where the path ends in a star."""
    if EACH in path.rpartition(".")[2] and match.keys and isinstance(match.keys[-1], str):
        return match.keys[-1]
    return as_name(match.value, path)


def as_name(value: Any, path: str) -> str | None:
    """Take a name or a number as text, and those of a list together.

    Args:
        value: The value.
        path: Where it stands, for messages.

    Returns:
        The text; None if there is nothing.

    Raises:
        InputError: It is an object.
    """
    if not is_filled(value):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        raise InputError(
            f"`{path}` is an object with {list_names(value, 6)}: name one of its fields, "
            f"such as {path}.{next(iter(value), 'name')}."
        )
    if isinstance(value, list):
        names = [as_name(one, path) or "" for one in value]
        return join_parts(names, always=True) if any(names) else None
    return as_text(value)


def as_tuple(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """One path or several as a tuple."""
    return (value,) if isinstance(value, str) else value

"""Which fields of a file's rows hold the text, the answer, the reader, the task and the label."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, list_names
from cordial_ppl.logs.evidence import as_text
from cordial_ppl.logs.paths import EACH, Found
from cordial_ppl.tables.choices import join_parts
from cordial_ppl.tables.formats import is_filled

OTHERWISE, MAYBE = " | ", " ?"
"""Between fields of which the first that the file has is taken; after one that may be missing."""

DATA = ("answer", "label")
"""Roles that say something of a text."""

WORDS = "rows whose fields are named"


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
        """Return the condition as it is written."""
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
    reader: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    annotator: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    swapped: tuple[str, ...] = ()

    @classmethod
    def of(cls, texts: Mapping[str, str | Sequence[str]]) -> "Naming":
        """Make a naming of one path a role, or of several; an `InputError` for no condition."""
        roles: dict[str, Any] = {
            role: (text,) if isinstance(text, str) else tuple(text) for role, text in texts.items()
        }
        roles["where"] = tuple(map(Condition.of, roles.get("where", ())))
        return cls(**roles)

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """Return the paths of every role."""
        conditions = tuple(condition.path for condition in self.where)
        return {role: getattr(self, role) for role in ROLES} | {"where": conditions}

    @property
    def data(self) -> list[str]:
        """List the paths of answers and labels, as they are written."""
        return [text for role in DATA for text in getattr(self, role)]

    def change(self, new: Callable[[str], str | None]) -> "Naming":
        """Make the same with other paths, without those that have none."""
        roles: dict[str, Any] = {
            role: tuple(path for text in texts if (path := new(text)) is not None)
            for role, texts in self.paths.items()
        }
        where = [(c, new(c.path)) for c in self.where]
        roles["where"] = tuple(c._replace(path=path) for c, path in where if path is not None)
        return Naming(**roles)


ROLES = tuple(field.name for field in fields(Naming))


def name_of(path: str, match: Found) -> str | None:
    """Return the name that a field gives: its value, or its key where the path ends in a star."""
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


def within(naming: Naming, prefix: str) -> Naming:
    """Name the same fields, of the elements that a prefix such as "results.*." leads to."""
    return naming.change(lambda text: OTHERWISE.join(prefix + one for one in text.split(OTHERWISE)))

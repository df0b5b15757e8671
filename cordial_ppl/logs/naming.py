"""Which fields of a file's rows hold the text, the answer, the reader, the task and the label."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from cordial_ppl.errors import InputError, list_names
from cordial_ppl.logs.evidence import as_text
from cordial_ppl.logs.paths import EACH, Found, follow, list_fields
from cordial_ppl.logs.rows import Row, at, read_rows, say_fields
from cordial_ppl.tables.choices import join_parts, nearest
from cordial_ppl.tables.files import is_filled

OTHERWISE, MAYBE = " | ", " ?"
"""Between fields of which the first that the file has is taken; after one that may be missing."""

DATA = ("answer", "label")
"""Roles that say something of a text."""

LOOKED = 1000
"""Rows that are looked at for fields that nobody named."""

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
        """The paths of every role."""
        conditions = tuple(condition.path for condition in self.where)
        return {role: getattr(self, role) for role in ROLES} | {"where": conditions}

    @property
    def data(self) -> list[str]:
        """The paths of answers and labels, as they are written."""
        return [text for role in DATA for text in getattr(self, role)]

    def change(self, new: Callable[[str], str | None]) -> "Naming":
        """The same with other paths, without those that have none."""
        roles: dict[str, Any] = {
            role: tuple(path for text in texts if (path := new(text)) is not None)
            for role, texts in self.paths.items()
        }
        where = [(c, new(c.path)) for c in self.where]
        roles["where"] = tuple(c._replace(path=path) for c, path in where if path is not None)
        return Naming(**roles)


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


def rows_of(path: Path, namings: Sequence[Naming]) -> Iterator[Row]:
    """Read the rows of a file; if the fields are in the elements of its one object, these."""
    rows = read_rows(path)
    first = next(rows)
    cells = list(first.value.values())
    wanted = [one for naming in namings for text in naming.data for one in choices(text)]
    if not all(isinstance(cell, Mapping) for cell in cells) or has(first.value, wanted):
        yield from chain([first], rows)
    elif any(has(cell, wanted) for cell in cells):
        for row in chain([first], rows):
            for key, cell in row.value.items():
                yield Row(f"{row.location}, {key}", cell, key)
    else:
        yield from chain([first], rows)


def resolve(path: Path, namings: Sequence[Naming]) -> list[Naming]:
    """Choose among the fields that namings leave open by those that a file has.

    Args:
        path: The file.
        namings: Which fields hold what, with `a | b` for the first that some row fills, and `a ?`
            for one that may be missing.

    Returns:
        Those whose fields the file has, with paths alone.

    Raises:
        FileError: The file cannot be read.
        InputError: It has the fields of none; what the first lacks is said, and what there is.
    """
    texts = {
        text: choices(text)
        for naming in namings
        for paths in naming.paths.values()
        for text in paths
    }
    filled: set[str] = set()
    for number, row in enumerate(rows_of(path, namings)):
        # A field that few rows have, such as a label, may come late; a better one does not.
        if number >= LOOKED:
            texts = {text: some for text, some in texts.items() if filled.isdisjoint(some)}
        missing = {one for some in texts.values() for one in some} - filled
        if not missing:
            break
        with at(row.location, WORDS):
            filled |= {one for one in missing if has(row.value, [one])}

    def take(text: str) -> str | None:
        return next((one for one in choices(text) if one in filled), None)

    resolved, lacking = [], None
    for naming in namings:
        chosen = naming.change(take)
        required = [text for some in naming.paths.values() for text in some]
        required = [text for text in required if not text.endswith(MAYBE)]
        missing = [text for text in required if take(text) is None]
        if not missing and chosen.data:
            resolved.append(chosen)
        else:
            lacking = lacking or (missing or naming.data)[0]
    if not resolved:
        raise _no_field(path, str(lacking), namings)
    return resolved


def has(value: Any, paths: Sequence[str]) -> bool:
    """Say whether something stands at one of several paths."""
    # A key is there, whatever it holds.
    return any(
        is_filled(one.value)
        or EACH in path.rpartition(".")[2]
        and len(one.keys) == path.count(EACH)
        for path in paths
        for (one,) in follow(value, [path])
    )


def has_field(path: Path, name: str, naming: Naming) -> bool:
    """Say whether some of a file's first rows have a field, beside those of the answers."""
    ends = {one.rpartition(".")[2] for text in naming.answer for one in choices(text)}
    if len(naming.answer) > 1 and name in ends:
        # These name tasks already.
        return False
    return any(has(row.value, [name]) for row in islice(rows_of(path, [naming]), LOOKED))


def list_named(path: Path, namings: Sequence[Naming] = ()) -> dict[str, list[Any]]:
    """List the fields of a file's first rows, each with its first three different values."""
    names = list_fields(row.value for row in islice(rows_of(path, namings), LOOKED))
    # Of an object by id, the fields of its elements are named.
    each = f"{EACH}."
    if names and all(name.startswith(each) for name in names):
        return {name.removeprefix(each): values for name, values in names.items()}
    return names


def _no_field(path: Path, text: str, namings: Sequence[Naming]) -> InputError:
    names = list_named(path, namings)
    wanted = text.removesuffix(MAYBE).split(OTHERWISE)
    near = next((name for one in wanted if (name := nearest(one, list(names)))), None)
    hint = f" Did you mean `{near}`?" if near else ""
    listed = ", ".join(f"`{one}`" for one in wanted[:3])
    listed += f" and none of {len(wanted) - 3} others" if len(wanted) > 3 else ""
    return InputError(f"its rows have no {listed}; they have {say_fields(names)}.{hint}")


def choices(text: str) -> list[str]:
    """The fields that a text may mean: first the one that is called so."""
    return list(dict.fromkeys([text, *text.removesuffix(MAYBE).split(OTHERWISE)]))


def within(naming: Naming, prefix: str) -> Naming:
    """The same fields, of the elements that a prefix such as "results.*." leads to."""
    return naming.change(lambda text: OTHERWISE.join(prefix + one for one in text.split(OTHERWISE)))

"""Fields of rows, named by keys or by JMESPath expressions, and what they hold as evidence."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature

from cordial_ppl.errors import InputError, quote
from cordial_ppl.logs.evidence import as_text
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.logs.rows import Row
from cordial_ppl.tables import is_filled

SIMPLE = re.compile(r"""([^=<>'"`]*?)\s*(!?=)\s*([^='"`]*)""")
"""A condition that a shell does not get in the way of: FIELD=VALUE or FIELD!=VALUE."""


class _Functions(Functions):
    """JMESPath's functions, and those for JSON in texts, objects by name and responses."""

    @signature({"types": ["string", "null", "object", "array"]})
    def _func_parse_json(self, text: Any) -> Any:
        try:
            return json.loads(text) if isinstance(text, str) and text.strip() else text
        except ValueError as error:
            raise InputError(f"parse_json: {quote(text)} is not JSON ({error}).") from error

    @signature({"types": ["object", "null"]})
    def _func_items(self, fields: Any) -> Any:
        return fields and [{"key": key, "value": value} for key, value in fields.items()]

    @signature({"types": ["object"]})
    def _func_is_response(self, value: Any) -> bool:
        return read_response(value) is not None or "custom_id" in value


_OPTIONS = jmespath.Options(custom_functions=_Functions())


@dataclass(frozen=True)
class Field:
    """A field of rows: the key that is called so, else what a JMESPath expression finds.

    Attributes:
        text: The key or expression; or a condition FIELD=VALUE or FIELD!=VALUE.
    """

    text: str

    @cached_property
    def parsed(self) -> Any:
        """Compile the expression; None if the text is none."""
        try:
            return jmespath.compile(self.text)
        except JMESPathError:
            return None

    @property
    def name(self) -> str:
        """Return the last key of the expression."""
        return re.split(r"[.\[\]|()\s]+", self.text.strip(" )]"))[-1] or self.text

    def find(self, row: Mapping[str, Any]) -> Any:
        """Find what a row holds there; None if nothing.

        Raises:
            InputError: The expression needs a value of another type.
        """
        if self.text in row:
            return row[self.text]
        try:
            return self.parsed.search(row, _OPTIONS) if self.parsed else None
        except JMESPathError as error:
            raise InputError(f"the field `{self.text}`: {error}.") from error

    @cached_property
    def condition(self) -> "tuple[Field, bool, str] | None":
        """Return the field of a condition, whether it must be equal, and to what; None if none."""
        simple = SIMPLE.fullmatch(self.text)
        return simple and (Field(simple[1].strip()), simple[2] == "=", simple[3].strip().casefold())

    @property
    def subject(self) -> "Field":
        """Return what a condition is about."""
        return self.condition[0] if self.condition else self

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Say whether a condition holds: an expression, or FIELD=VALUE whatever its capitals."""
        value = self.subject.find(row)
        if self.condition is None:
            return value not in (None, False, "", [], {})
        _, equal, wanted = self.condition
        return ((as_text(value) or "").casefold() == wanted) == equal


def fields_of(names: str | Sequence[str], keys: Collection[str] = ()) -> tuple[Field, ...]:
    """Take one of the keys, one expression, several with commas between them, or a list."""
    if isinstance(names, str):
        names = [names] if names in keys or Field(names).parsed else names.split(",")
    return tuple(Field(name.strip()) for name in names if name.strip())


def name_all(fields: Sequence[Field]) -> list[str]:
    """Name fields by their last keys, or as they are where these are not different."""
    names = [one.name for one in fields]
    return names if len(set(names)) == len(names) else [one.text for one in fields]


def expand(rows: Iterable[Row], steps: Sequence[Field]) -> Iterable[Row]:
    """Take what fields of rows hold as rows, each with the row as `outer`; one field after another.

    A list has a row for each element, an object is one, and the row itself stays as it is.
    """
    for step in steps:
        rows = _expand(rows, step)
    return rows


def _expand(rows: Iterable[Row], step: Field) -> Iterator[Row]:
    for row in rows:
        value = step.find(row.value)
        if value is row.value:
            yield row
        elif is_filled(value):
            for number, one in enumerate(value if isinstance(value, list) else [value]):
                cells = one if isinstance(one, dict) else {"value": one}
                yield Row(f"{row.location}, element {number}", {"outer": row.value, **cells})


def list_cells(value: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """List the texts and numbers of an object and of those in it, with their paths."""
    for name, cell in value.items():
        if isinstance(cell, Mapping) and start.count(".") < 3:
            yield from list_cells(cell, f"{start}{name}.")
        elif isinstance(cell, str | int | float) and is_filled(cell):
            yield start + name, cell

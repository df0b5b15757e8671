"""Fields of rows, named by keys or by JMESPath expressions, and presets: named sets of them."""

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature

from cordial_ppl.errors import FileError, InputError, abridge, naming, quote
from cordial_ppl.logs.evidence import as_text
from cordial_ppl.logs.protocols import read_response
from cordial_ppl.logs.rows import Row
from cordial_ppl.tables import is_filled
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.roles import nearest

LOOKED, SHOWN = 1000, 16
"""Rows that are looked at to tell what a file is, and fields that a message shows."""

PRESETS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("presets.toml").read_text(encoding="utf-8")
)
"""Presets by name, in the order in which a file is compared with them."""

SIMPLE = re.compile(r"""\s*([^=<>'"`]*?)\s*(!?=)\s*([^='"`]*?)\s*""")
"""A condition that a shell does not get in the way of: FIELD=VALUE or FIELD!=VALUE."""


class _Functions(Functions):
    """JMESPath's functions, and those for JSON in texts, objects by name and responses."""

    @signature({"types": ["string", "null", "object", "array"]})
    def _func_parse_json(self, text: Any) -> Any:
        with suppress(ValueError):  # A refusal has no fields, and is no reason to stop.
            return json.loads(text) if isinstance(text, str) and text.strip() else text
        return text

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
        except (JMESPathError, TypeError) as error:  # It compares a text with a number.
            raise InputError(f"the field `{self.text}`: {error}.") from error

    @cached_property
    def subject(self) -> "Field":
        """Return the field of a condition; of anything else the field itself."""
        simple = SIMPLE.fullmatch(self.text)
        return Field(simple[1]) if simple else self

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Say whether a condition holds: an expression, or FIELD=VALUE whatever its capitals."""
        simple, value = SIMPLE.fullmatch(self.text), self.subject.find(row)
        if simple is None:
            return value not in (None, False, "", [], {})
        return ((as_text(value) or "").casefold() == simple[3].casefold()) == (simple[2] == "=")


Fields = Mapping[str, Sequence[Field]]
"""Fields by what they hold: "item", "answer" and so on."""


def fields_of(names: str | Sequence[str], keys: Collection[str] = ()) -> list[Field]:
    """Take one of the keys, one expression, several with commas between them, or a list."""
    if isinstance(names, str):
        names = [names] if names in keys or Field(names).parsed else names.split(",")
    return [Field(name.strip()) for name in names if name.strip()]


def name_all(fields: Sequence[Field]) -> list[str]:
    """Name fields by their last keys, or as they are where these are not different."""
    names = [one.name for one in fields]
    return names if len(set(names)) == len(names) else [one.text for one in fields]


def expand(rows: Iterable[Row], steps: Sequence[Field]) -> Iterator[Row]:
    """Take what fields of rows hold as rows, each with the row as `outer`; one field after another.

    A list has a row for each element, an object is one, and the row itself stays as it is.
    """
    for location, row in expand(rows, steps[:-1]) if steps else rows:
        value = steps[-1].find(row) if steps else row
        if value is row:
            yield location, row
        elif is_filled(value):
            for number, one in enumerate(value if isinstance(value, list) else [value]):
                cells = one if isinstance(one, dict) else {"value": one}
                yield f"{location}, element {number}", {"outer": row, **cells}


def find_preset(path: Path, rows: Sequence[Row], name: str, typed: Fields) -> str:
    """Find out which preset a file is of.

    Args:
        path: The file.
        rows: Its first rows.
        name: The name of a preset; "auto" to tell by the file.
        typed: Fields by role that the user names; where they name the answer and no preset is
            named, they are all that counts.

    Returns:
        The preset's name; "fields" if the user's fields are all that counts.

    Raises:
        FileError: The file is of no known form.
        InputError: There is no such preset.
    """
    if name != "auto":
        if name in PRESETS:
            return name
        near = nearest(name, list(PRESETS))
        hint = f" Did you mean {near}?" if near else ""
        raise InputError(f"format must be one of auto, {', '.join(PRESETS)}; found {name!r}.{hint}")
    cells = first_cells(rows)
    if "answer" in typed:
        return "fields"
    if sum(field.startswith(PREFIXES) for field in cells) > 1:
        raise FileError(f"{path} is already a table of readings. Pass it to `cordial calibrate`.")
    # The first row may be of a request that failed.
    for preset, (location, row) in product(PRESETS, [*rows[:SHOWN], ("the file", cells)]):
        with naming(location):
            if Field(PRESETS[preset]["when"]).find(row):
                return preset
    if "label" in typed:
        return "fields"
    raise FileError(
        f"{path} is not a log in a known format. It has the fields {list_fields(cells)}. Name the "
        "fields that identify the text and the field with the judge's answer: cordial read "
        f"{path} --item FIELD,FIELD --answer FIELD -o readings.csv. For texts without answers, "
        "use `cordial ask`."
    )


def first_cells(rows: Iterable[Row], *steps: Field) -> dict[str, Any]:
    """List the fields of first rows, each with the first value that fills it."""
    cells: dict[str, Any] = {}
    for _, row in islice(expand(rows, steps), LOOKED):
        cells = {name: cell for name, cell in row.items() if is_filled(cell)} | cells
    return cells


def list_fields(cells: Mapping[str, Any]) -> str:
    """List fields for a message, each with a value: "judge ('gpt-4'), score (4)"."""
    shown = [
        f"{name[:40]} ({quote(cell)})" if isinstance(cell, str | int | float) else name[:40]
        for name, cell in cells.items()
        if name != "outer"
    ]
    return abridge(shown, SHOWN)

"""Presets: which fields hold what in the files of a tool."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, InputError, quote
from cordial_ppl.logs.fields import Field, expand
from cordial_ppl.logs.rows import Row, at
from cordial_ppl.tables import is_filled
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.proposals import nearest

LOOKED, SHOWN = 1000, 16
"""Rows that are looked at to tell what a file is, and fields that a message shows."""

PRESETS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""Presets by name, in the order in which a file is compared with them."""

Fields = Mapping[str, tuple[Field, ...]]
"""Fields by what they hold: "item", "answer" and so on."""


def find_preset(path: Path, rows: Sequence[Row], name: str, typed: Fields) -> str | None:
    """Find out which preset a file is of.

    Args:
        path: The file.
        rows: Its first rows.
        name: The name of a preset; "auto" to tell by the file.
        typed: Fields by role that the user names; where they name the answer and no preset is
            named, they are all that counts.

    Returns:
        The preset's name; None if the user's fields are all that counts.

    Raises:
        FileError: The file is of no known form.
        InputError: There is no such preset.
    """
    if name in PRESETS:
        return name
    if name != "auto":
        near = nearest(name, list(PRESETS))
        hint = f" Did you mean {near}?" if near else ""
        raise InputError(f"a format must be auto or {', '.join(PRESETS)}; found {name!r}.{hint}")
    if "answer" in typed:
        return None
    cells = first_cells(rows)
    if sum(field.startswith(PREFIXES) for field in cells) > 1:
        raise FileError(f"{path} is a table of readings: give it to `cordial calibrate`.")
    # The first row may be of a request that failed.
    for preset, table in PRESETS.items():
        for row in [*rows[:SHOWN], Row("the file", cells)]:
            with at(row.location):
                if Field(table["when"]).find(row.value):
                    return preset
    if "label" in typed:
        return None
    raise FileError(
        f"{path} is not a log of a known format; its rows have {list_fields(cells)}. Name the "
        "field of the judge's answer and those that name the text: cordial read "
        f"{path} --item FIELD,FIELD --answer FIELD -o readings.csv. Texts that nobody has judged "
        "yet go to `cordial ask`."
    )


def first_cells(rows: Iterable[Row], *steps: Field) -> dict[str, Any]:
    """List the fields of first rows, each with the first value that fills it."""
    cells: dict[str, Any] = {}
    for row in islice(expand(rows, steps), LOOKED):
        cells = {name: cell for name, cell in row.value.items() if is_filled(cell)} | cells
    return cells


def list_fields(cells: Mapping[str, Any]) -> str:
    """List fields for a message, each with a value: "judge ('gpt-4'), score (4)"."""
    shown = [
        f"{name[:40]} ({quote(cell)})" if isinstance(cell, str | int | float) else name[:40]
        for name, cell in cells.items()
        if name != "outer"
    ]
    rest = len(shown) - SHOWN
    return ", ".join(shown[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")

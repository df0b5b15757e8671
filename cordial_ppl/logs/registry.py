"""The formats by name, and which one a file has."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.logs import arrays, inspect_logs, lm_eval, responses
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.naming import DATA
from cordial_ppl.logs.presets import NAMED, PRESETS, by_hand, change
from cordial_ppl.logs.resolving import LOOKED, list_named
from cordial_ppl.logs.rows import read_rows, say_fields
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.formats import is_filled
from cordial_ppl.tables.proposals import nearest

_LOGS = (*responses.FORMATS, lm_eval.FORMAT, inspect_logs.FORMAT, arrays.FORMAT)
FORMATS = {form.name: form for form in _LOGS} | PRESETS


def find_format(path: Path, name: str = "auto", fields: Mapping[str, Any] | None = None) -> Format:
    """Find out what format a file has.

    Args:
        path: The file.
        name: The format's name; "auto" to tell by the file.
        fields: Paths by their role: the fields of its rows, which take the place of those of a
            format; where they name the answer and no format is named, they are all that counts.

    Returns:
        The format.

    Raises:
        FileError: The file cannot be read, or no format knows it.
        InputError: There is no such format, or the fields of its files have names of their own.
    """
    fields = fields or {}
    if name == "auto" and "answer" in fields:
        return by_hand(fields)
    if name not in ("auto", *FORMATS):
        near = nearest(name, list(FORMATS))
        hint = f" Did you mean {near}?" if near else ""
        raise InputError(f"a format must be auto or {', '.join(FORMATS)}; found {name!r}.{hint}")
    form = FORMATS[name] if name != "auto" else _detect(path, fields)
    if not fields or form.name == NAMED:
        return form
    if form.namings:
        return change(form, fields)
    raise InputError(
        f"{path} is read as {form.words}, whose fields are fixed. To read it by its "
        "fields, name the answer: --answer FIELD."
    )


def list_filled(path: Path) -> dict[str, Any]:
    """List the fields of a file's first rows, each with the first value that fills it."""
    cells: dict[str, Any] = {}
    for row in islice(read_rows(path), LOOKED):
        cells = {name: cell for name, cell in row.value.items() if is_filled(cell)} | cells
    return cells


def _detect(path: Path, fields: Mapping[str, Any]) -> Format:
    """Tell a format by a file's ending or its first rows."""
    for form in FORMATS.values():
        if path.suffix.lower() == form.ending:
            return form
    cells = list_filled(path)
    if sum(field.startswith(PREFIXES) for field in cells) > 1:
        raise FileError(f"{path} is a table of readings already: give it to `cordial calibrate`.")
    for form in FORMATS.values():
        if form.knows(cells):
            return form
    if any(role in fields for role in DATA):
        return by_hand(fields)
    raise FileError(
        f"{path} is not a log of a known format; its rows have {say_fields(list_named(path))}. "
        "Name the field of the judge's answer and those that name the text: "
        f"cordial read {path} --item FIELD,FIELD --answer FIELD -o readings.csv. Texts that nobody "
        "has judged yet go to `cordial ask`."
    )

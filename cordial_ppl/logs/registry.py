"""The formats by name, and which one a file has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cordial_ppl.errors import FileError, InputError
from cordial_ppl.logs import arrays, inspect_logs, lm_eval, responses
from cordial_ppl.logs.format import Format
from cordial_ppl.logs.naming import DATA, Naming
from cordial_ppl.logs.presets import PRESETS, SCORES, WORDS, Preset
from cordial_ppl.logs.resolving import list_named
from cordial_ppl.logs.rows import first_row, say_values
from cordial_ppl.tables.choices import nearest
from cordial_ppl.tables.columns import PREFIXES

_OWN = (
    responses.OPENAI,
    responses.VLLM,
    responses.LLAMA_CPP,
    lm_eval.FORMAT,
    inspect_logs.FORMAT,
    arrays.FORMAT,
)
_PRESETS = {preset.name: preset for preset in PRESETS}
FORMATS = {form.name: form for form in _OWN} | {preset.name: preset.form() for preset in PRESETS}

NAMED = "fields"
"""The name of the format of files whose fields are named by hand."""


def find_format(
    path: Path,
    name: str = "auto",
    fields: Mapping[str, Any] | None = None,
) -> Format:
    """Find out what format a file has.

    Args:
        path: The file.
        name: The format's name; "auto" to tell by the file.
        fields: Attributes of a naming: the fields of its rows, which take the place of those of a
            format; where they name the answer and no format is named, they are all that counts.

    Returns:
        The format.

    Raises:
        FileError: The file cannot be read, or no format knows it.
        InputError: There is no such format, or the fields of its files have names of their own.
    """
    fields = dict(fields or {})
    if name == "auto" and "answer" in fields:
        return _by_hand(fields)
    form = _named(name) if name != "auto" else _detect(path, fields)
    if form.name in _PRESETS:
        return _PRESETS[form.name].form(**fields)
    if fields and form.name != NAMED:
        raise InputError(
            f"{path} is read as {form.words}, whose fields are fixed. To read it by its "
            "fields, name the answer: --answer FIELD."
        )
    return form


def _by_hand(fields: Mapping[str, Any]) -> Format:
    naming = Naming(**{"item": ("item_id ?",), "annotator": "annotator ?", **fields})
    return Preset(NAMED, "rows whose fields are named", (naming,)).form()


def _named(name: str) -> Format:
    if name not in FORMATS:
        near = nearest(name, list(FORMATS))
        hint = f" Did you mean {near}?" if near else ""
        raise InputError(f"a format must be auto or {', '.join(FORMATS)}; found {name!r}.{hint}")
    return FORMATS[name]


def _detect(path: Path, fields: Mapping[str, Any]) -> Format:
    """Tell a format by a file's ending or its first row."""
    for form in FORMATS.values():
        if path.suffix.lower() == form.ending:
            return form
    first = first_row(path)
    cells = first.value if first else {}
    if sum(field.startswith(PREFIXES) for field in cells) > 1:
        raise FileError(f"{path} is a table of readings already: give it to `cordial calibrate`.")
    for form in FORMATS.values():
        if form.knows(cells):
            return form
    if any(role in fields for role in DATA):
        return _by_hand(fields)
    if _holds_texts(cells):
        raise FileError(
            f"{path} is a table of texts without readings: ask a model, `cordial ask {path} "
            "--model NAME`. If these texts are a judge's answers, add --from samples."
        )
    if first is None:
        raise FileError(
            f"{path} is not a log of a known format: it is not JSON. "
            f"Say what it is: --from {', '.join(form.name for form in _OWN)}."
        )
    raise FileError(
        f"{path} is not a log of a known format; its rows have {say_values(list_named(path))}. "
        "Name the field of the judge's answer and those that name the text: "
        f"cordial read {path} --item FIELD,FIELD --answer FIELD -o readings.csv"
    )


def _holds_texts(first: Mapping[str, Any]) -> bool:
    """Say whether a row is flat and has words: a text to rate, or an answer."""
    flat = not any(isinstance(cell, Mapping | list) for cell in first.values())
    names = [*first.keys() & {name + s for s in ("s", "") for name in (*SCORES, *WORDS)}]
    return flat and bool(names) and {name.removesuffix("s") for name in names} <= set(WORDS)

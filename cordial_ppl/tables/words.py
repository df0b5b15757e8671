"""Words: the texts themselves, which a table holds in a column, or another table by their ids."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from cordial_ppl.errors import InputError, count, list_names, quote
from cordial_ppl.tables.choices import identify
from cordial_ppl.tables.columns import name_items
from cordial_ppl.tables.formats import read_columns
from cordial_ppl.tables.frame import as_list, as_text, is_filled
from cordial_ppl.tables.reading_table import ReadingTable
from cordial_ppl.tables.roles import find_columns

NAMES = ("text", "words", "answer", "response", "output", "content")
"""Names that a column of words may have, the likeliest first."""


def read_words(path: Path, items: Sequence[str], column: str, id: Sequence[str] = ()) -> list[str]:
    """Read the words of texts, in the order of their ids.

    Args:
        path: A table with ids and words: that of the readings or another. A text may have several
            rows, of several judges, with the same words.
        items: The ids of the texts that are wanted.
        column: The column of words.
        id: Other names of the column `item_id`, as in `Choice`.

    Raises:
        FileError: The file cannot be read.
        InputError: A text has no words, or one id has different words.
        SettingNeeded: There is no such column.
    """
    columns = identify(read_columns(path), id)
    (column,) = find_columns(columns, [column], "text", NAMES)
    words: dict[str, str] = {}
    cells = as_list(columns.collect(column).to_series())
    for row, (item, cell) in enumerate(zip(name_items(columns).to_list(), cells, strict=True)):
        text = as_text(cell) if is_filled(cell) else ""
        if words.setdefault(normalize("NFC", item), text) != text:
            where = columns.where(row)
            raise InputError(f"{path}: {quote(item)} has a second text in {where}. Keep only one.")
    texts = [words.get(normalize("NFC", item), "") for item in items]
    absent = [item for item, text in zip(items, texts, strict=True) if not text]
    if absent:
        raise InputError(
            f"{path}: column {column!r} has no text for {count(len(absent), 'id')}: "
            f"{list_names(absent, 3)}. Use matching ids, or name a different table or column."
        )
    return texts


def read_shown(
    table: ReadingTable, names: Sequence[str], path: Path | None, id: Sequence[str] = ()
) -> dict[str, Any]:
    """Read the columns that people see while they label, by name.

    Args:
        table: The readings.
        names: The columns.
        path: The table that has them, if that of the readings has not.
        id: Other names of the column `item_id`, as in `Choice`.

    Raises:
        FileError: The file cannot be read.
        InputError: A text has no words, or a column is of the judge's readings.
        SettingNeeded: There is no such column.
    """
    if path is not None:
        return {name: read_words(path, table.item_ids, name, id) for name in names}
    spelt = find_columns(table.columns, names, "text", NAMES)
    prefix = table.kind if table.kind == "rating" else f"{table.kind}_"
    if judged := [name for name, here in zip(names, spelt, strict=True) if here.startswith(prefix)]:
        raise InputError(
            f"{table.columns.path}: showing {list_names(judged)} would reveal the judge's answer. "
            "Pass the column that contains the texts."
        )
    return {name: table.columns.collect(name).to_series() for name in spelt}

"""Words: the texts themselves, which a table holds in a column, or another table by their ids."""

from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from cordial_ppl.errors import InputError, count, list_names, quote
from cordial_ppl.tables.choices import identify
from cordial_ppl.tables.columns import name_items
from cordial_ppl.tables.formats import read_columns
from cordial_ppl.tables.frame import as_list, as_text, is_filled
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
            raise InputError(f"{path}: {quote(item)} has other words in {where}: keep one text.")
    texts = [words.get(normalize("NFC", item), "") for item in items]
    absent = [item for item, text in zip(items, texts, strict=True) if not text]
    if absent:
        raise InputError(
            f"{path}: column {column!r} has no words for {count(len(absent), 'text')}: "
            f"{list_names(absent, 3)}. Use the same ids, or name another table or column."
        )
    return texts

"""Wide rows: several texts and their answers in columns such as `text_1` and `score_1`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any

from cordial_ppl.logs.fields import LOOKED
from cordial_ppl.logs.rows import Row
from cordial_ppl.tables import is_filled


def unstack(rows: Iterator[Row], fields: Mapping[str, str | Sequence[str] | None]) -> Iterator[Row]:
    """Make a row of each text of a wide one, where fields stand for columns: "score_*".

    Args:
        rows: The rows.
        fields: Fields, of which those with a star count if it has the same meanings in each.

    Yields:
        For each meaning of the star that fills a cell, a row with these cells, called as the fields
        are, and the other cells; rows without such columns as they are.
    """
    texts = [[text] if isinstance(text, str) else text or () for text in fields.values()]
    stars = {name.strip() for text in chain(*texts) for name in text.split(",") if "*" in name}
    patterns = {name: re.escape(name).replace(r"\*", "(.+)") for name in stars}

    def find(row: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        meanings: dict[str, dict[str, str]] = {}
        for key, (name, pattern) in product(row, patterns.items()):
            if match := re.fullmatch(pattern, key):
                meanings.setdefault(match[1], {})[name] = key
        return meanings

    first = list(islice(rows, LOOKED)) if stars else []
    every = [meaning for _, row in first for meaning in find(row).items()]
    used = {name for _, keys in every for name in keys}
    shared = {star for star, keys in every if {*keys} == used}
    for location, row in chain(first, rows):
        meanings = [keys for star, keys in find(row).items() if star in shared]
        taken = {key for keys in meanings for key in keys.values()}
        kept = {key: cell for key, cell in row.items() if key not in taken}
        if not meanings:
            yield location, row
        for number, keys in enumerate(meanings):
            cells = {name: row[key] for name, key in keys.items()}
            if any(map(is_filled, cells.values())):
                yield f"{location}, element {number}", kept | cells

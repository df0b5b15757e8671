"""Readings by several readers, from one table or from a table each, joined by `item_id`."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables.columns import finite, is_reading
from cordial_ppl.tables.frame import ROW, Columns, as_series, list_names
from cordial_ppl.tables.readings import ReadingTable, read_readings
from cordial_ppl.tables.rows import list_values


@dataclass(frozen=True)
class ReaderTables:
    """Readings of the same texts by R readers.

    Attributes:
        item_ids: The texts that any reader has read, each once, in the order of the files.
        logits: Centred logits [n, R, K] (nats); NaN where a reader has not read a text.
        scale: The K options, the same for all readers.
        readers: The readers' names.
        kind: What the first reader with columns has: "logit", ...; "rating" if none has.
        extras: Every other column, by name, from the first reader who has something in a cell.
    """

    item_ids: list[str]
    logits: Float64[np.ndarray, "n R K"]
    scale: Scale
    readers: tuple[str, ...]
    kind: str
    extras: dict[str, list]

    def covariate(self, name: str) -> Float64[np.ndarray, " n"]:
        """Read an extra column as numbers, as `ReadingTable.covariate` does."""
        cells = self.extras | {ROW: list(map(repr, self.item_ids))}
        frame = pl.DataFrame([as_series(*column) for column in cells.items()])
        return finite(Columns(Path("the readings"), frame.lazy(), "item_id"), name)


def read_several(
    paths: Sequence[str | Path],
    *,
    options: Any = None,
    readers: Sequence[str] | None = None,
    task: str | None = None,
    gaps: bool = False,
) -> ReaderTables:
    """Read the readings of the same texts by several readers, of whatever kind each gave.

    Args:
        paths: Tables of readings. One with a column `reader` holds several; one without is of one
            reader, named after the file.
        options: The K options in the scale's order; by default the columns' order in the file of
            the first reader that has columns. A file of hard ratings alone needs them.
        readers: The readers to take, in order; by default all.
        task: The task to take, where a file holds several.
        gaps: Whether some of the readers that are asked for may be in no file.

    Returns:
        The readings, side by side.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: As `read_readings` raises for each reader; two readers have one name, one that
            is asked for (with `gaps`, each of them) is in no file, or readers rate other options.
        SettingNeeded: A file holds several tasks, or no file says what the options are.
    """
    homes = _find_homes(paths, task)
    names = tuple(homes) if readers is None else tuple(dict.fromkeys(readers))
    if not names:
        raise InputError("readers must name at least one; by default all are taken.")
    missing = [name for name in names if name not in homes]
    if missing and not (gaps and len(missing) < len(names)):
        raise InputError(
            f"there is no reader {missing[0]!r} in {list_names(map(str, paths))}; found "
            f"{list_names(homes)}."
        )
    tables: dict[str, ReadingTable] = {}
    waiting = deque(name for name in names if name in homes)
    # Ratings do not say what could have been rated, so readers with columns come first.
    postponed: set[str] = set()
    while waiting:
        name = waiting.popleft()
        path, named = homes[name]
        try:
            tables[name] = read_readings(
                path, options=options, reader=name if named else None, task=task
            )
        except SettingNeeded as error:
            if error.setting != "options" or name in postponed:
                raise
            postponed.add(name)
            waiting.append(name)
        else:
            options = tables[name].scale
    return _join(tables, names)


def _find_homes(paths: Sequence[str | Path], task: str | None) -> dict[str, tuple[Path, bool]]:
    """The file of each reader, and whether the file has a column for its name."""
    homes: dict[str, tuple[Path, bool]] = {}
    for path in map(Path, paths):
        found = list_values(path, "reader", task if list_values(path, "task") else None)
        if len(found) > 1 and "" in found:
            raise InputError(f"{path}: every row needs a reader; the column is empty in some.")
        for name in found or [path.stem]:
            if name in homes:
                raise InputError(
                    f"the reader {name!r} is in {homes[name][0]} and in {path}: rename one, or "
                    "put all its readings into one file."
                )
            homes[name] = path, bool(found)
    return homes


def _join(tables: dict[str, ReadingTable], names: tuple[str, ...]) -> ReaderTables:
    found = [(k, tables[name]) for k, name in enumerate(names) if name in tables]
    scale = found[0][1].scale
    items = list(dict.fromkeys(item for _, table in found for item in table.item_ids))
    places = {item: row for row, item in enumerate(items)}
    logits = np.full((len(items), len(names), scale.size), np.nan)
    extras: dict[str, list] = {}
    for k, table in found:
        rows = [places[item] for item in table.item_ids]
        logits[rows, k] = table.logits
        for name, cells in table.extras.items():
            # The reader's name, and readings of options that only other rows of the file have.
            if name == "reader" or is_reading(name):
                continue
            column = extras.setdefault(name, [None] * len(items))
            for row, cell in zip(rows, cells, strict=True):
                column[row] = cell if column[row] in (None, "") else column[row]
    kinds = [table.kind for _, table in found if table.kind != "rating"]
    return ReaderTables(items, logits, scale, names, [*kinds, "rating"][0], extras)

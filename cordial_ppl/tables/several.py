"""Readings by several readers, from one table or from a table each, joined by `item_id`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables.columns import PREFIXES
from cordial_ppl.tables.files import list_names
from cordial_ppl.tables.readings import ReadingTable, finite_column, read_readings
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
        return finite_column(self.extras, name, lambda row: f"item_id {self.item_ids[row]!r}")


def read_several(
    paths: Sequence[str | Path],
    *,
    options: Any = None,
    readers: Sequence[str] | None = None,
    task: str | None = None,
    gaps: bool = False,
) -> ReaderTables:
    """Read what several judges said of the same texts, whatever kind of reading each gave.

    Args:
        paths: Tables of readings. One with a column `reader` holds several; one without is of one
            reader, who goes by the file's name.
        options: The K options in the scale's order; by default the columns' order in the file of
            the first reader that has columns. A file of hard ratings alone needs them.
        readers: The readers to take, in order; by default all.
        task: The task to take, where a file holds several.
        gaps: Whether some of the readers that are asked for may be in no file.

    Returns:
        The readings, side by side.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: As `read_readings` says of each reader; two readers have one name, one that is
            asked for (with `gaps`, each of them) is in no file, or readers rate other options.
        SettingNeeded: A file holds several tasks, or no file says what the options are.
    """
    if readers is not None and not len(readers):
        raise InputError("readers must name at least one; by default all are taken.")
    homes = _homes(paths, task)
    missing = [name for name in readers or () if name not in homes]
    if missing and not (gaps and len(missing) < len(readers or ())):
        raise InputError(
            f"there is no reader {missing[0]!r} in {list_names(map(str, paths))}; found "
            f"{list_names(homes)}."
        )
    names = tuple(homes) if readers is None else tuple(dict.fromkeys(readers))
    tables: dict[str, ReadingTable] = {}
    waiting: SettingNeeded | None = None
    # Ratings do not say what could have been rated: whoever has columns says it for them.
    for attempt in range(2):
        for name in names:
            if name in tables or name in missing:
                continue
            path, named = homes[name]
            try:
                tables[name] = read_readings(
                    path, options=options, reader=name if named else None, task=task
                )
            except SettingNeeded as error:
                if error.setting != "options" or attempt:
                    raise
                waiting = error
            else:
                options = tables[name].scale
        if waiting is None:
            break
        if not tables:
            raise waiting
    return _join({name: tables[name] for name in names if name in tables}, names)


def _homes(paths: Sequence[str | Path], task: str | None) -> dict[str, tuple[Path, bool]]:
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
    scale = next(iter(tables.values())).scale
    items = list(dict.fromkeys(item for table in tables.values() for item in table.item_ids))
    places = {item: row for row, item in enumerate(items)}
    logits = np.full((len(items), len(names), scale.size), np.nan)
    extras: dict[str, list] = {}
    for reader, table in tables.items():
        rows = [places[item] for item in table.item_ids]
        logits[rows, names.index(reader)] = table.logits
        for name, cells in table.extras.items():
            # The reader's name, and readings of options that only other rows of the file have.
            if name in ("reader", "rating") or name.startswith(PREFIXES):
                continue
            column = extras.setdefault(name, [None] * len(items))
            for row, cell in zip(rows, cells, strict=True):
                column[row] = cell if column[row] in (None, "") else column[row]
    kinds = [table.kind for table in tables.values() if table.kind != "rating"]
    return ReaderTables(items, logits, scale, names, [*kinds, "rating"][0], extras)

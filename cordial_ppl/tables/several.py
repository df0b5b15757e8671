"""Readings by several readers, from one table or from a table each, joined by `item_id`."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import (
    CordialWarning,
    InputError,
    SettingNeeded,
    list_names,
    quote,
)
from cordial_ppl.tables.columns import is_reading, named
from cordial_ppl.tables.frame import ROW, Columns, reading
from cordial_ppl.tables.readings import ReadingTable, list_values, read_readings


def read_several(
    paths: Sequence[str | Path],
    *,
    options: Any = None,
    readers: Sequence[str] | None = None,
    task: str | None = None,
    id: Sequence[str] = (),
    gaps: bool = False,
) -> ReadingTable:
    """Read the readings of the same texts by several readers, of whatever kind each gave.

    Args:
        paths: Tables of readings. One with a column `reader` holds several; one without is of one
            reader, named after the file.
        options: The K options in the scale's order; by default the columns' order in the file of
            the first reader that has columns. A file of hard ratings alone needs them.
        readers: The readers to take, in order; by default all. Another column that names them
            comes before, "judge=gpt", or stands alone, "judge".
        task: The task to take, where a file holds several.
        id: Other names of the column `item_id`.
        gaps: Whether some of the readers that are asked for may be in no file.

    Returns:
        The texts that any reader has read, in the order of the files, with logits [n, R, K] that
        are NaN where a reader has not read a text. Another column stands once, with the value of
        any reader that has one; if readers differ in it for some text, once for each reader, as
        `<column>_<reader>`.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: As `read_readings` raises for each reader; two readers have one name, one that
            is asked for (with `gaps`, each of them) is in no file, or readers rate other options.
        SettingNeeded: A file holds several tasks, or no file says what the options are.
    """
    homes, meant = _find_homes(paths, task, readers or ())
    wanted = [name for reader in readers or () for name in meant.get(reader, [reader])]
    names = tuple(homes) if readers is None else tuple(dict.fromkeys(wanted))
    if not names:
        raise InputError("readers must name at least one; by default all are taken.")
    missing = [name for name in names if name not in homes]
    if missing and not (gaps and len(missing) < len(names)):
        raise InputError(
            f"there is no reader {missing[0]!r} in {list_names(map(str, paths))}; found "
            f"{list_names(homes)}."
        )
    tables: dict[str, ReadingTable] = {}
    # Ratings do not say what could have been rated: readers with columns of options come first.
    for last in (False, True):
        for name in names:
            if name in homes and name not in tables:
                path, reader = homes[name]
                try:
                    table = read_readings(path, options=options, reader=reader, task=task, id=id)
                except SettingNeeded as error:
                    if last or error.setting != "options":
                        raise
                else:
                    tables[name], options = table, table.scale
    return _join(tables, names)


def _find_homes(
    paths: Sequence[str | Path], task: str | None, chosen: Sequence[str]
) -> tuple[dict[str, tuple[Path, str | None]], dict[str, list[str]]]:
    """The file of each reader and what chooses it there, and the readers that a choice means."""
    homes: dict[str, tuple[Path, str | None]] = {}
    meant: dict[str, list[str]] = {}
    for path in map(Path, paths):
        found = list_values(path, "reader", task if list_values(path, "task") else None, chosen)
        if len(found) > 1 and "" in found:
            raise InputError(f"{path}: every row needs a reader; the column is empty in some.")
        for name in found or [path.stem]:
            if name in homes:
                raise InputError(
                    f"the reader {name!r} is in {homes[name][0]} and in {path}: rename one, or "
                    "put all its readings into one file."
                )
            choice = found.get(name)
            homes[name] = path, choice
            if choice is not None and choice != name:
                meant[choice] = [name]
                meant.setdefault(choice.removesuffix(f"={name}"), []).append(name)
    return homes, meant


def _join(tables: dict[str, ReadingTable], names: tuple[str, ...]) -> ReadingTable:
    found = {name: tables[name] for name in names if name in tables}
    parts: dict[str, pl.DataFrame] = {}
    for reader, table in found.items():
        # Without the reader's name, and readings of options that only other rows have.
        extras = [name for name in table.columns.schema if name not in ("item_id", "reader")]
        kept = [pl.col(name) for name in extras if not is_reading(name)]
        kept = [pl.when(cell.cast(pl.String, strict=False) != "").then(cell) for cell in kept]
        parts[reader] = table.columns.collect(named("item_id"), *kept)
    with reading(Path("the readings")):
        rows = pl.concat(_tell_apart(parts), how="diagonal_relaxed")
        rows = rows.group_by("item_id", maintain_order=True)
        frame = rows.agg(pl.all().drop_nulls().first()).with_row_index(ROW)
    items = frame["item_id"].to_list()
    places = {item: row for row, item in enumerate(items)}
    scale = next(iter(found.values())).scale
    logits = np.full((len(items), len(names), scale.size), np.nan)
    for k, name in enumerate(names):
        if name in tables:
            logits[[places[item] for item in tables[name].item_ids], k] = tables[name].logits
    kind = next((table.kind for table in found.values() if table.kind != "rating"), "rating")
    columns = Columns(Path("the readings"), frame.lazy(), lambda row: f"item_id {items[row]!r}")
    return ReadingTable(columns, scale, kind, known=logits, readers=names)


def _warn_if_few(name: str, cells: pl.DataFrame, new: Sequence[str]) -> None:
    """Warn of a column in which readers differ for less than half of the texts: by mistake?"""
    said = cells.group_by("item_id", maintain_order=True).agg(pl.len(), pl.col(name).n_unique())
    several = said.filter(pl.col("len") > 1)
    other = several.filter(pl.col(name) > 1)["item_id"]
    if 2 * len(other) < len(several):
        warnings.warn(
            f"the readers differ in {quote(name)} for {len(other):,} of {len(several):,} texts, "
            f"such as {quote(other[0])}: it becomes {list_names(new)}. "
            "Make them agree to keep one column.",
            CordialWarning,
            stacklevel=4,
        )


def _tell_apart(parts: dict[str, pl.DataFrame]) -> list[pl.DataFrame]:
    """Name columns after their readers where these differ in the value of a text."""
    taken = {name for part in parts.values() for name in part.columns}
    new: dict[str, dict[str, str]] = {reader: {} for reader in parts}
    for name in dict.fromkeys(name for part in parts.values() for name in part.columns[1:]):
        owners = [reader for reader, part in parts.items() if name in part.columns]
        cells = pl.concat(parts[reader].select("item_id", named(name)) for reader in owners)
        cells = cells.filter(pl.col(name) != "")
        if cells.n_unique() > cells["item_id"].n_unique():
            for reader in owners:
                own = f"{name}_{reader}"
                # "n_gpt" would be taken for readings.
                while own in taken or is_reading(own):
                    own = f"input_{own}"
                new[reader][name] = own
                taken.add(own)
            _warn_if_few(name, cells, [new[reader][name] for reader in owners])
    return [part.rename(new[reader]) for reader, part in parts.items()]

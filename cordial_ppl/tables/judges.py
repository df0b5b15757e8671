"""Readings by several readers, from one table or from a table each, joined by `item_id`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.data.checks import warn_of_lookalikes
from cordial_ppl.errors import InputError, SettingNeeded, list_names
from cordial_ppl.tables.choices import Choice, open_columns, refuse_taken, select, split_choice
from cordial_ppl.tables.columns import is_reading, list_distinct, named, unpivot
from cordial_ppl.tables.frame import ROW, Columns, reading
from cordial_ppl.tables.reading_table import ReadingTable, count_unread
from cordial_ppl.tables.roles import PLACEHOLDER, find_columns, find_layout, spell


def read_several(
    paths: Sequence[str | Path],
    *,
    readers: Sequence[str] | None = None,
    gaps: bool = False,
    **chosen: Any,
) -> ReadingTable:
    """Read the readings of the same texts by several readers, of whatever kind each gave.

    Args:
        paths: Tables of readings. One with a column `reader` holds several; one without is of one
            reader, named after the file.
        readers: The readers to take, in order; by default all. Another column that names them
            comes before, "judge=gpt", or stands alone, "judge". Several that are columns of a table
            without such a column hold the hard ratings of a reader each.
        gaps: Whether some of the readers that are asked for may be in no file.
        chosen: Fields of `Choice`. Options are by default those of the first reader that has
            columns; files of hard ratings alone need them.

    Returns:
        The texts, in the order of the files, with logits [n, R, K] that are NaN where a reader has
        not read a text; one warning counts those that nobody has read. Another column stands once,
        with the value of any reader that has one; if readers differ in it for some text, once for
        each reader, as `<column>_<reader>`.

    Raises:
        FileError: A file cannot be read or is not what its ending says.
        InputError: As `read_readings` raises for each reader; two readers have one name, one that
            is asked for (with `gaps`, each of them) is in no file, or readers rate other options.
        SettingNeeded: A file holds several tasks, columns of ratings that nobody named, or no file
            says what the options are.
    """
    sources: dict[str, Columns] = {}
    choices: dict[str, list[str]] = {}
    choice = Choice(**chosen)
    options = choice.options
    for path in map(Path, paths):
        columns = open_columns(path, choice, needed=choice.rating is None)
        alone = len(paths) == 1 and not gaps
        for name, part in _split_readers(columns, readers or (), choices, alone).items():
            if name in sources:
                raise InputError(
                    f"the judge {name!r} is in both {sources[name].path} and {path}. Rename the "
                    "judge in one file, or put all readings by this judge into one file."
                )
            sources[name] = part
    wanted = [name for reader in readers or () for name in choices.get(reader, [reader])]
    names = tuple(sources) if readers is None else tuple(dict.fromkeys(wanted))
    missing = [name for name in names if name not in sources]
    if not names or (missing and not (gaps and len(missing) < len(names))):
        raise InputError(
            f"each reader must be a judge in {list_names(map(str, paths))} ("
            f"{list_names(sources)}); got {list_names(missing)}."
        )
    tables: dict[str, ReadingTable] = {}
    # Ratings do not say what could have been rated: readers with columns of options come first.
    for last in (False, True):
        for name in [name for name in names if name in sources and name not in tables]:
            try:
                layout = find_layout(sources[name], options)
                tables[name] = ReadingTable(sources[name], *layout, round=choice.round)
                options = layout[0]
            except SettingNeeded as error:
                if last or error.setting != "options":
                    raise
    return _join({name: tables[name] for name in names if name in tables}, names)


def _split_readers(
    columns: Columns, readers: Sequence[str], choices: dict[str, list[str]], alone: bool
) -> Mapping[str, Columns]:
    """Split a table into those of its readers, and note which readers a choice names.

    Without a column that names readers, several are columns of it; `alone`, all of them.
    """
    wide = {name: column for name in readers if (column := spell(columns, name))}
    if taken := [name for name in wide if wide[name] in ("item_id", *columns.apart)]:
        raise refuse_taken(columns, taken[0], "readers")
    long = "reader" in columns.schema or any("=" in name for name in readers)
    if len(readers) > 1 and not long and (wide or alone):
        if alone:
            find_columns(columns, readers, "readers")
        others = [name for name in columns.schema if name in wide.values() or not is_reading(name)]
        table = replace(columns, frame=columns.frame.select(ROW, *others))
        by_column = {column: name for name, column in wide.items()}
        columns = unpivot(table, by_column, "reader", "rating")
        return {name: select(columns, "reader", name) for name in wide}
    picks = {reader: split_choice(columns, "reader", reader) for reader in readers}
    column = next((other for other, _ in picks.values() if other != "reader"), "reader")
    if column not in columns.schema:
        if alone and not any(map(is_reading, columns.schema)):
            problem = f"{columns.path} has no readings; found {columns.listed}."
            advice = "If each judge has a column of ratings, name those columns"
            raise SettingNeeded(problem, advice, "readers", (PLACEHOLDER, "..."))
        return {columns.path.stem: columns}
    names = list_distinct(columns, column)
    warn_of_lookalikes("judges", names)
    if len(names) > 1 and "" in names:
        problem = f"{columns.path}: column {column!r} is empty in some rows."
        raise InputError(f"{problem} Name the judge in every row.")
    for reader, (other, name) in picks.items():
        if other == column != "reader":
            choices.setdefault(reader, []).extend([name] if name else names)
    columns = columns.rename(column, "reader")
    return {name: select(columns, "reader", name) for name in names}


def _join(tables: dict[str, ReadingTable], names: tuple[str, ...]) -> ReadingTable:
    """Join the tables of readers by `item_id`."""
    parts: dict[str, pl.DataFrame] = {}
    for reader, table in tables.items():
        # Without the reader's name, and readings of options that only other rows have.
        extras = [name for name in table.columns.schema if name not in ("item_id", "reader")]
        cells = [pl.col(name) for name in extras if not is_reading(name)]
        cells = [pl.when(cell.cast(pl.String, strict=False) != "").then(cell) for cell in cells]
        parts[reader] = table.columns.collect(named("item_id"), *cells)
    source = Path("the readings")
    with reading(source):
        rows = pl.concat(_tell_apart(parts), how="diagonal_relaxed")
        rows = rows.group_by("item_id", maintain_order=True)
        frame = rows.agg(pl.all().drop_nulls().first()).with_row_index(ROW)
    items = frame["item_id"].to_list()
    index = {item: row for row, item in enumerate(items)}
    first = next(iter(tables.values()))
    logits = np.full((len(items), len(names), first.scale.size), np.nan)
    for name, table in tables.items():
        logits[[index[item] for item in table.item_ids], names.index(name)] = table.logits
    kind = next((table.kind for table in tables.values() if table.kind != "rating"), "rating")
    columns = replace(first.columns, path=source, frame=frame.lazy(), masks=(), apart=())
    columns = replace(columns, name_row=lambda row: f"item_id {items[row]!r}")
    return count_unread(ReadingTable(columns, first.scale, kind, checked=logits, readers=names))


def _tell_apart(parts: dict[str, pl.DataFrame]) -> list[pl.DataFrame]:
    """Name columns after their readers where these differ in the value of a text."""
    names = (part.select(map(named, part.columns)) for part in parts.values())
    told = pl.concat(names, how="diagonal")
    counts = told.group_by("item_id").agg(pl.all().replace("", None).drop_nulls().n_unique()).max()
    differing = [name for name in told.columns[1:] if counts[name].item() > 1]
    taken, renamed = {*told.columns}, list[pl.DataFrame]()
    for reader, part in parts.items():
        for name in filter(part.columns.__contains__, differing):
            column = f"{name}_{reader}"
            # "n_gpt" would be taken for readings.
            while column in taken or is_reading(column):
                column = f"input_{column}"
            part = part.rename({name: column})
            taken.add(column)
        renamed.append(part)
    return renamed

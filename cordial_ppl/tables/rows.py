"""What each row of a table is about: which text, which reader, which task."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import InputError, name_rows, quote
from cordial_ppl.scale import SettingNeeded
from cordial_ppl.tables.columns import is_reading
from cordial_ppl.tables.files import read_columns
from cordial_ppl.tables.frame import Columns, list_names, reading


def list_values(path: str | Path, field: str, task: str | None = None) -> list[str]:
    """List the names in a column of a table, such as `reader`, in the order of the file.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file.
        field: The column.
        task: The task whose rows count; by default all do.

    Returns:
        The names, each once; none if there is no such column.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: There is no such task.
    """
    columns = read_columns(path)
    if task is not None:
        columns = select(columns, "task", task)
    return list(_names_in(columns, field)) if field in columns.schema else []


def select(columns: Columns, field: str, chosen: str | None) -> Columns:
    """Keep the rows of one reader or task.

    Args:
        columns: The table.
        field: Which column says so, "reader" or "task"; a table may lack it.
        chosen: The name; None where the table holds only one.

    Returns:
        The rows of that name.

    Raises:
        InputError: There is no such name, or no such column.
        SettingNeeded: There are several and none was chosen.
    """
    if chosen is None and field not in columns.schema:
        return columns
    columns.require(field)
    cells = _names_in(columns, field)
    if chosen is None:
        if len(cells) > 1:
            problem = f"{columns.path} holds {len(cells)} {field}s: {list_names(cells)}."
            raise SettingNeeded(problem, "Choose one, for example", field, next(iter(cells)))
        return columns
    name = chosen.strip()
    if name not in cells:
        raise InputError(f"{columns.path} has no {field} {chosen!r}; found {list_names(cells)}.")
    wanted = pl.Series(cells[name], dtype=columns.schema[field])
    mask = pl.col(field).is_in(wanted.implode(), nulls_equal=True)
    readings = {n: kind for n, kind in columns.schema.items() if is_reading(n)}
    kept = replace(columns, masks=(*columns.masks, mask))
    if not readings:
        return kept
    some = [_is_filled(n, kind).any() for n, kind in readings.items()]
    before, after = (each.collect(*some).row(0, named=True) for each in (columns, kept))
    return replace(
        kept, silent=columns.silent | {n for n in readings if before[n] and not after[n]}
    )


def read_items(columns: Columns) -> list[str]:
    """Read the ids of the texts.

    Args:
        columns: The table.

    Returns:
        The column `item_id`, one id a row.

    Raises:
        InputError: There is no such column, a row has no id, or an id occurs twice.
    """
    items = name_items(columns)
    again = items.filter(items.is_duplicated()).unique(maintain_order=True)
    if len(again):
        rows = (items == again[0]).arg_true().to_list()
        more = f", and {len(again) - 1} more occur again." if len(again) > 1 else "."
        raise InputError(
            f"{columns.path}: an item_id must occur once; {quote(again[0])} is in "
            f"{name_rows(rows, columns.where)}{more}"
        )
    return items.to_list()


def name_items(columns: Columns) -> pl.Series:
    """Read the ids of the texts, of which some may occur twice.

    Args:
        columns: The table.

    Returns:
        The column `item_id` as text.

    Raises:
        InputError: There is no such column, or a row has no id.
    """
    columns.require("item_id")
    items = as_names(columns.collect("item_id").to_series())
    unnamed = (items == "").arg_true().to_list()
    if unnamed:
        places = name_rows(unnamed, columns.where)
        raise InputError(f"{columns.path}: every row needs an item_id; there is none in {places}.")
    return items


def as_names(cells: pl.Series) -> pl.Series:
    """Read a column as names, as `as_name` reads a cell."""
    if cells.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) or cells.dtype.is_integer():
        return cells.cast(pl.String).str.strip_chars().fill_null("")
    try:
        plain = cells.to_list()
    except (OverflowError, ValueError):
        # Dates that Python does not have.
        plain = cells.cast(pl.String).to_list()
    return pl.Series(cells.name, list(map(as_name, plain)), pl.String)


def as_name(cell: object) -> str:
    """Read a cell as a name; 3.0 is '3', for whole numbers with gaps are stored as floats."""
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.0f}" if cell.is_integer() else repr(float(cell))
    return "" if cell is None else str(cell).strip()


def _names_in(columns: Columns, field: str) -> dict[str, list]:
    """The different names in a column, each with the cells that stand for it."""
    cells = columns.collect(pl.col(field).unique(maintain_order=True)).to_series()
    with reading(columns.path):
        plain = cells.to_list()
    found: dict[str, list] = {}
    for name, cell in zip(as_names(cells).to_list(), plain, strict=True):
        found.setdefault(name, []).append(cell)
    return found


def _is_filled(name: str, kind: Any) -> pl.Expr:
    cell = pl.col(name)
    return cell.str.strip_chars() != "" if kind == pl.String else cell.is_not_null()

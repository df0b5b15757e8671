"""What each row of a table is about: which text, which reader, which task."""

from pathlib import Path

import numpy as np

from cordial_ppl.errors import InputError, name_rows
from cordial_ppl.scale import SettingNeeded
from cordial_ppl.tables.files import ABSENT, Columns, list_names, read_columns


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
    cells = columns.cells.get(field, ())
    return list(dict.fromkeys(map(as_name, cells)))


def select(columns: Columns, field: str, chosen: str | None) -> Columns:
    """Keep the rows of one reader or task.

    Args:
        columns: The table.
        field: Which column says so, "reader" or "task"; a table may lack it.
        chosen: The name; None where the table holds one alone.

    Returns:
        The rows of that name.

    Raises:
        InputError: There is no such name, or no such column.
        SettingNeeded: There are several and none was chosen.
    """
    if chosen is None and field not in columns.cells:
        return columns
    cells = [as_name(cell) for cell in columns.column(field)]
    names = list(dict.fromkeys(cells))
    if chosen is None:
        if len(names) > 1:
            problem = f"{columns.path} holds {len(names)} {field}s: {list_names(names)}."
            raise SettingNeeded(problem, "Choose one, for example", field, names[0])
        return columns
    if chosen.strip() not in names:
        raise InputError(f"{columns.path} has no {field} {chosen!r}; found {list_names(names)}.")
    return columns.take([i for i, cell in enumerate(cells) if cell == chosen.strip()])


def read_items(columns: Columns) -> list[str]:
    """Read the names of the texts.

    Args:
        columns: The table.

    Returns:
        The column `item_id`, one name a row.

    Raises:
        InputError: There is no such column, a row has no name, or a name occurs twice.
    """
    items = [as_name(cell) for cell in columns.column("item_id")]
    unnamed = [i for i, item in enumerate(items) if not item]
    if unnamed:
        places = name_rows(unnamed, columns.where)
        raise InputError(f"{columns.path}: every row needs an item_id; there is none in {places}.")
    if len(set(items)) < len(items):
        positions: dict[str, list[int]] = {}
        for i, item in enumerate(items):
            positions.setdefault(item, []).append(i)
        doubled = [item for item in positions if len(positions[item]) > 1]
        rows = name_rows(positions[doubled[0]], columns.where)
        raise InputError(
            f"{columns.path}: an item_id must occur once; {doubled[0]!r} is in {rows}"
            + (f", and {len(doubled) - 1} more occur again." if len(doubled) > 1 else ".")
        )
    return items


def as_name(cell: object) -> str:
    """Read a cell as a name; 3.0 is '3', for whole numbers with gaps are stored as floats."""
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.0f}" if cell.is_integer() else repr(float(cell))
    return "" if cell is None or cell is ABSENT else str(cell).strip()

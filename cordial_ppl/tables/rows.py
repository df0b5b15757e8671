"""What each row of a table is about: which text, which reader, which task."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cordial_ppl.errors import InputError, Where, name_rows, quote
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
    name = choose(columns.path, field, list(dict.fromkeys(cells)), chosen)
    if name is None:
        return columns
    return columns.take([i for i, cell in enumerate(cells) if cell == name])


def choose(path: Path, field: str, names: list[str], chosen: str | None) -> str | None:
    """Find out which of the names in a column counts.

    Args:
        path: The table.
        field: The column, "reader" or "task".
        names: The different names in it.
        chosen: The name that was asked for; None where the table holds one alone.

    Returns:
        The name, or None where every row counts.

    Raises:
        InputError: There is no such name.
        SettingNeeded: There are several and none was chosen.
    """
    if chosen is None:
        if len(names) > 1:
            problem = f"{path} holds {len(names)} {field}s: {list_names(names)}."
            raise SettingNeeded(problem, "Choose one, for example", field, names[0])
        return None
    if chosen.strip() not in names:
        raise InputError(f"{path} has no {field} {chosen!r}; found {list_names(names)}.")
    return chosen.strip()


def read_items(columns: Columns) -> list[str]:
    """Read the names of the texts.

    Args:
        columns: The table.

    Returns:
        The column `item_id`, one name a row.

    Raises:
        InputError: There is no such column, a row has no name, or a name occurs twice.
    """
    items = name_items(columns)
    if len(set(items)) < len(items):
        reject_repeated(columns.path, enumerate(items), columns.where)
    return items


def name_items(columns: Columns) -> list[str]:
    """Read the names of the texts, of which some may occur twice.

    Args:
        columns: The table.

    Returns:
        The column `item_id`, one name a row.

    Raises:
        InputError: There is no such column, or a row has no name.
    """
    items = [as_name(cell) for cell in columns.column("item_id")]
    unnamed = [i for i, item in enumerate(items) if not item]
    if unnamed:
        places = name_rows(unnamed, columns.where)
        raise InputError(f"{columns.path}: every row needs an item_id; there is none in {places}.")
    return items


def reject_repeated(path: Path, items: Iterable[tuple[int, str]], where: Where) -> None:
    """Refuse names of texts that occur more than once.

    Args:
        path: The table.
        items: The row and the name of each text that may be in question.
        where: Names a row in messages.

    Raises:
        InputError: A name occurs twice.
    """
    rows: dict[str, list[int]] = {}
    for row, item in items:
        rows.setdefault(item, []).append(row)
    again = [item for item in rows if len(rows[item]) > 1]
    if again:
        raise InputError(
            f"{path}: an item_id must occur once; {quote(again[0])} is in "
            f"{name_rows(rows[again[0]], where)}"
            + (f", and {len(again) - 1} more occur again." if len(again) > 1 else ".")
        )


def as_name(cell: object) -> str:
    """Read a cell as a name; 3.0 is '3', for whole numbers with gaps are stored as floats."""
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.0f}" if cell.is_integer() else repr(float(cell))
    return "" if cell is None or cell is ABSENT else str(cell).strip()

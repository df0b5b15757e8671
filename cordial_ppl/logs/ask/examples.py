"""Examples: labelled texts to show, and the columns of tables that prompts are filled from."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, name_rows, naming
from cordial_ppl.logs.ask.prompt import Example
from cordial_ppl.tables.columns import as_name, filled
from cordial_ppl.tables.files import Columns, is_filled, read_columns


def read_examples(
    path: str | Path, scale: Scale, needed: Collection[str], shots: int, *, seed: int = 0
) -> list[Example]:
    """Choose examples from a table of labelled texts, in random order.

    Options take turns while they have texts, so that rare ones are shown too.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `label` and the prompt's columns.
        scale: The options.
        needed: The columns that the prompt uses.
        shots: The number of examples.
        seed: Seed of the choice and of the order.

    Returns:
        The examples.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or label is missing, a label is no option, or there are too few texts.
    """
    columns = read_columns(path)
    columns.require("label")
    texts = read_cells(columns, needed)
    with naming(path):
        cells = filled(columns, "label", "Examples are labelled texts: remove the others.")
        labels = scale.encode(cells, where=columns.where)
    if shots > len(labels):
        raise InputError(f"{path} has {len(labels)} texts; --shots asks for {shots}.")
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(labels))
    # The first text of each option, then the second of each, with the options in random order.
    turn = np.empty(len(labels), int)
    rank = rng.permutation(scale.size)
    for option in range(scale.size):
        rows = drawn[labels[drawn] == option]
        turn[rows] = np.arange(len(rows)) * scale.size + rank[option]
    chosen = rng.permutation(np.argsort(turn)[:shots]).tolist()
    items = columns.cells.get("item_id", [""] * len(labels))
    fields = [{name: column[i] for name, column in texts.items()} for i in chosen]
    return [
        Example(as_name(items[i]), field, scale.options[labels[i]])
        for i, field in zip(chosen, fields, strict=True)
    ]


def read_cells(columns: Columns, needed: Collection[str]) -> dict[str, list[str]]:
    """Read the columns that a prompt uses.

    Args:
        columns: The table.
        needed: The columns' names.

    Returns:
        Their cells as text.

    Raises:
        InputError: A column is missing, or a cell is empty.
    """
    for name in needed:
        columns.require(name)
        empty = [i for i, cell in enumerate(columns.cells[name]) if not is_filled(cell)]
        if empty:
            rows = name_rows(empty, columns.where)
            raise InputError(f"{columns.path}: the column {name!r} is empty in {rows}.")
    return {
        name: [cell if isinstance(cell, str) else as_name(cell) for cell in columns.cells[name]]
        for name in needed
    }

"""The tables that prompts are filled from: texts to rate, and labelled texts as examples."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError, name_rows, naming
from cordial_ppl.live.prompt import Demonstration
from cordial_ppl.scale import Scale
from cordial_ppl.tables.columns import KINDS, as_name, filled, passed_through, read_items
from cordial_ppl.tables.files import Columns, is_filled, list_names, read_columns


@dataclass(frozen=True)
class Texts:
    """The texts of a table.

    Attributes:
        item_ids: Their names, all different.
        cells: All columns as text.
        extras: The columns that the prompt does not use, as the table has them.
    """

    item_ids: list[str]
    cells: Mapping[str, list[str]]
    extras: Mapping[str, list]

    def pass_on(self, readings: Mapping[str, Any]) -> tuple[dict[str, list], list[str]]:
        """Choose the columns to write beside the readings.

        Args:
            readings: The columns of the readings, with `item_id`.

        Returns:
            The extra columns, for the texts that have a reading; and the names of those that are
            dropped, as the table has such a column already or they look like readings.
        """
        places = {item: i for i, item in enumerate(self.item_ids)}
        rows = [places[item] for item in readings["item_id"]]
        taken = re.compile("rating$|" + "|".join(f"{kind}_" for kind in KINDS))
        dropped = [name for name in self.extras if name in readings or taken.match(name)]
        return {
            name: [cells[i] for i in rows]
            for name, cells in self.extras.items()
            if name not in dropped
        }, dropped


def read_texts(path: str | Path, needed: Collection[str]) -> Texts:
    """Read a table of texts.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id`.
        needed: The columns that the prompt uses.

    Returns:
        The texts.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column is missing, an item has no name or occurs twice, or a cell that the
            prompt uses is empty.
    """
    columns = read_columns(path)
    extras = passed_through(columns, ["item_id", *needed])
    return Texts(read_items(columns), _read_cells(columns, needed), extras)


def read_demonstrations(
    path: str | Path, scale: Scale, needed: Collection[str], shots: int, *, seed: int = 0
) -> list[Demonstration]:
    """Choose examples from a table of labelled texts, in random order.

    Options take turns while they have texts, so that rare ones are shown too.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `label` and the prompt's columns.
        scale: The options.
        needed: The columns that the prompt uses.
        shots: How many examples to choose.
        seed: Seed of the choice and of the order.

    Returns:
        The examples.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or label is missing, a label is no option, or there are too few texts.
    """
    columns = read_columns(path)
    columns.column("label")
    cells = _read_cells(columns, needed)
    with naming(path):
        given = filled(columns, "label", "Examples are labelled texts: remove the others.")
        labels = scale.encode(given, where=columns.where)
    if shots > len(labels):
        raise InputError(f"{path} has {len(labels)} texts; --shots asks for {shots}.")
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(labels))
    # The first text of each option, then the second of each, with the options in random order.
    turn = np.empty(len(labels), int)
    rank = rng.permutation(scale.size)
    for option in range(scale.size):
        texts = drawn[labels[drawn] == option]
        turn[texts] = np.arange(len(texts)) * scale.size + rank[option]
    chosen = rng.permutation(np.argsort(turn)[:shots]).tolist()
    items = [as_name(cell) for cell in columns.cells.get("item_id", [""] * len(labels))]
    return [
        Demonstration(
            items[i],
            {name: column[i] for name, column in cells.items()},
            scale.options[labels[i]],
        )
        for i in chosen
    ]


def _read_cells(columns: Columns, needed: Collection[str]) -> dict[str, list[str]]:
    """Read all columns as text; those that are needed must be there and filled."""
    for name in needed:
        if name not in columns.cells:
            raise InputError(
                f"{columns.path}: the prompt needs the column {name!r}; found "
                f"{list_names(columns.cells)}. Another prompt (--prompt) may name other columns."
            )
        empty = [i for i, cell in enumerate(columns.cells[name]) if not is_filled(cell)]
        if empty:
            places = name_rows(empty, columns.where)
            raise InputError(f"{columns.path}: the column {name!r} is empty in {places}.")
    return {
        name: [cell if isinstance(cell, str) else as_name(cell) for cell in column]
        for name, column in columns.cells.items()
    }

"""Tables of readings: one row a text, found by its `item_id`.

A file may hold several readers and tasks; one of each is chosen by name. Columns that are not
readings are passed through.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import Where
from cordial_ppl.scale import Scale
from cordial_ppl.tables.columns import Layout, find_layout, finite, passed_through
from cordial_ppl.tables.files import read_columns
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.rows import read_items, select


@dataclass(frozen=True)
class ReadingTable:
    """The readings of a file.

    Attributes:
        item_ids: The texts, each once.
        logits: Centred logits [n, K] (nats).
        scale: The K options.
        kind: What the file holds: "logit", "logprob", "p", "n" or "rating".
        extras: Every other column, by name, with None for a missing cell.
        columns: The file.
    """

    item_ids: list[str]
    logits: Float64[np.ndarray, "n K"]
    scale: Scale
    kind: str
    extras: dict[str, list]
    columns: Columns

    @property
    def where(self) -> Where:
        """Names the place of a row in the file: "line 7"."""
        return self.columns.where

    def covariate(self, name: str) -> Float64[np.ndarray, " n"]:
        """Read an extra column as numbers.

        Args:
            name: The column.

        Returns:
            Its numbers, [n].

        Raises:
            InputError: There is no such column, or a cell is not a finite number.
        """
        return finite(self.columns, name)


def open_readings(
    path: str | Path, *, options: Any = None, reader: str | None = None, task: str | None = None
) -> tuple[Columns, Layout]:
    """Find the readings of a table, which need not fit in memory.

    Args:
        path: As `read_columns` reads it, with `item_id` and one group of columns `logit_`,
            `logprob_`, `p_` or `n_` (or one column `rating`).
        options: The K options in the scale's order; by default the columns' order in the file. A
            column `rating` needs them.
        reader: The reader to take, where the file holds several.
        task: The task to take, where the file holds several.

    Returns:
        The rows of that reader and task, and where their readings are.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing.
        SettingNeeded: The file holds several readers or tasks, or a column `rating` has no options.
    """
    columns = read_columns(path)
    columns.require("item_id")
    columns = select(select(columns, "task", task), "reader", reader)
    return columns, find_layout(columns, options)


def read_readings(
    path: str | Path, *, options: Any = None, reader: str | None = None, task: str | None = None
) -> ReadingTable:
    """Read the readings of all texts.

    Args:
        path: As in `open_readings`.
        options: As in `open_readings`.
        reader: As in `open_readings`.
        task: As in `open_readings`.

    Returns:
        The readings.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing, an id occurs twice, or a reading is invalid;
            with its row and column.
        SettingNeeded: The file holds several readers or tasks, or a column `rating` has no options.
    """
    columns, layout = open_readings(path, options=options, reader=reader, task=task)
    item_ids, logits = read_items(columns), layout.logits(columns)
    extras = passed_through(columns, ["item_id", *layout.readings])
    return ReadingTable(item_ids, logits, layout.scale, layout.kind, extras, columns)

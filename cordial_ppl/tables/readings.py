"""Tables of readings: one row a text, found by its `item_id`.

A file may hold several readers and tasks; one of each is chosen by name. Columns that are not
readings are passed through.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError, Where, name_rows, naming
from cordial_ppl.scale import Scale
from cordial_ppl.tables.columns import (
    find_kind,
    numbers,
    passed_through,
    read_logits,
    read_scale,
    reading_columns,
)
from cordial_ppl.tables.files import list_names, read_columns
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
        rows: Where each row stands in the file.
        unit: What `rows` counts: "line" (the first is 1) or, in Parquet, "row" (the first is 0).
    """

    item_ids: list[str]
    logits: Float64[np.ndarray, "n K"]
    scale: Scale
    kind: str
    extras: dict[str, list]
    rows: list[int]
    unit: str

    def where(self, position: int) -> str:
        """Name the place of a row in the file: "line 7"."""
        return f"{self.unit} {self.rows[position]}"

    def covariate(self, name: str) -> Float64[np.ndarray, " n"]:
        """Read an extra column as numbers.

        Args:
            name: The column.

        Returns:
            Its numbers, [n].

        Raises:
            InputError: There is no such column, or a cell is not a finite number.
        """
        return finite_column(self.extras, name, self.where)


def finite_column(
    extras: Mapping[str, Sequence | np.ndarray], name: str, where: Where
) -> Float64[np.ndarray, " n"]:
    """Read an extra column as numbers.

    Args:
        extras: The columns.
        name: The column to read.
        where: Names a row in messages.

    Returns:
        Its numbers, [n].

    Raises:
        InputError: There is no such column, or a cell is not a finite number.
    """
    if name not in extras:
        others = list_names(extras) if extras else "nothing"
        raise InputError(
            f"there is no column {name!r}; besides item_id and the readings there is {others}."
        )
    values = numbers(extras[name], name, where)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        places = name_rows(wrong, where)
        raise InputError(f"column {name!r} must be finite numbers; it is not in {places}.")
    return values


def read_readings(
    path: str | Path, *, options: Any = None, reader: str | None = None, task: str | None = None
) -> ReadingTable:
    """Read what a judge said of each text.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id` and one group of columns
            `logit_`, `logprob_`, `p_` or `n_` (or one column `rating`).
        options: The K options in the scale's order; by default the columns' order in the file. A
            column `rating` needs them.
        reader: The judge to take, where the file holds several.
        task: The task to take, where the file holds several.

    Returns:
        The readings.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing, an item occurs twice, or a reading is no
            reading; with its row and column.
        SettingNeeded: The file holds several readers or tasks, or a column `rating` has no options.
    """
    columns = read_columns(path)
    columns.column("item_id")
    columns = select(columns, "task", task)
    columns = select(columns, "reader", reader)
    kind = find_kind(columns)
    scale = read_scale(columns, kind, options)
    item_ids = read_items(columns)
    with naming(path):
        logits = read_logits(columns, kind, scale)
    extras = passed_through(columns, ["item_id", *reading_columns(columns, kind, scale)])
    return ReadingTable(item_ids, logits, scale, kind, extras, list(columns.rows), columns.unit)

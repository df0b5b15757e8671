"""Probabilities that were made elsewhere: one distribution a text, perhaps for each fit anew."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError, name_rows, naming
from cordial_ppl.scale import Scale
from cordial_ppl.tables.columns import numbers
from cordial_ppl.tables.files import list_names, read_columns
from cordial_ppl.tables.rows import as_name

FIELDS = ("task", "reader", "n", "draw")
"""Columns that may tell for which fit a row is; one that is not there holds for all."""


class Predictions:
    """A table of predictions: `item_id`, one column `p_<option>` an option, and some of `FIELDS`.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: It has no column `item_id`.
    """

    def __init__(self, path: str | Path):
        """Read the table and find which rows are whose."""
        self.path = Path(path)
        self._columns = read_columns(path)
        self._items = [as_name(cell) for cell in self._columns.column("item_id")]
        self._fields = [field for field in FIELDS if field in self._columns.cells]
        cells = [[as_name(cell) for cell in self._columns.column(f)] for f in self._fields]
        self._rows: dict[tuple[str, ...], list[int]] = {}
        for row in range(len(self._items)):
            self._rows.setdefault(tuple(column[row] for column in cells), []).append(row)

    def check(self, scale: Scale) -> None:
        """Find out before the work that every option has a column.

        Raises:
            InputError: One has none.
        """
        for option in scale.options:
            self._columns.column(f"p_{option}")

    def probs(
        self, items: Sequence[str], scale: Scale, *, task: str, reader: str, n: int, draw: int
    ) -> Float64[np.ndarray, "m K"]:
        """Look up what a fit says of texts.

        Args:
            items: The texts wanted.
            scale: Their options.
            task: The task.
            reader: The reader.
            n: Number of labels.
            draw: Which subset of labels.

        Returns:
            Probabilities [m, K], in the order of `items`.

        Raises:
            InputError: A text has no row or several, or its row holds no distribution.
        """
        known = {"task": task, "reader": reader, "n": str(n), "draw": str(draw)}
        wanted = tuple(known[field] for field in self._fields)
        rows = {}
        for row in self._rows.get(wanted, ()):
            if rows.setdefault(self._items[row], row) != row:
                first = rows[self._items[row]]
                places = name_rows([first, row], self._columns.where)
                raise InputError(f"{self.path}: item {self._items[row]!r} occurs in {places}.")
        missing = [item for item in items if item not in rows]
        if missing:
            fit = ", ".join(map(" ".join, zip(self._fields, wanted, strict=True)))
            raise InputError(
                f"{self.path} has no row for {len(missing)} of {len(items)} texts"
                + (f" of {fit}" if fit else "")
                + f": {list_names(missing, shown=3)}."
            )
        chosen = self._columns.take([rows[item] for item in items])
        names = [f"p_{option}" for option in scale.options]
        with naming(self.path):
            cells = [numbers(chosen.column(name), name, chosen.where) for name in names]
        return np.stack(cells, axis=1)

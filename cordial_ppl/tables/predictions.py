"""Predictions made elsewhere: one distribution a text, perhaps for each fit anew."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float64

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, as_path, list_names, naming
from cordial_ppl.tables.choices import read_items
from cordial_ppl.tables.columns import named, numbers
from cordial_ppl.tables.formats import read_columns

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
        """Read the table and group its rows by fit."""
        self.path = as_path(path)
        self._columns = read_columns(path)
        self._columns.require("item_id")
        self._fields = [field for field in FIELDS if field in self._columns.schema]
        names = [named(name) for name in ("item_id", *self._fields)]
        table = self._columns.collect(pl.all()).with_columns(names)
        self._none = table.clear()
        self._parts: dict[tuple, pl.DataFrame] = (
            table.partition_by(self._fields, as_dict=True) if self._fields else {(): table}
        )

    def check(self, scale: Scale) -> None:
        """Check that every option has a column; raise an `InputError` if one has none."""
        for option in scale.options:
            self._columns.require(f"p_{option}")

    def probs(
        self, items: Sequence[str], scale: Scale, *, task: str, reader: str, n: int, draw: int
    ) -> Float64[np.ndarray, "m K"]:
        """Look up the probabilities of texts after one fit.

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
        names = {"task": task, "reader": reader, "n": str(n), "draw": str(draw)}
        key = tuple(names[field] for field in self._fields)
        part = self._parts.get(key, self._none)
        rows = replace(self._columns, frame=part.lazy().filter(pl.col("item_id").is_in(items)))
        index = {item: row for row, item in enumerate(read_items(rows))}
        missing = [item for item in items if item not in index]
        if missing:
            fit = ", ".join(map(" ".join, zip(self._fields, key, strict=True)))
            raise InputError(
                f"{self.path} has no row for {len(missing)} of {len(items)} texts"
                + (f" of {fit}" if fit else "")
                + f": {list_names(missing, shown=3)}."
            )
        order = [index[item] for item in items]
        with naming(self.path):
            cells = [numbers(rows, f"p_{option}")[order] for option in scale.options]
        return np.stack(cells, axis=1)

"""Provenance: columns with the model, the prompt and the decoding that readings were made with."""

from collections.abc import Sequence

import polars as pl

from cordial_ppl.errors import list_names
from cordial_ppl.tables.columns import as_names
from cordial_ppl.tables.frame import Columns

MADE = ("model", "prompt", "decoding", "date")
"""Columns of a reading's provenance, `reader_model`, ..."""

LASTING = MADE[:-1]
"""The part that a calibrator remembers: readings made in another way may have other faults."""

Provenance = dict[str, list[str]]
"""By `LASTING`, the different values there are."""


def read_provenance(columns: Columns, rows: Sequence[int] | None = None) -> Provenance:
    """Read the provenance of a table's readings.

    Args:
        columns: The table.
        rows: The rows that count; by default all.

    Returns:
        The different values of `reader_model`, `reader_prompt` and `reader_decoding`, as far as
        the table has them.
    """
    provenance: Provenance = {}
    for name in LASTING:
        if f"reader_{name}" in columns.schema:
            cell = pl.col(f"reader_{name}")
            cell = cell if rows is None else cell.gather(rows)
            cells = columns.collect(cell.unique(maintain_order=True)).to_series()
            if values := [value for value in as_names(cells) if value]:
                provenance[name] = values
    return provenance


def differences(fitted: Provenance, new: Provenance) -> list[str]:
    """List differences of readings from those that a calibrator was fitted on.

    Args:
        fitted: The provenance of its readings.
        new: The provenance of the others.

    Returns:
        A phrase for each difference; none where either is not known.
    """
    phrases = []
    for name in LASTING:
        other = [value for value in new.get(name, []) if value not in fitted.get(name, [])]
        if name in fitted and other:
            was, shown = list_names(fitted[name], 3), list_names(other, 3)
            phrases.append(f"{name} {shown} where the calibrator knows {was}")
    return phrases

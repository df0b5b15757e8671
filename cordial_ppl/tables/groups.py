"""What other columns say of the texts: groups (systems, topics, users), and their readings' origin.

The origin of readings is their provenance: the model, the prompt and the decoding.
"""

from collections.abc import Sequence

import polars as pl

from cordial_ppl.errors import list_names
from cordial_ppl.tables.columns import FIXED, as_names, filled, is_reading, named
from cordial_ppl.tables.frame import ROW, Columns
from cordial_ppl.tables.roles import find_columns

MADE = ("model", "prompt", "decoding", "date")
"""Columns of a reading's provenance, `reader_model`, ..."""

LASTING = MADE[:-1]
"""The part that a calibrator remembers: readings made in another way may have other faults."""

Provenance = dict[str, list[str]]
"""By `LASTING`, the different values there are."""


def read_groups(columns: Columns, by: str, setting: str = "by") -> list[str]:
    """Read the group of every text.

    Args:
        columns: The table.
        by: The column that names groups.
        setting: The setting that names the column, for the message.

    Returns:
        One name a row.

    Raises:
        InputError: A row has no group.
        SettingNeeded: There is no such column.
    """
    words = ("system", "model", "group") if setting == "by" else ()
    (by,) = find_columns(columns, [by], setting, words)
    filled(columns, by, "Give every text one, or leave the text out.")
    return columns.collect(named(by)).to_series().to_list()


def list_cells(columns: Columns, rows: Sequence[int]) -> dict[str, list[str]]:
    """List the cells of every column without a fixed meaning, by its name; an empty one is "".

    Args:
        columns: The table.
        rows: Its rows that are wanted.
    """
    names = [n for n in columns.schema if n not in (*FIXED, *columns.apart) and not is_reading(n)]
    wanted = columns.collect(ROW, *names)[list(rows)].drop(ROW)
    return {cells.name: as_names(cells).to_list() for cells in wanted}


def read_provenance(columns: Columns, rows: Sequence[int] | None = None) -> Provenance:
    """Read the provenance of a table's readings.

    Args:
        columns: The table.
        rows: The rows that count; by default all.

    Returns:
        The different values of `reader_model`, `reader_prompt` and `reader_decoding`, as far as
        the table has them; and `direction`, whether the scale was turned round.
    """
    provenance: Provenance = {"direction": ["reversed" if columns.reverse else "as stated"]}
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
    for name, values in fitted.items():
        other = [value for value in new.get(name, []) if value not in values]
        if other:
            shown = list_names(other, 3), list_names(values, 3)
            phrases.append(f"{name} {shown[0]} where the calibrator knows {shown[1]}")
    return phrases

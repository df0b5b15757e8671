"""Groups of texts: columns that name systems, topics or users."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from jaxtyping import Int64

from cordial_ppl.tables.columns import as_names, filled, is_reading, named
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.labels import LabelTable
from cordial_ppl.tables.readings import ReadingTable

NO_GROUPS = {
    *("item_id", "label", "rating", "reader", "task", "weight"),
    *("stratum", "probability", "order"),
}
"""Columns that have a fixed meaning."""


def read_groups(columns: Columns, by: str) -> list[str]:
    """Read the group of every text.

    Args:
        columns: The table.
        by: The column that names groups.

    Returns:
        One name a row.

    Raises:
        InputError: There is no such column, or a row has no group.
    """
    columns.require(by)
    filled(columns, by, "Give every text one, or leave the text out.")
    return columns.collect(named(by)).to_series().to_list()


def list_grouping(columns: Columns) -> list[str]:
    """List the columns that may group texts: some values, each of several texts."""
    names = [name for name in columns.schema if _is_free(name)]
    counts = columns.collect(pl.len(), *(named(name).n_unique() for name in names)).row(0)
    texts, *sizes = counts
    return [name for name, size in zip(names, sizes, strict=True) if 1 < size <= texts // 2]


def _is_free(name: str) -> bool:
    """Tell a column without a fixed meaning."""
    return name not in NO_GROUPS and not is_reading(name)


def list_groups(
    readings: ReadingTable, rows: Int64[Any, " n"], labels: LabelTable
) -> Mapping[str, Sequence[str]]:
    """List the groups of the labelled texts by every other column of both tables.

    Args:
        readings: The readings.
        rows: The labelled texts among them.
        labels: The labels.

    Returns:
        Cells of the labelled texts by column; an empty one is "".
    """
    groups: dict[str, list[str]] = {}
    for columns, chosen in (
        (labels.columns, range(len(rows))),
        (readings.columns, rows.tolist()),
    ):
        names = filter(_is_free, columns.schema)
        for cells in columns.collect(*(pl.col(name).gather(chosen) for name in names)):
            groups[cells.name] = as_names(cells).to_list()
    return groups

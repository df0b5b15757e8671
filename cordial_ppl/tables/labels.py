"""Tables of labels: one row for each labelled text, found by its `item_id`."""

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64

from cordial_ppl.errors import CordialWarning, InputError, list_names, naming, quote
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables.columns import named, passed_through, read_items, select
from cordial_ppl.tables.files import read_columns
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.readings import ReadingTable, read_readings


@dataclass(frozen=True)
class LabelTable:
    """The labels of a file.

    Attributes:
        columns: The table.
        item_ids: The texts, each once.
        labels: Positions 0..K-1 on the scale, [n].
    """

    columns: Columns
    item_ids: list[str]
    labels: Int64[np.ndarray, " n"]

    @property
    def extras(self) -> dict[str, list]:
        """The cells of every other column, by name, with None for a missing cell."""
        return passed_through(self.columns, ["item_id", "label"])

    def where(self, position: int) -> str:
        """Name the place of a label in the file: "line 7"."""
        return self.columns.where(position)

    def among(self, item_ids: Collection[str]) -> "LabelTable":
        """Keep the labels of some texts."""
        known = set(item_ids)
        kept = [i for i, item in enumerate(self.item_ids) if item in known]
        masks = *self.columns.masks, named("item_id").is_in(list(known))
        items = [self.item_ids[i] for i in kept]
        return LabelTable(replace(self.columns, masks=masks), items, self.labels[kept])


def read_labels(
    path: str | Path, scale: Scale, *, task: str | None = None, kind: str = "rating"
) -> LabelTable:
    """Read the labels of some texts; rows without a label are skipped, and one warning counts them.

    Args:
        path: A .csv, .parquet, .jsonl or .ndjson file with `item_id` and `label`.
        scale: The options that labels are names or positions of.
        task: The task to take, where the file has a column `task`.
        kind: What the readings hold; options that their columns name cannot be renamed otherwise.

    Returns:
        The labels.

    Raises:
        FileError: The file cannot be read or is not what its ending says.
        InputError: A column or a name is missing, an id occurs twice, a label is not
            on the scale, with its row; no row has a label, or there is a column `weight`.
        SettingNeeded: The file holds several tasks, or labels from 1 up where options start at 0.
    """
    columns = read_columns(path)
    columns.require("item_id")
    columns.require("label")
    if "weight" in columns.schema:
        raise InputError(
            f"{path} has a column 'weight', but labels cannot be weighted: every label counts "
            "once. Remove or rename the column."
        )
    columns = select(columns, "task", task if "task" in columns.schema else None)
    columns = _skip_blank(columns)
    items = read_items(columns)
    try:
        with naming(path):
            labels = scale.encode(columns.cells["label"], where=columns.where)
    except SettingNeeded as error:
        if kind == "rating":
            raise
        first, last = error.value[0], error.value[-1]
        raise InputError(
            f"{error.problem} If your scale starts at 1, name the columns of the readings "
            f"{kind}_{first} to {kind}_{last}."
        ) from error
    return LabelTable(columns, items, labels)


def _skip_blank(columns: Columns) -> Columns:
    """Select the rows with a label, and warn of the others."""
    labelled = replace(
        columns, masks=(*columns.masks, ~named("label").str.to_lowercase().is_in(["", "nan"]))
    )
    blank = len(columns) - len(labelled)
    if blank and not len(labelled):
        raise InputError(
            f"{columns.path} has no label: column 'label' is empty in all {blank} rows."
        )
    if blank:
        warnings.warn(
            f"{columns.path}: {blank} of {len(columns)} rows have no label yet and are skipped.",
            CordialWarning,
            stacklevel=3,
        )
    return labelled


def read_labelled(
    readings: Path, labels: Path, *, task: str | None = None, **chosen: Any
) -> tuple[ReadingTable, LabelTable]:
    """Read readings and labels; raise what `read_readings` and `read_labels` raise.

    Args:
        readings: The table of readings.
        labels: The table of labels.
        task: The task to take.
        chosen: The `options` and the `reader` to take.
    """
    table = read_readings(readings, task=task, **chosen)
    return table, read_labels(labels, table.scale, task=task, kind=table.kind)


def match_labels(readings: ReadingTable, labels: LabelTable) -> Int64[np.ndarray, " n"]:
    """Find the reading of each labelled text.

    Args:
        readings: The readings.
        labels: The labels.

    Returns:
        Positions in `readings`, one a label.

    Raises:
        InputError: A label belongs to no text of the readings.
    """
    positions = {item: i for i, item in enumerate(readings.item_ids)}
    unknown = [i for i, item in enumerate(labels.item_ids) if item not in positions]
    if unknown:
        shown = ", ".join(f"{quote(labels.item_ids[i])} ({labels.where(i)})" for i in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise InputError(
            f"{len(unknown)} of {len(labels.item_ids)} labels are for items without a reading: "
            f"{shown}{more}. The readings have items such as {list_names(readings.item_ids, 2)}: "
            "write them alike, or remove these labels."
        )
    return np.array([positions[item] for item in labels.item_ids], np.int64)

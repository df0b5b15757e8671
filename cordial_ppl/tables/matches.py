"""Matching: labels and the readings of their texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from jaxtyping import Int64

from cordial_ppl.errors import InputError, SettingNeeded, as_path, list_names, quote, warn
from cordial_ppl.tables.formats import read_columns
from cordial_ppl.tables.label_table import LabelTable, read_labels
from cordial_ppl.tables.proposals import spell
from cordial_ppl.tables.reading_table import ReadingTable, read_readings


def read_labelled(
    readings: Path,
    labels: Path,
    *,
    apart: Sequence[str] = (),
    sparse: bool = False,
    **chosen: Any,
) -> tuple[ReadingTable, LabelTable, Int64[np.ndarray, " n"]]:
    """Read readings and labels, and find the reading of each labelled text.

    Args:
        readings: The table of readings.
        labels: The table of labels.
        apart: Columns that are named for something else, and are nothing else. In one table of
            both, columns of ratings and of labels are kept apart.
        sparse: Whether the reader may have read few of the labelled texts, as others did.
        chosen: Other arguments of `open_readings` and of `read_labels`; `task`, `id` and `round`
            hold for both tables.

    Returns:
        The readings, the labels of texts that have one, and their positions in the readings.

    Raises:
        InputError: As `read_readings`, `read_labels` and `match_labels` raise.
    """
    both = {name: chosen.pop(name) for name in ("task", "id", "round") if name in chosen}
    of_readings = {n: chosen.pop(n) for n in ("options", "reader", "rating") if n in chosen}
    rating, label = of_readings.get("rating"), chosen.get("label") or ["label"]
    rated, told = [*apart], [*apart]
    if as_path(readings) == as_path(labels):
        if rating in label:
            raise InputError(f"{readings}: column {rating!r} cannot be ratings and labels in one.")
        rated += filter(None, (*label, chosen.get("annotator")))
        told += filter(None, (rating,))
    try:
        table = read_readings(readings, **of_readings, **both, apart=rated)
    except SettingNeeded as error:
        if error.setting != "rating" or not rating or not spell(read_columns(labels), rating):
            raise
        raise InputError(f"{error.problem} {labels} has it: name that file first.") from error
    if {"mean_low", "label_low"} <= {*table.columns.schema}:
        warn(
            f"{readings} holds calibrated probabilities: if they were fitted to these labels, all "
            "that follows looks better than it is. Take the judge's own readings, or other labels."
        )
    labelled = read_labels(labels, table.scale, **chosen, **both, apart=told)
    if sparse:
        items = {*table.item_ids}
        labelled = labelled.take([i for i, item in enumerate(labelled.item_ids) if item in items])
    return table, *match_labels(table, labelled)


def match_labels(
    readings: ReadingTable, labels: LabelTable
) -> tuple[LabelTable, Int64[np.ndarray, " n"]]:
    """Find the reading of each labelled text; those without one are left out with a warning.

    Args:
        readings: The readings.
        labels: The labels.

    Returns:
        The labels of texts with a reading, and the positions of these in `readings`.

    Raises:
        InputError: More than half of the labels belong to no text of the readings.
    """
    if not labels.item_ids:
        raise InputError(f"{labels.columns.path}: none of the labelled texts has a reading.")
    # An accent may be a character of its own in one file, and part of its letter in the other.
    index = {normalize("NFC", item): row for row, item in enumerate(readings.item_ids)}
    index |= {item: row for row, item in enumerate(readings.item_ids)}
    places = (index.get(item, index.get(normalize("NFC", item), -1)) for item in labels.item_ids)
    rows = np.fromiter(places, np.int64)
    unknown = np.flatnonzero(rows < 0)
    if not unknown.size:
        return labels, rows
    where = labels.columns.where
    shown = ", ".join(f"{quote(labels.item_ids[i])} ({where(int(i))})" for i in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    problem = f"{len(unknown)} of {len(rows)} labels are for items without a reading"
    if 2 * len(unknown) > len(rows):
        raise InputError(
            f"{labels.columns.path}: {problem}: {shown}{more}. {readings.columns.path} has items "
            f"such as {list_names(readings.item_ids, 2)}: use the same ids in both, or remove "
            "these labels."
        )
    warn(f"{labels.columns.path}: {problem} and are left out: {shown}{more}.")
    return labels.take(np.flatnonzero(rows >= 0)), rows[rows >= 0]

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
from cordial_ppl.tables.proposals import proposing_all, spell
from cordial_ppl.tables.reading_table import ReadingTable, read_readings


@proposing_all
def read_labelled(
    readings: Path,
    labels: Path,
    *,
    options: Any = None,
    reader: str | None = None,
    task: str | None = None,
    id: Sequence[str] = (),
    rating: str | None = None,
    round: str | None = None,
    apart: Sequence[str] = (),
    sparse: bool = False,
    **labelling: Any,
) -> tuple[ReadingTable, LabelTable, Int64[np.ndarray, " n"]]:
    """Read readings and labels, and find the reading of each labelled text.

    Args:
        readings: The table of readings.
        labels: The table of labels.
        options: The options, as `read_readings` takes them.
        reader: The reader to take.
        task: The task to take.
        id: Other names of the column `item_id`.
        rating: The column of hard ratings.
        round: How ratings and labels between options are rounded.
        apart: Columns that are named for something else, and are nothing else. In one table of
            both, columns of ratings and of labels are kept apart.
        sparse: Whether the reader may have read few of the labelled texts, as others did.
        labelling: Other arguments of `read_labels`.

    Returns:
        The readings, the labels of texts that have one, and their positions in the readings.

    Raises:
        InputError: As `read_readings`, `read_labels` and `match_labels` raise.
    """
    columns: dict[str, Any] = {"task": task, "id": id, "round": round}
    rated, told = list(apart), list(apart)
    if as_path(readings) == as_path(labels):
        if rating in (labelling.get("label") or ["label"]):
            raise InputError(f"{readings}: column {rating!r} cannot be ratings and labels in one.")
        rated += filter(None, (*(labelling.get("label") or ()), labelling.get("annotator")))
        told += filter(None, (rating,))
    chosen = {"options": options, "reader": reader, "rating": rating}
    try:
        table = read_readings(readings, **chosen, **columns, apart=rated)
    except SettingNeeded as error:
        if error.setting != "rating" or not rating or not spell(read_columns(labels), rating):
            raise
        raise InputError(f"{error.problem} {labels} has it: name that file first.") from error
    if {"mean_low", "label_low"} <= {*table.columns.schema}:
        warn(
            f"{readings} holds calibrated probabilities: if they were fitted to these labels, all "
            "that follows looks better than it is. Take the judge's own readings, or other labels."
        )
    labelled = read_labels(labels, table.scale, **columns, **labelling, apart=told)
    if sparse:
        labelled = labelled.among(table.item_ids)
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
    index = {item: row for row, item in enumerate(readings.item_ids)}
    rows = np.array([index.get(item, -1) for item in labels.item_ids], np.int64)
    unknown = np.flatnonzero(rows < 0)
    if not unknown.size:
        return labels, rows
    where = labels.columns.where
    shown = ", ".join(f"{quote(labels.item_ids[i])} ({where(int(i))})" for i in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    problem = f"{len(unknown)} of {len(rows)} labels are for items without a reading"
    composed = {normalize("NFC", item): item for item in readings.item_ids}
    spelt = (labels.item_ids[i] for i in unknown)
    alike = next((item for item in spelt if normalize("NFC", item) in composed), None)
    if alike is not None:
        problem += (
            f" ({quote(alike)} is in both files, with accents in one character here and in two "
            "there: normalise the ids to NFC)"
        )
    if 2 * len(unknown) > len(rows):
        raise InputError(
            f"{problem}: {shown}{more}. The readings have items such as "
            f"{list_names(readings.item_ids, 2)}: use the same ids in both files, or remove "
            "these labels."
        )
    warn(f"{labels.columns.path}: {problem} and are left out: {shown}{more}.")
    return labels.take(np.flatnonzero(rows >= 0)), rows[rows >= 0]

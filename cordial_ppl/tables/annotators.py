"""Annotators: several labels of a text, in rows or in columns, and one label made of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from jaxtyping import Float64, Int64

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, name_rows, quote
from cordial_ppl.tables.columns import FIXED, named
from cordial_ppl.tables.frame import ROW, Columns
from cordial_ppl.tables.proposals import PERSONAL, UNKNOWN, find_columns, nearest

COMBINATIONS = ("each", "mean", "median")
"""Treatments of several labels of a text."""

PREFIX = "label_"
"""How the columns of annotators begin, where there is no column `label`."""

STATISTICS = {"mean", "median", "majority", "std", "sd", "var", "min", "max", "low", "high", "n"}
"""Endings of columns that hold statistics of labels, and none of an annotator."""

LABELS = ("score", "rating", *PERSONAL, "annotation", "grade", "mark", "value")
PEOPLE = ("rater", "worker", "coder", "expert", "reviewer", "evaluator", "person", "judge", "who")
"""Other names that columns of labels and of annotators may have."""


def lay_out(columns: Columns, label: Sequence[str] = (), annotator: str | None = None) -> Columns:
    """Lay a table out in one row per label, with a column `label`.

    Args:
        columns: The table.
        label: The columns of labels, one for each annotator; by default `label`, or those that
            begin with `label_`.
        annotator: The column that names annotators, if any.

    Returns:
        The table; where there were several columns of labels, a column `annotator` names them.

    Raises:
        InputError: Annotators are named in two ways.
        SettingNeeded: There is no such column of labels.
    """
    names = tuple(label) or ("label",)
    if not label and "label" not in columns.schema:
        prefixed = [name for name in columns.schema if name.startswith(PREFIX)]
        people = [name for name in prefixed if name.removeprefix(PREFIX) not in STATISTICS]
        names = tuple(people) if len(people) > 1 else names
    names = find_columns(columns, names, "label", LABELS)
    if len(names) == 1:
        return columns.rename(names[0], "label")
    if "label" in columns.schema and "label" not in names:
        columns = columns.rename("label", "input_label")
    rest = [name for name in (*columns.schema, ROW) if name not in names]
    if annotator is not None or "annotator" in rest:
        raise InputError(
            f"{columns.path}: labels are in columns of annotators, {list_names(names)}, or in one "
            "column `label` with a column `annotator`; found both."
        )
    prefixed = all(name.startswith(PREFIX) for name in names)
    people = [name.removeprefix(PREFIX) if prefixed else name for name in names]
    frame = columns.frame.select(*rest, *map(named, names)).unpivot(
        names, index=rest, variable_name="annotator", value_name="label"
    )
    frame = frame.with_columns(pl.col("annotator").replace(names, people))
    return replace(columns, frame=frame.sort(ROW, maintain_order=True))


def read_annotators(
    columns: Columns, items: Sequence[str], annotator: str | None = None
) -> list[str] | None:
    """Read the annotator of every label.

    Args:
        columns: The table, one row per label.
        items: The texts, one per row.
        annotator: The column; by default `annotator`, or else `user`.

    Returns:
        Their names, one per row; None if there is no such column and each text has one label.

    Raises:
        InputError: Somebody labels a text twice.
        SettingNeeded: There is no such column, or texts have several labels and no annotators.
    """
    if annotator is not None:
        (annotator,) = find_columns(columns, [annotator], "annotator", PEOPLE)
    free = [n for n in ("annotator", "user") if n in columns.schema and n not in columns.apart]
    name = annotator or next(iter(free), None)
    people = None if name is None else columns.collect(named(name)).to_series().to_list()
    keys = [*zip(items, people or [""] * len(items), strict=True)]
    counts = Counter(keys)
    repeated = next((key for key in keys if counts[key] > 1), None)
    if repeated is None:
        return people
    item, person = map(quote, repeated)
    lines = name_rows([row for row, key in enumerate(keys) if key == repeated], columns.where)
    if people is not None:
        raise InputError(
            f"{columns.path}: an annotator labels a text once; {person} labels {item} in {lines}. "
            "Keep one of these rows."
        )
    raise SettingNeeded(
        f"{columns.path}: each item_id must be unique; {item} is in {lines}.",
        "Keep one of these rows, or name the column that says which person a label is of",
        "annotator",
        nearest("annotator", [n for n in columns.schema if n not in FIXED], PEOPLE) or UNKNOWN[0],
    )


def combine(
    items: Sequence[str],
    positions: Float64[np.ndarray, " n"],
    weights: Float64[np.ndarray, " n"],
    scale: Scale,
    how: str,
) -> tuple[Int64[np.ndarray, " m"], Float64[np.ndarray, " m"], Float64[np.ndarray, " m"]]:
    """Make one label of those that a text has.

    Args:
        items: The text of each label.
        positions: The labels, positions 0..K-1 on the scale.
        weights: How much each counts among those of its text.
        scale: The options, whose numbers are averaged.
        how: "mean" or "median".

    Returns:
        The first row of each text, its label as a position that may lie between options, and the
        mean weight of its labels.

    Raises:
        InputError: There is no such way.
    """
    if how not in COMBINATIONS[1:]:
        raise InputError(f"annotators must be one of {', '.join(COMBINATIONS)}; got {how!r}.")
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item, []).append(row)
    numbers, values = scale.at(positions), []
    for index in rows.values():
        labels, counts = numbers[index], weights[index]
        # A median lies in the middle between two values with half of the weight each.
        middle = 0.5 + np.array([-1e-12, 1e-12])
        label = (
            np.average(labels, weights=counts)
            if how == "mean"
            else np.quantile(labels, middle, weights=counts, method="inverted_cdf").mean()
        )
        # A mean of equal numbers may differ from them by rounding.
        values.append(float(np.clip(label, labels.min(), labels.max())))
    first = np.array([index[0] for index in rows.values()], np.int64)
    means = np.array([weights[index].mean() for index in rows.values()])
    return first, scale.locate(values), means

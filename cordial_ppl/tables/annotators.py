"""Several labels of a text: whose each is, in rows or in columns, and one label made of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from jaxtyping import Float64, Int64

from cordial_ppl.errors import InputError, list_names, name_rows, quote
from cordial_ppl.scale import Scale, SettingNeeded
from cordial_ppl.tables.choices import guess, lacking
from cordial_ppl.tables.columns import list_distinct, named
from cordial_ppl.tables.frame import ROW, Columns

COMBINATIONS = ("each", "mean", "median")
"""What is done with several labels of a text."""

PREFIX = "label_"
"""How the columns of annotators begin, where there is no column `label`."""

NOBODY = {"mean", "median", "majority", "std", "sd", "var", "min", "max", "low", "high", "n"}
"""What else may follow: statistics are no annotators."""

LABELS = ("score", "rating", "human", "gold", "grade", "mark", "annotation", "human_label", "value")
PEOPLE = ("rater", "worker", "coder", "expert", "reviewer", "evaluator", "person", "judge", "who")
"""Other names that columns of labels and of annotators may have."""


def lay_out(
    columns: Columns, scale: Scale, label: Sequence[str] = (), annotator: str | None = None
) -> Columns:
    """Lay a table out in one row a label, with a column `label`.

    Args:
        columns: The table.
        scale: The options.
        label: The columns of labels, one for each annotator; by default `label`, or those that
            begin with `label_`.
        annotator: The column that names annotators, if any.

    Returns:
        The table; where there were several columns of labels, a column `annotator` names them.

    Raises:
        InputError: There is no such column, or annotators are named in two ways.
        SettingNeeded: Another column may be meant.
    """
    names = tuple(label)
    if not names and "label" not in columns.schema:
        own = (name for name in columns.schema if name.startswith(PREFIX))
        names = tuple(name for name in own if name.removeprefix(PREFIX) not in NOBODY)
        names = names if len(names) > 1 else ("label",)
    for name in names:
        if name not in columns.schema:
            meant = guess(columns, name, LABELS) or _find_labels(columns, scale)
            raise lacking(columns, name, "label", meant)
    if len(names) < 2:
        return columns.rename(names[0], "label") if names and names[0] != "label" else columns
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


def _find_labels(columns: Columns, scale: Scale) -> str | None:
    """The first column whose cells are all options, or between two."""
    for name in columns.schema:
        cells = [cell for cell in list_distinct(columns, name) if cell]
        try:
            scale.locate(cells)
        except InputError:
            continue
        return name
    return None


def read_annotators(
    columns: Columns, items: Sequence[str], annotator: str | None = None
) -> list[str] | None:
    """Read who gave each label.

    Args:
        columns: The table, one row a label.
        items: The texts, one a row.
        annotator: The column; by default `annotator`, or else `user`.

    Returns:
        Their names, one a row; None if there is no such column and each text has one label.

    Raises:
        InputError: There is no such column, or somebody labels a text twice.
        SettingNeeded: Texts have several labels, and another column seems to say whose.
    """
    if annotator is not None and annotator not in columns.schema:
        raise lacking(columns, annotator, "annotator", guess(columns, annotator, PEOPLE))
    name = annotator or next((n for n in ("annotator", "user") if n in columns.schema), None)
    people = None if name is None else columns.collect(named(name)).to_series().to_list()
    again = _find_repeat(items, people)
    if not again:
        return people
    places, item = name_rows(again, columns.where), quote(items[again[0]])
    if people is not None:
        raise InputError(
            f"{columns.path}: an annotator labels a text once; {quote(people[again[0]])} labels "
            f"{item} in {places}."
        )
    problem = f"{columns.path}: an item_id must occur once; {item} is in {places}."
    advice = "If several people label a text, name the column that says whose a label is"
    likely = guess(columns, "annotator", PEOPLE)
    used = "item_id", "label", "weight"
    for other in filter(None, (likely, *columns.schema)):
        names = columns.collect(named(other)).to_series().to_list()
        if other not in used and not _find_repeat(items, names) and len(set(names)) < len(names):
            raise SettingNeeded(problem, advice, "annotator", other)
    raise InputError(f"{problem} {advice}, --annotator COLUMN.")


def _find_repeat(items: Sequence[str], people: Sequence[str] | None) -> list[int]:
    """The rows of the first text that one person labels more than once."""
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(items, people or [""] * len(items), strict=True)):
        rows.setdefault(key, []).append(row)
    return next((found for found in rows.values() if len(found) > 1), [])


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
    numbers = scale.at(positions)
    middle = np.average if how == "mean" else _median
    # A mean of equal numbers may differ from them by rounding.
    found = [
        float(np.clip(middle(own, weights=weights[of]), own.min(), own.max()))
        for of in rows.values()
        for own in [numbers[of]]
    ]
    counts = np.array([weights[own].mean() for own in rows.values()])
    first = np.array([own[0] for own in rows.values()], np.int64)
    return first, scale.locate(found), counts


def _median(values: Float64[np.ndarray, " n"], weights: Float64[np.ndarray, " n"]) -> float:
    """Weighted median, the middle between two values where half of the weight is on either side."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    first, last = np.searchsorted(below, 0.5 - 1e-12), np.searchsorted(below, 0.5 + 1e-12)
    return float(values[order[[first, last]]].mean())

"""Several labels of a text: whose each is, in rows or in columns, and one label made of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from jaxtyping import Float64, Int64

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, name_rows, quote
from cordial_ppl.tables.choices import lacking, nearest
from cordial_ppl.tables.columns import PREFIXES, list_distinct, named
from cordial_ppl.tables.frame import ROW, Columns

COMBINATIONS = ("each", "mean", "median")
"""What is done with several labels of a text."""

BLANK = {"", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"}
"""Cells without a label, in small letters, unless an option has the name."""

OTHERS = {
    *("item_id", "annotator", "user", "reader", "task", "weight", "weights"),
    *("stratum", "probability", "order"),
}
"""Columns that hold no labels, though numbers in them may be options."""

PREFIX = "label_"
"""How the columns of annotators begin, where there is no column `label`."""

NOBODY = {"mean", "median", "majority", "std", "sd", "var", "min", "max", "low", "high", "n"}
"""What else may follow: statistics are no annotators."""

HUMAN = ("human", "gold", "expert", "label", "annotation")
"""Words in the names of people's labels, wherever these stand."""

LABELS = ("score", "rating", *HUMAN, "grade", "mark", "human_label", "value")
PEOPLE = ("rater", "worker", "coder", "expert", "reviewer", "evaluator", "person", "judge", "who")
"""Other names that columns of labels and of annotators may have."""


def lay_out(columns: Columns, label: Sequence[str] = (), annotator: str | None = None) -> Columns:
    """Lay a table out in one row a label, with a column `label`.

    Args:
        columns: The table.
        label: The columns of labels, one for each annotator; by default `label`, or those that
            begin with `label_`.
        annotator: The column that names annotators, if any.

    Returns:
        The table; where there were several columns of labels, a column `annotator` names them.

    Raises:
        InputError: Annotators are named in two ways.
    """
    names = _list_labels(columns, label)
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


def find_missing(
    columns: Columns, scale: Scale, label: Sequence[str] = (), used: Sequence[str] = ()
) -> InputError | None:
    """Find out whether a column of labels is missing.

    Args:
        columns: The table.
        scale: The options.
        label: The columns of labels, as `lay_out` takes them.
        used: Columns that are something else.

    Returns:
        The error, which offers the columns that may be meant; None if none is missing.
    """
    name = next((n for n in _list_labels(columns, label) if n not in columns.schema), None)
    if name is None:
        return None
    if len(label) > 1:
        meant = nearest(name, columns.schema, LABELS)
        others = tuple(meant if n == name and meant else n for n in label)
        return lacking(columns, name, "label", others if meant and meant not in label else None)
    own = _find_labels(columns, scale, used)
    # A column that is called nearly so may be one of several people's.
    others = [n for n in columns.schema if n not in (*OTHERS, *used)]
    meant = nearest(name, others, LABELS, near=len(own) < 2) or (own[0] if len(own) == 1 else own)
    return lacking(columns, name, "label", meant or None)


def _list_labels(columns: Columns, label: Sequence[str]) -> tuple[str, ...]:
    """The columns of labels, which need not be there."""
    if label or "label" in columns.schema:
        return tuple(label)
    own = (name for name in columns.schema if name.startswith(PREFIX))
    names = tuple(name for name in own if name.removeprefix(PREFIX) not in NOBODY)
    return names if len(names) > 1 else ("label",)


def _find_labels(columns: Columns, scale: Scale, used: Sequence[str]) -> tuple[str, ...]:
    """The columns whose cells are all options, or between two."""
    found = []
    for name in columns.schema:
        if name in (*OTHERS, *used) or name.startswith(PREFIXES):
            continue
        blank = list_blank(scale)
        cells = [cell for cell in list_distinct(columns, name) if cell.lower() not in blank]
        try:
            scale.locate(cells)
        except InputError:
            continue
        found.append(name)
    return tuple(found)


def list_blank(scale: Scale) -> list[str]:
    """List what stands in a cell without a label, in small letters."""
    return [name for name in BLANK if scale.named(name) is None]


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
        raise lacking(columns, annotator, "annotator", nearest(annotator, columns.schema, PEOPLE))
    name = annotator or next((n for n in ("annotator", "user") if n in columns.schema), None)
    people = None if name is None else columns.collect(named(name)).to_series().to_list()
    again = _find_repeat(items, people)
    if not again:
        return people
    places, item = name_rows(again, columns.where), quote(items[again[0]])
    same = all(len({repr(cells[row]) for row in again}) == 1 for cells in columns.cells.values())
    remedy = "These rows are alike: keep one." if same else "Keep one of these rows."
    if people is not None:
        raise InputError(
            f"{columns.path}: an annotator labels a text once; {quote(people[again[0]])} labels "
            f"{item} in {places}. {remedy}"
        )
    problem = f"{columns.path}: an item_id must occur once; {item} is in {places}."
    if same:
        raise InputError(
            f"{problem} {remedy} If they are of two people, add a column `annotator` that says "
            "whose a label is."
        )
    advice = "If several people label a text, name the column that says whose a label is"
    likely = nearest("annotator", columns.schema, PEOPLE)
    used = "item_id", "label", "weight"
    for other in filter(None, (likely, *columns.schema)):
        names = columns.collect(named(other)).to_series().to_list()
        shared = other == likely or len(set(names)) < len(names)
        if other not in used and shared and not _find_repeat(items, names):
            raise SettingNeeded(problem, advice, "annotator", other)
    raise InputError(
        f"{problem} If several people label a text, add a column `annotator` that says whose a "
        "label is; if not, keep one of these rows."
    )


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

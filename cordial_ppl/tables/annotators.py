"""Annotators: several labels of a text, in rows or in columns."""

from collections import Counter
from collections.abc import Sequence

import polars as pl

from cordial_ppl.data.checks import warn_of_lookalikes
from cordial_ppl.errors import InputError, SettingNeeded, list_names, name_rows, quote
from cordial_ppl.tables.columns import FIXED, list_filled, named, unpivot
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.roles import PERSONAL, PLACEHOLDER, find_columns, nearest

PREFIX = "label_"
"""How the columns of annotators begin, where there is no column `label`."""

STATISTICS = {
    *"mean median mode majority average avg std sd var min max low high n count sum".split(),
    *"final gold consensus agreed adjudicated".split(),
}
"""Endings of columns that hold statistics or one decision on labels, and none of an annotator."""

LABELS = ("score", "rating", *PERSONAL, "annotation", "grade", "mark", "value")
PEOPLE = ("rater", "worker", "coder", "expert", "reviewer", "evaluator", "person", "who")
"""Other names that columns of labels and of annotators may have."""


def lay_out(columns: Columns, label: Sequence[str] = (), annotator: str | None = None) -> Columns:
    """Lay a table out in one row per label, with a column `label`.

    Args:
        columns: The table.
        label: The columns of labels, one for each annotator; by default `label`, or, if there
            is none or it is empty, those that begin with `label_`.
        annotator: The column that names annotators, if any.

    Returns:
        The table; where there were several columns of labels, a column `annotator` names them.

    Raises:
        InputError: Annotators are named in two ways.
        SettingNeeded: There is no such column of labels, or `label` lacks some of the labels.
    """
    fixed = FIXED | {PREFIX + word for word in STATISTICS}
    people = [name for name in columns.schema if name.startswith(PREFIX) and name not in fixed]
    cells = {*list_filled(columns, "label")} if "label" in columns.schema else set[str]()
    if not label and cells:
        # Beside others may stand who gave a label, or why.
        alike = [name for name in people if cells & {*list_filled(columns, name)}]
        empty, *others = (named(name) == "" for name in ("label", *alike))
        if len(others) > 1 and columns.collect((empty & ~pl.all_horizontal(others)).any()).item():
            listed = list_names(alike)
            problem = f"{columns.path}: column 'label' is empty in rows where {listed} have labels."
            advice = "Name 'label' to use it alone, or all columns with labels"
            raise SettingNeeded(problem, advice, "label", tuple(alike))
    names: Sequence[str] = label or (["label"] if cells or len(people) < 2 else people)
    names = find_columns(columns, names, "label", LABELS)
    if len(names) == 1:
        return columns.rename(names[0], "label")
    if "label" in columns.schema and "label" not in names:
        columns = columns.rename("label", "input_label")
    if annotator is not None or "annotator" in columns.schema:
        raise InputError(
            f"{columns.path} has one label column per annotator ({list_names(names)}) and also a "
            "column that names annotators. Use only one of these two layouts."
        )
    prefixed = all(name.startswith(PREFIX) for name in names)
    people = {name: name.removeprefix(PREFIX) if prefixed else name for name in names}
    return unpivot(columns, people, "annotator", "label")


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
    name = annotator or next((n for n in ("annotator", "user") if n in columns.free), None)
    people = None if name is None else columns.collect(named(name)).to_series().to_list()
    warn_of_lookalikes("annotators", people or ())
    keys = [*zip(items, people or [""] * len(items), strict=True)]
    repeated = next((key for key, times in Counter(keys).items() if times > 1), None)
    if repeated is None:
        return people
    item, person = map(quote, repeated)
    lines = name_rows([row for row, key in enumerate(keys) if key == repeated], columns.where)
    if people is not None:
        problem = f"{columns.path}: annotator {person} labelled {item} several times ({lines})."
        raise InputError(f"{problem} Keep one.")
    name = nearest("annotator", [name for name in columns.schema if name not in FIXED], PEOPLE)
    people = [] if name is None else columns.collect(named(name)).to_series()
    tells = len({*zip(items, people, strict=False)}) == len(items)
    unique = f"each {columns.origin.get('item_id', 'item_id')} must be unique"
    problem = f"{columns.path}: {unique}; {item} is in {lines}."
    advice = "Keep only one of these rows, or specify the annotator column"
    raise SettingNeeded(problem, advice, "annotator", name if name and tells else PLACEHOLDER)

"""Which columns of a table are readings, and which scale they name."""

from typing import Any

import polars as pl

from cordial_ppl.errors import InputError, list_names
from cordial_ppl.scale import Scale, SettingNeeded, in_order
from cordial_ppl.tables.columns import KINDS, is_reading, list_distinct
from cordial_ppl.tables.frame import Columns

EXAMPLE = "Name the options in order, for example"


def find_layout(columns: Columns, options: Any = None) -> tuple[Scale, str, tuple[str, ...]]:
    """Find the one group of readings that a table holds, and the scale.

    Where rows were selected, columns without a value in any of them do not count: they hold the
    options of another task, or the readings of another reader.

    Args:
        columns: The table.
        options: The names in the scale's order; by default the columns' order in the file. A
            column `rating` needs them.

    Returns:
        The scale, the kind of the readings ("logit", "logprob", "p", "n" or "rating") and their
        columns in the scale's order.

    Raises:
        InputError: There is no group of readings or more than one, there are fewer than two
            options, or `options` does not name the columns.
        SettingNeeded: `options` is needed and not given.
    """
    empty = _find_empty(columns)
    groups: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for name in columns.schema:
        kind, _, option = name.partition("_")
        if kind in groups and _:
            groups[kind][option.strip()] = name
    if "rating" in columns.schema:
        groups["rating"] = {"": "rating"}
    found = {kind: group for kind, group in groups.items() if set(group.values()) - empty}
    if len(found) != 1:
        several = " and ".join(list_names(g.values(), shown=3) for g in found.values())
        raise InputError(
            f"{columns.path} must have one group of columns logit_, logprob_, p_ or n_, or "
            f"`rating`; found {several or list_names(columns.schema)}."
            + (" Remove or rename all but one group." if found else "")
        )
    ((kind, group),) = found.items()
    size = options.size if isinstance(options, Scale) else len(options or ())
    scale = None if options is None else Scale.of(options, size=size)
    if kind == "rating":
        if scale is None:
            problem = "a column 'rating' does not say which ratings were possible; found"
            seen = list_names(sorted(filter(None, list_distinct(columns, "rating"))))
            text = f"{columns.path}: {problem} {seen}."
            raise SettingNeeded(text, EXAMPLE, "options", ("1", "2", "3"))
        return scale, kind, ("rating",)
    spoken = {option: name for option, name in group.items() if name not in empty}
    scale = scale or _scale_of(columns, spoken)
    if spoken.keys() | (group.keys() & set(scale.options)) != set(scale.options):
        raise InputError(
            f"options must name the columns of {columns.path}; the options are "
            f"{list_names(scale.options)}, the columns {list_names(group.values())}."
        )
    return scale, kind, tuple(group[option] for option in scale.options)


def _find_empty(columns: Columns) -> set[str]:
    """The columns of readings without a value in the selected rows."""

    def some(name: str) -> pl.Expr:
        cell = pl.col(name)
        text = columns.schema[name] == pl.String
        return (cell.str.strip_chars() != "" if text else cell.is_not_null()).any()

    names = [name for name in columns.schema if is_reading(name)] if columns.masks else []
    filled = columns.collect(*map(some, names)).row(0) if names else ()
    return {name for name, any_filled in zip(names, filled, strict=True) if not any_filled}


def _scale_of(columns: Columns, spoken: dict[str, str]) -> Scale:
    """The options that the columns with a value name."""
    names = list_names(spoken.values())
    if len(spoken) < 2:
        raise InputError(
            f"{columns.path} must have the columns of at least two options, with values in the "
            f"rows chosen; found {names}."
        )
    ordered = in_order(tuple(spoken))
    if ordered != tuple(spoken):
        problem = f"{columns.path}: the columns {names} are of numbers that neither rise nor fall."
        raise SettingNeeded(problem, EXAMPLE, "options", ordered)
    return Scale(tuple(spoken))

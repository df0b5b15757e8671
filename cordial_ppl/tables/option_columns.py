"""Layout of a table of readings: their columns, and the scale that these name."""

from dataclasses import replace
from typing import Any

import numpy as np

from cordial_ppl.data.containers import ordered_categories
from cordial_ppl.data.numerals import in_order, is_counting, parse_number
from cordial_ppl.data.ratings import scale_of_ratings
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming, warn
from cordial_ppl.tables.columns import BLANK, as_names, is_reading, list_distinct
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.proposals import propose_ratings


def find_layout(columns: Columns, options: Any = None) -> tuple[Scale, str, tuple[str, ...]]:
    """Find the one group of readings that a table holds, and the scale.

    Where rows were selected, columns without a value in any of them do not count: they hold the
    options of another task, or the readings of another reader.

    Args:
        columns: The table.
        options: The names in the scale's order; by default the columns' order in the file. A
            column `rating` needs them. Columns that are numbered in order may get other names, and
            an option without a column, which no text has a reading of, one warning; a `Scale` may
            only give words for numbers.

    Returns:
        The scale, the kind of the readings ("logit", "logprob", "p", "n" or "rating") and their
        columns in the scale's order.

    Raises:
        InputError: There is no group of readings or more than one, there are fewer than two
            options, or `options` does not name the columns.
        SettingNeeded: `options` is needed and not given, or a column of ratings has another name.
    """
    kind, group, filled = _find_group(columns)
    if kind == "rating":
        return _scale_of_ratings(columns, options), kind, ("rating",)
    names, changing = tuple(filled), not isinstance(options, Scale)
    if options is None:
        return _scale_of(columns, filled), kind, tuple(filled.values())
    scale = Scale.of(options)
    if {*names} <= {*scale.aliases} <= {*group}:
        return scale, kind, tuple(group[alias] for alias in scale.aliases)
    matches = {k: name for option, name in group.items() if (k := scale.named(option)) is not None}
    absent = [option for k, option in enumerate(scale.options) if k not in matches]
    if {*filled.values()} <= {*matches.values()} and (not absent or changing and len(names) > 1):
        if absent:
            problem = f"{columns.path} has no column for {list_names(absent)}"
            warn(f"{problem}: no text has such a reading.")
        named = enumerate(scale.options)
        return scale, kind, tuple(matches.get(k, f"{kind}_{option}") for k, option in named)
    if _can_rename(names, scale, changing):
        return replace(scale, aliases=names), kind, tuple(filled.values())
    problem = (
        f"{columns.path} has columns of other options: the options are "
        f"{list_names(scale.options)}, the columns {list_names(group.values())}."
    )
    advice = "Name those of the columns, in order" if changing else "Fit a calibrator to this table"
    raise InputError(f"{problem} {advice}, or take another table.")


def _find_group(columns: Columns) -> tuple[str, dict[str, str], dict[str, str]]:
    """Find the kind of the readings, and their columns by option: all, and those with values."""
    cells = columns.collect(*filter(is_reading, columns.schema)) if columns.masks else ()
    empty = {column.name for column in cells if (as_names(column) == "").all()}
    groups: dict[str, dict[str, str]] = {}
    for name in columns.schema:
        kind, _, option = name.partition("_")
        if name not in columns.apart and is_reading(name):
            groups.setdefault(kind, {})[option.strip()] = name
    filled = {kind: group for kind, group in groups.items() if {*group.values()} - empty}
    if len(filled) == 1:
        ((kind, group),) = filled.items()
        return kind, group, {option: name for option, name in group.items() if name not in empty}
    several = " and ".join(list_names(group.values(), shown=3) for group in filled.values())
    problem = (
        f"{columns.path} must have one group of columns logit_, logprob_, p_ or n_, or "
        f"`rating`; found {several or columns.listed}."
    )
    if filled:
        raise InputError(f"{problem} Remove or rename all but one group.")
    if "label" in columns.schema:
        problem += " It has labels: the table of readings comes first, then that of labels."
    raise propose_ratings(problem, columns)


def _can_rename(names: tuple[str, ...], scale: Scale, free: bool) -> bool:
    """Tell a scale whose options are other names of the columns, in their order.

    Words may stand for numbers without a gap; such numbers for words or others only where free.
    """
    if len(names) != scale.size:
        return False
    old, new = ([parse_number(name) for name in group] for group in (names, scale.options))
    words, numbers = new == [None] * len(new), free and is_counting(new)
    return (is_counting(old) and (words or numbers)) or (numbers and old == [None] * len(old))


def _scale_of_ratings(columns: Columns, options: Any) -> Scale:
    """Make the scale of a column of ratings; options that are words may be numbered in it."""
    cells = [cell for cell in list_distinct(columns, "rating") if cell.casefold() not in BLANK]
    categories = ordered_categories(columns.schema["rating"])
    # What is wrong with the options is no fault of the table.
    chosen = None if options is None else Scale.of(options)
    with naming(columns.path):
        if cells:
            return scale_of_ratings(cells, chosen or categories)
        if isinstance(options, Scale):
            return options
        raise InputError("column 'rating' is empty in all rows.")


def _scale_of(columns: Columns, group: dict[str, str]) -> Scale:
    """Make a scale of the options that the columns name."""
    names = list_names(group.values())
    if len(group) < 2:
        raise InputError(
            f"{columns.path} must have the columns of at least two options, with values in the "
            f"rows chosen; found {names}."
        )
    whole = [n for n in map(parse_number, group) if n is not None and n.is_integer()]
    steps = np.abs(np.diff(whole))
    gap = len(whole) == len(group) and steps.min() == 1 < steps.max() <= len(group)
    if gap or in_order(tuple(group)) != tuple(group):
        problem = f"{columns.path}: the columns {names} are not in order, or leave out an option."
        advice = "Name all options in order, also one that was never read"
        raise SettingNeeded(problem, advice, "options", ("WORST", "...", "BEST"))
    with naming(columns.path):
        return Scale(tuple(group))

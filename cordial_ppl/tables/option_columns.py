"""Layout of a table of readings: their columns, and the scale that these name."""

from dataclasses import replace
from typing import Any

import numpy as np

from cordial_ppl.data.containers import ordered_categories
from cordial_ppl.data.numerals import in_order, is_counting, parse_number
from cordial_ppl.data.ratings import scale_of_ratings
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming, warn
from cordial_ppl.tables.columns import BLANK, KINDS, as_names, is_reading, list_distinct
from cordial_ppl.tables.frame import Columns
from cordial_ppl.tables.proposals import PERSONAL, list_ratings, propose_ratings

EXAMPLE = "Name the options in order, for example"


def find_layout(
    columns: Columns, options: Any = None, *, rated: bool = False
) -> tuple[Scale, str, tuple[str, ...]]:
    """Find the one group of readings that a table holds, and the scale.

    Where rows were selected, columns without a value in any of them do not count: they hold the
    options of another task, or the readings of another reader.

    Args:
        columns: The table.
        options: The names in the scale's order; by default the columns' order in the file. A
            column `rating` needs them. Columns that are numbered in order may get other names, and
            an option without a column, which no text has a reading of, one warning; a `Scale` may
            only give words for numbers.
        rated: Whether the column `rating` is the readings, whatever else there is.

    Returns:
        The scale, the kind of the readings ("logit", "logprob", "p", "n" or "rating") and their
        columns in the scale's order.

    Raises:
        InputError: There is no group of readings or more than one, there are fewer than two
            options, or `options` does not name the columns.
        SettingNeeded: `options` is needed and not given, or a column of ratings has another name.
    """
    if rated:
        return _scale_of_ratings(columns, options), "rating", ("rating",)
    empty = _find_empty(columns)
    groups: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    free = [name for name in columns.schema if name not in columns.apart]
    for name in free:
        kind, _, option = name.partition("_")
        if kind in groups and _:
            groups[kind][option.strip()] = name
    if "rating" in free:
        groups["rating"] = {"": "rating"}
    filled = {kind: group for kind, group in groups.items() if set(group.values()) - empty}
    if len(filled) != 1:
        several = " and ".join(list_names(group.values(), shown=3) for group in filled.values())
        problem = (
            f"{columns.path} must have one group of columns logit_, logprob_, p_ or n_, or "
            f"`rating`; found {several or columns.listed}."
        )
        if filled:
            raise InputError(f"{problem} Remove or rename all but one group.")
        likely = list_ratings(columns)
        if not likely and any(name.startswith(PERSONAL) for name in columns.schema):
            raise InputError(f"{problem} It holds labels: readings come first, then labels.")
        raise propose_ratings(problem, likely)
    ((kind, group),) = filled.items()
    if kind == "rating":
        return _scale_of_ratings(columns, options), kind, ("rating",)
    changing = not isinstance(options, Scale)
    scale = None if options is None else Scale.of(options)
    names = {option: name for option, name in group.items() if name not in empty}
    if scale is None:
        return _scale_of(columns, names), kind, tuple(names.values())
    if {*names} <= {*scale.aliases} <= {*group}:
        return scale, kind, tuple(group[alias] for alias in scale.aliases)
    matches = _match(group, scale)
    if matches is not None and set(names.values()) <= set(matches.values()):
        absent = [option for i, option in enumerate(scale.options) if i not in matches]
        if not absent or (changing and len(names) > 1):
            if absent:
                warn(
                    f"{columns.path} has no column for {list_names(absent)}: no text has such a "
                    "reading."
                )
            matches = {i: f"{kind}_{option}" for i, option in enumerate(scale.options)} | matches
            return scale, kind, tuple(matches[i] for i in range(scale.size))
    if _can_rename(tuple(names), scale, changing):
        return replace(scale, aliases=tuple(names)), kind, tuple(names.values())
    problem = (
        f"{columns.path} has columns of other options: the options are "
        f"{list_names(scale.options)}, the columns {list_names(group.values())}."
    )
    if changing and len(names) > 1:
        raise SettingNeeded(problem, EXAMPLE, "options", in_order(tuple(names)))
    raise InputError(f"{problem} Take a table of the former, or fit a calibrator to this one.")


def _match(group: dict[str, str], scale: Scale) -> dict[int, str] | None:
    """Find the columns by the position of the option; None if two name the same."""
    positions = {option: scale.named(option) for option in group}
    columns = {k: group[option] for option, k in positions.items() if k is not None}
    named = [k for k in positions.values() if k is not None]
    return columns if len(columns) == len(named) else None


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
    with naming(columns.path):
        if not cells:
            raise InputError("column 'rating' is empty in all rows.")
        return scale_of_ratings(cells, categories if options is None else options)


def _find_empty(columns: Columns) -> set[str]:
    """Find the columns of readings without a value in the selected rows."""
    if not columns.masks:
        return set()
    cells = columns.collect(*filter(is_reading, columns.schema))
    return {column.name for column in cells if (as_names(column) == "").all()}


def _scale_of(columns: Columns, group: dict[str, str]) -> Scale:
    """Make a scale of the options that the columns name."""
    names = list_names(group.values())
    if len(group) < 2:
        raise InputError(
            f"{columns.path} must have the columns of at least two options, with values in the "
            f"rows chosen; found {names}."
        )
    ordered = in_order(tuple(group))
    if ordered != tuple(group):
        problem = f"{columns.path}: the columns {names} are of numbers that neither rise nor fall."
        raise SettingNeeded(problem, EXAMPLE, "options", ordered)
    whole = [int(n) for n in map(parse_number, group) if n is not None and n.is_integer()]
    steps = np.abs(np.diff(whole))
    if len(whole) == len(group) and steps.min() == 1 < steps.max() <= len(group):
        step = 1 if whole[-1] > whole[0] else -1
        options = tuple(map(str, range(whole[0], whole[-1] + step, step)))
        absent = list_names(option for option in options if int(option) not in whole)
        problem = f"{columns.path}: the columns {names} leave out {absent}. Name the options"
        advice = "without what is none of them. If it is one that was never read, name all"
        raise SettingNeeded(problem, advice, "options", options)
    return Scale(tuple(group))

"""Which columns of a table are readings, and which scale they name."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.data.numerals import in_order, is_counting, parse_number
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded, list_names
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
            column `rating` needs them. Columns that are numbered in order may get other names, and
            an option without a column, which no text has a reading of, one warning; a `Scale` may
            only give words for numbers.

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
    given = not isinstance(options, Scale)
    size = len(options or ()) if given else options.size
    scale = None if options is None else Scale.of(options, size=size)
    if kind == "rating":
        return _scale_of_ratings(columns, scale), kind, ("rating",)
    spoken = {option: name for option, name in group.items() if name not in empty}
    if scale is None:
        scale = _scale_of(columns, spoken)
        return scale, kind, tuple(spoken.values())
    if {*spoken} <= {*scale.aliases} <= {*group}:
        return scale, kind, tuple(group[alias] for alias in scale.aliases)
    taken = _match(group, scale)
    if taken is not None and set(spoken.values()) <= set(taken.values()):
        absent = [option for i, option in enumerate(scale.options) if i not in taken]
        if not absent or (given and len(spoken) > 1):
            _warn_of_absent(columns, absent)
            names = (taken.get(i, f"{kind}_{option}") for i, option in enumerate(scale.options))
            return scale, kind, tuple(names)
    if _can_rename(tuple(spoken), scale, given):
        return replace(scale, aliases=tuple(spoken)), kind, tuple(spoken.values())
    problem = (
        f"{columns.path} has columns of other options: the options are "
        f"{list_names(scale.options)}, the columns {list_names(group.values())}."
    )
    if given and len(spoken) > 1:
        raise SettingNeeded(problem, EXAMPLE, "options", in_order(tuple(spoken)))
    raise InputError(f"{problem} Take a table of the former, or fit a calibrator to this one.")


def _match(group: dict[str, str], scale: Scale) -> dict[int, str] | None:
    """The columns by positions of the options that they name; None if two name the same."""
    places = {option: scale.named(option) for option in group}
    known = [place for place in places.values() if place is not None]
    if len(set(known)) < len(known):
        return None
    return {place: group[option] for option, place in places.items() if place is not None}


def _warn_of_absent(columns: Columns, absent: list[str]) -> None:
    if not absent:
        return
    them = "it" if len(absent) == 1 else "these"
    warnings.warn(
        f"{columns.path} has no column for {list_names(absent)}: no text has a reading of {them}.",
        CordialWarning,
        stacklevel=4,
    )


def _can_rename(names: tuple[str, ...], scale: Scale, given: bool) -> bool:
    """Whether a scale's options can only be other names of columns, in their order.

    Words may stand for numbers without a gap; such numbers for words or others only where given.
    """
    if len(names) != scale.size:
        return False
    own, other = ([parse_number(name) for name in each] for each in (names, scale.options))
    words, numbers = other == [None] * len(other), given and is_counting(other)
    return (is_counting(own) and (words or numbers)) or (numbers and own == [None] * len(own))


def _scale_of_ratings(columns: Columns, scale: Scale | None) -> Scale:
    """The scale of a column of ratings; options that are words may be numbered in it."""
    seen = list_distinct(columns, "rating")
    if scale is None:
        problem = "a column 'rating' does not say which ratings were possible; found"
        text = f"{columns.path}: {problem} {list_names(sorted(filter(None, seen)))}."
        raise SettingNeeded(text, EXAMPLE, "options", ("1", "2", "3"))
    return scale.counted(filter(None, seen), "ratings")


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
    _check_gaps(columns, spoken)
    return Scale(tuple(spoken))


def _check_gaps(columns: Columns, spoken: dict[str, str]) -> None:
    """Ask for the options where the columns' numbers leave one out."""
    numbers = [parse_number(name) for name in spoken]
    if None in numbers or not all(number.is_integer() for number in numbers if number is not None):
        return
    steps = np.abs(np.diff(np.array(numbers)))
    if steps.min() != 1 or steps.max() == 1 or steps.max() > len(spoken):
        return
    first, last = int(numbers[0] or 0), int(numbers[-1] or 0)
    step = 1 if last > first else -1
    options = tuple(str(number) for number in range(first, last + step, step))
    absent = list_names(option for option in options if float(option) not in numbers)
    raise SettingNeeded(
        f"{columns.path}: the columns {list_names(spoken.values())} leave out {absent}. Name the "
        "options without what is none of them.",
        "If it is one that was never read, name all",
        "options",
        options,
    )

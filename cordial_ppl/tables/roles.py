"""Roles of columns: which hold readings, and which a setting may mean, by their names.

A message proposes a column only where its cells are what the setting needs, and names none if two
are as likely.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.data.containers import ordered_categories
from cordial_ppl.data.numerals import in_order, is_counting, parse_number
from cordial_ppl.data.ratings import WIDEST, scale_of_ratings
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, list_names, naming, warn
from cordial_ppl.tables.columns import FIXED, as_names, is_reading, list_filled, named
from cordial_ppl.tables.frame import Columns

IDS = ("item_id", "text_id", "id", "uid", "uuid", "qid", "index", "key", "item", "name", "question")
"""Names of columns that name a text, the likeliest first."""

RATINGS = ("rating", "score", "stars", "grade", "points", "mark", "verdict", "judgment")
"""Names of columns that may hold a reader's ratings, the likeliest first."""

LARGEST = 100
"""Largest rating that is recognised: years and ids are none."""

USERS = ("author", "annotator", "rater", "worker", "person", "who")
"""Names of columns of readings that may name the user whose label is predicted."""

PERSONAL = ("label", "human", "gold", "expert")
"""How columns of people's labels begin, which are no reader's ratings."""

PLACEHOLDER = "COLUMN"
"""What stands in a proposal for what the table does not tell."""


def nearest(name: str, names: Collection[str], words: Sequence[str] = ()) -> str | None:
    """Find the column or field with the most similar name.

    Args:
        name: The name.
        names: The names there are; one may be written in another way.
        words: Other words for the name, the likeliest first.

    Returns:
        The likeliest; None if none is near.
    """
    folded = {_fold(candidate): candidate for candidate in reversed([*names])}
    typed, *close = (get_close_matches(_fold(word), folded, 1, 0.7) for word in (name, *words))
    exact = [word for word in map(_fold, words) if word in folded]
    likely = [_fold(one) for word in words for one in names if word in _split(one)]
    candidates = [*typed, *exact, *likely, *(one for match in close for one in match)]
    return folded[candidates[0]] if candidates else None


def _fold(name: str) -> str:
    """Return the letters and digits of a name, without capitals."""
    return re.sub(r"[\W_]", "", name).casefold()


def _split(name: str) -> set[str]:
    """Return the words of a name: "Human Score", "SegmentID"."""
    return {*map(str.casefold, re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name))}


def spell(columns: Columns, name: str) -> str | None:
    """Find the column of a name, or the only one that differs in capitals and blanks alone."""
    names = {name: here for here, name in columns.origin.items()}
    name = names.get(name.strip(), name.strip())
    folded = name.casefold().split()
    matches = [column for column in columns.schema if column.casefold().split() == folded]
    return name if name in matches else matches[0] if len(matches) == 1 else None


def find_columns(
    columns: Columns, names: Sequence[str], setting: str, words: Sequence[str] = ()
) -> list[str]:
    """Find columns that a setting names, whatever their capitals and blanks.

    Args:
        columns: The table.
        names: What the setting says.
        setting: The setting.
        words: Other names that such columns may have.

    Raises:
        SettingNeeded: There is none of a name; the message offers one with a similar name.
    """
    spelt = [spell(columns, name) for name in names]
    absent = [name for name, here in zip(names, spelt, strict=True) if here is None]
    if not absent:
        return [name for name in spelt if name is not None]
    fixed = FIXED if setting in ("user", "annotator", "readers") else {"item_id"}
    if setting == "label":
        fixed = {*FIXED, *filter(is_reading, columns.schema)} - {"rating"}
    free = [name for name in columns.free if name not in (*fixed, *spelt)]
    # A table of ids and one other column is of labels.
    alone = setting == "label" and len(columns.schema) == len(free) + 1 == 2
    only = free[0] if alone else PLACEHOLDER
    match = nearest(absent[0], free, words) or only
    match = match if match != PLACEHOLDER and _suits(columns, match, setting) else PLACEHOLDER
    parts, several = absent[0].split(","), ""
    if setting == "rating" and len(parts) > 1 and all(spell(columns, part) for part in parts):
        match, several = parts[0], f" For several judges, use cordial fuse --readers {absent[0]}."
    offered = tuple(match if name == absent[0] else name for name in names)
    problem = f"{columns.path} has no column {absent[0]!r}; found {columns.listed}.{several}"
    raise SettingNeeded(problem, "Name the column", setting, offered if len(offered) > 1 else match)


def _suits(columns: Columns, name: str, setting: str) -> bool:
    """Tell a column whose cells may be what a setting needs: ratings, labels, names of groups."""
    if setting in ("rating", "readers"):
        return holds_ratings(columns, name)
    cells = list_filled(columns, name)
    return 0 < len(cells) <= (WIDEST if setting == "label" else len(columns) - 1)


def find_id(columns: Columns) -> str:
    """Find the column that names texts, by its name or as the first that tells all rows apart.

    Cells of more than 40 characters, on average, are texts and no names.
    """
    names = [name for name in columns.schema if not is_reading(name)]
    short = [named(n).filter(named(n).str.len_chars().mean() <= 40).n_unique() for n in names]
    rows, *sizes = columns.collect(pl.len(), *short).row(0)
    unique = [name for name, size in zip(names, sizes, strict=True) if size == rows]
    spelt = next((name for name in names if _fold(name) == "itemid"), None)
    unique = [name for name in unique if _fold(name) != "text"] or unique
    first = next((name for name in unique if not holds_ratings(columns, name)), PLACEHOLDER)
    return spelt or nearest("item_id", unique, IDS) or first


def explain_log(columns: Columns) -> str:
    """Say what to do if a file is a log of answers, which holds lists or objects; else nothing."""
    nested = any(kind.is_nested() for kind in columns.schema.values())
    return nested * " If the file is a log of answers, convert it with `cordial read` first."


def holds_ratings(columns: Columns, name: str) -> bool:
    """Tell a column whose cells may be ratings: few whole numbers."""
    cells = list_filled(columns, name)
    numbers, whole = map(parse_number, cells), range(-LARGEST, LARGEST + 1)
    return 0 < len(cells) <= WIDEST and all(number in whole for number in numbers)


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
            warn(f"{problem}. Options without a column have no readings.")
        named = enumerate(scale.options)
        return scale, kind, tuple(matches.get(k, f"{kind}_{option}") for k, option in named)
    if _can_rename(names, scale, changing):
        return replace(scale, aliases=names), kind, tuple(filled.values())
    problem = (
        f"{columns.path} has columns that do not match the options. The options are "
        f"{list_names(scale.options)}, but the columns are {list_names(group.values())}."
    )
    advice = "Name the table's options in order" if changing else "Fit a calibrator to this table"
    raise InputError(f"{problem} {advice}, or use a different table.")


def _find_group(columns: Columns) -> tuple[str, dict[str, str], dict[str, str]]:
    """Find the kind of the readings, and their columns by option: all, and those with values."""
    cells = columns.collect(*filter(is_reading, columns.schema)) if columns.masks else ()
    empty = {column.name for column in cells if (as_names(column) == "").all()}
    groups: dict[str, dict[str, str]] = {}
    for name in filter(is_reading, columns.free):
        kind, _, option = name.partition("_")
        groups.setdefault(kind, {})[option.strip()] = name
    filled = {kind: group for kind, group in groups.items() if {*group.values()} - empty}
    if len(filled) == 1:
        ((kind, group),) = filled.items()
        return kind, group, {option: name for option, name in group.items() if name not in empty}
    several = " and ".join(list_names(group.values(), shown=3) for group in filled.values())
    problem = (
        f"{columns.path} must have one group of columns (logit_, logprob_, p_ or n_), or a column "
        f"`rating`; found {several or columns.listed}."
    )
    if filled:
        raise InputError(f"{problem} Remove or rename the columns of all groups but one.")
    problem += explain_log(columns)
    if "label" in columns.schema:
        problem += " If it contains only labels, pass the table with the judge's readings instead."
    words = {name: _split(name) for name in columns.free if name not in FIXED}
    likely = [name for name, some in words.items() if some & {*RATINGS} and not some & {*PERSONAL}]
    rated = [name for name in likely if holds_ratings(columns, name)]
    advice = "If a column contains the judge's rating of each text, name that column"
    value = rated[0] if len(likely) == len(rated) == 1 else PLACEHOLDER
    raise SettingNeeded(problem, advice, "rating", value)


def _can_rename(names: tuple[str, ...], scale: Scale, free: bool) -> bool:
    """Tell a scale whose options are other names of the columns, in their order.

    Words may stand for numbers without a gap; such numbers for words or others only where free.
    """
    old, new = ([parse_number(name) for name in group] for group in (names, scale.options))
    words, numbers = new == [None] * len(new), free and is_counting(new)
    fits = (is_counting(old) and (words or numbers)) or (numbers and old == [None] * len(old))
    return fits and len(names) == scale.size


def _scale_of_ratings(columns: Columns, options: Any) -> Scale:
    """Make the scale of a column of ratings; options that are words may be numbered in it."""
    cells = list_filled(columns, "rating")
    categories = ordered_categories(columns.schema["rating"])
    # What is wrong with the options is no fault of the table.
    chosen = None if options is None else Scale.of(options)
    with naming(columns.path):
        if cells:
            # Ratings on another scale say nothing of the options.
            return scale_of_ratings(() if columns.rating_range else cells, chosen or categories)
        if isinstance(options, Scale):
            return options
        raise InputError("column 'rating' is empty in all rows.")


def _scale_of(columns: Columns, group: dict[str, str]) -> Scale:
    """Make a scale of the options that the columns name."""
    names = list_names(group.values())
    if len(group) < 2:
        raise InputError(
            f"{columns.path} must have columns for at least two options, with values in the chosen "
            f"rows; found {names}."
        )
    numbers = [number for name in group if (number := parse_number(name)) is not None]
    mixed, steps = 1 < len(numbers) < len(group), np.abs(np.diff(numbers))
    gap = len(numbers) == len(group) and steps.min() == 1 < steps.max() <= len(group)
    if gap or mixed or in_order(tuple(group)) != tuple(group):
        fault = "mix numbers and words" if mixed else "are out of order or skip an option"
        problem = f"{columns.path}: the columns {names} {fault}."
        advice = "Rename columns that are not options, or name all options in order"
        raise SettingNeeded(problem, advice, "options", ("WORST", "...", "BEST"))
    with naming(columns.path):
        return Scale(tuple(group))

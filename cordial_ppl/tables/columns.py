"""Which columns are readings, and which scale and logits they say.

The options' columns stand under one prefix: `logit_`, `logprob_`, `p_` or `n_`, the rest of the
name is the option. A single column `rating` is one hard rating a text, a count of one.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError, Where, name_rows, quote
from cordial_ppl.readings import (
    SUM_TOLERANCE,
    Unread,
    as_logits,
    readings_from_counts,
    readings_from_probabilities,
    warn_of_unread,
)
from cordial_ppl.scale import Scale, SettingNeeded, in_order, is_missing
from cordial_ppl.tables.files import ABSENT, Columns, is_filled, list_names

KINDS = ("logit", "logprob", "p", "n")
"""Kinds of reading, each the prefix of its columns before an underscore."""

PREFIXES = tuple(f"{kind}_" for kind in KINDS)
"""How columns of readings begin."""

EMPTY = {"logit": -np.inf, "logprob": -np.inf, "p": 0.0, "n": 0.0}
"""What an empty cell means: an option without a reading, or one that was never rated."""


def find_kind(columns: Columns) -> str:
    """Find the one kind of reading that a table holds.

    Args:
        columns: The table.

    Returns:
        "logit", "logprob", "p", "n" or "rating".

    Raises:
        InputError: There is none, or more than one.
    """
    groups = {kind: list(_group(columns, kind).values()) for kind in KINDS}
    groups["rating"] = ["rating"] if "rating" in columns.cells else []
    found = {kind: names for kind, names in groups.items() if set(names) - columns.silent}
    if len(found) == 1:
        return next(iter(found))
    rule = f"{columns.path} must have one group of columns logit_, logprob_, p_ or n_, or `rating`"
    if not found:
        raise InputError(f"{rule}; found {list_names(columns.cells)}.")
    several = " and ".join(list_names(names, shown=3) for names in found.values())
    raise InputError(f"{rule}; found {several}. Remove or rename all but one group.")


def read_scale(columns: Columns, kind: str, options: Any = None) -> Scale:
    """Name the options: as given, or by the columns in file order.

    Args:
        columns: The table.
        kind: The kind of its readings.
        options: The names in the scale's order, if the file's order is not it; a column `rating`
            cannot say what could have been rated, so it needs them.

    Returns:
        The scale.

    Raises:
        InputError: There are fewer than two options, or `options` does not name the columns.
        SettingNeeded: `options` is needed and not given.
    """
    scale = None if options is None else Scale.of(options, size=_count(options))
    if kind == "rating":
        return scale or _ask_for_options(columns)
    found = _group(columns, kind)
    if scale is None:
        # A column that is empty for all rows chosen belongs to another task's scale.
        spoken = tuple(option for option in found if found[option] not in columns.silent)
        if len(spoken) < 2:
            silent = [name for name in found.values() if name in columns.silent]
            rest = f"; without a value in the rows chosen: {list_names(silent)}" if silent else ""
            raise InputError(
                f"{columns.path} must have the columns of at least two options; found "
                f"{list_names(found[option] for option in spoken)}{rest}."
            )
        ordered = in_order(spoken)
        if ordered != spoken:
            raise SettingNeeded(
                f"{columns.path}: the columns {list_names(found[option] for option in spoken)} are "
                "of numbers that neither rise nor fall.",
                "Name the options in order, for example",
                "options",
                ordered,
            )
        return Scale(spoken)
    wanted = {o for o in found if o in scale.options or found[o] not in columns.silent}
    if wanted != set(scale.options):
        raise InputError(
            f"options must name the columns of {columns.path}; the options are "
            f"{list_names(scale.options)}, the columns {list_names(list(found.values()))}."
        )
    return scale


def read_logits(
    columns: Columns, kind: str, scale: Scale, tell: Callable[[Unread], None] = warn_of_unread
) -> Float64[np.ndarray, "n K"]:
    """Turn the columns of readings into centred logits.

    Args:
        columns: The table.
        kind: The kind of its readings.
        scale: The options, in the order wanted.
        tell: What is told of options without a reading.

    Returns:
        Centred logits [n, K].

    Raises:
        InputError: A cell is no number, a row lacks an option's column, or the readings are not
            what their kind says; with the row and the column.
    """
    where = columns.where
    if kind == "rating":
        cells = filled(columns, "rating", "Remove the rows without a rating.")
        ratings = scale.encode(cells, where=where, noun="ratings")
        return as_logits(readings_from_counts(np.eye(scale.size)[ratings]), where=where)
    names = reading_columns(columns, kind, scale)
    cells = [numbers(columns.cells[name], name, where, empty=EMPTY[kind]) for name in names]
    values = np.stack(cells, axis=1)
    if kind == "p":
        _reject_incomplete(columns, names, values)
        values = readings_from_probabilities(values, where=where, columns=names, tell=tell)
    elif kind == "n":
        values = readings_from_counts(values, where=where, columns=names)
    return as_logits(values, where=where, columns=names, tell=tell)


def passed_through(columns: Columns, used: Iterable[str]) -> dict[str, list]:
    """List the cells of the columns that are not used, with None for a missing cell."""
    rest = [name for name in columns.cells if name not in set(used)]
    return {name: _plain(columns.cells[name]) for name in rest}


def filled(columns: Columns, name: str, remedy: str) -> list:
    """List the cells of a column in which none may be empty.

    Args:
        columns: The table.
        name: The column.
        remedy: What to do about empty cells, for the message.

    Returns:
        The cells.

    Raises:
        InputError: A cell is empty, NaN or null; with its row.
    """
    cells = _plain(columns.cells[name])
    empty = [i for i, cell in enumerate(cells) if is_missing(cell)]
    if empty:
        verb = "has" if len(empty) == 1 else "have"
        rows = name_rows(empty, columns.where)
        raise InputError(f"{rows} {verb} no value in column {name!r}. {remedy}")
    return cells


def reading_columns(columns: Columns, kind: str, scale: Scale) -> list[str]:
    """List the columns that hold the readings, in the scale's order."""
    if kind == "rating":
        return ["rating"]
    group = _group(columns, kind)
    return [group[option] for option in scale.options]


def numbers(
    column: Sequence | np.ndarray, name: str, where: Where, *, empty: float | None = None
) -> Float64[np.ndarray, " n"]:
    """Turn the cells of a column into numbers.

    Args:
        column: The cells.
        name: The column's name, for messages.
        where: Names a row in messages.
        empty: What an empty cell stands for; None where it must not be empty.

    Returns:
        The numbers, [n].

    Raises:
        InputError: A cell is not a number, or a row does not have the column.
    """
    if not isinstance(column, np.ndarray):
        lacking = [i for i, cell in enumerate(column) if cell is ABSENT]
        if lacking:
            raise InputError(f"column {quote(name)} is missing in {name_rows(lacking, where)}.")
        if empty is not None:
            column = [cell if is_filled(cell) else empty for cell in column]
    try:
        values = np.array(column, np.float64)
    except (OverflowError, TypeError, ValueError):
        values = None
    if values is None or values.ndim != 1:
        wrong = next(i for i, cell in enumerate(column) if not _is_number(cell))
        found = f"{quote(column[wrong])} in {where(wrong)}"
        comma = re.fullmatch(r"-?\d+,\d+", str(column[wrong]).strip())
        advice = " Write a point before decimals." if comma else ""
        raise InputError(f"column {quote(name)} must be numbers; found {found}.{advice}")
    return values


def _reject_incomplete(columns: Columns, names: list[str], probs: np.ndarray) -> None:
    """Raise where the probability that a row lacks to one may have been left out."""
    totals = probs.sum(axis=1)
    for i in np.flatnonzero(totals < 1 - SUM_TOLERANCE).tolist():
        empty = [name for name in names if not is_filled(columns.cells[name][i])]
        if empty:
            raise InputError(
                f"{columns.where(i)} has no value in column {list_names(empty)}, and the other "
                f"probabilities sum to {totals[i]:.6g}, not to one."
            )


def _group(columns: Columns, kind: str) -> dict[str, str]:
    """The columns of a kind, by option."""
    prefix = f"{kind}_"
    names = [name for name in columns.cells if name.startswith(prefix)]
    return {name.removeprefix(prefix).strip(): name for name in names}


def _plain(column: Sequence | np.ndarray) -> list:
    if isinstance(column, np.ndarray):
        return column.tolist()
    return [None if cell is ABSENT else cell for cell in column]


def _is_number(cell: object) -> bool:
    try:
        return cell is not None and np.array(cell, np.float64).ndim == 0
    except (OverflowError, TypeError, ValueError):
        return False


def _count(options: Any) -> int:
    return options.size if isinstance(options, Scale) else len(options)


def _ask_for_options(columns: Columns) -> Scale:
    seen = {str(rating) for rating in _plain(columns.cells["rating"]) if is_filled(rating)}
    raise SettingNeeded(
        f"{columns.path}: a column 'rating' does not say which ratings were possible; found "
        f"{list_names(sorted(seen))}.",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )

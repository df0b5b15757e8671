"""Which columns are readings, and which scale and logits they give.

The options' columns have one prefix: `logit_`, `logprob_`, `p_` or `n_`; the rest of the name is
the option. A single column `rating` is one hard rating a text, a count of one.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float64

from cordial_ppl.errors import InputError, name_rows, naming, quote
from cordial_ppl.readings import (
    SUM_TOLERANCE,
    Unread,
    as_logits,
    readings_from_counts,
    readings_from_probabilities,
    warn_of_unread,
)
from cordial_ppl.scale import Scale, SettingNeeded, in_order, is_missing
from cordial_ppl.tables.frame import LACKING, Columns, is_filled, list_names

KINDS = ("logit", "logprob", "p", "n")
"""Kinds of reading, each the prefix of its columns before an underscore."""

PREFIXES = tuple(f"{kind}_" for kind in KINDS)
"""How columns of readings begin."""

EMPTY = {"logit": -np.inf, "logprob": -np.inf, "p": 0.0, "n": 0.0}
"""What an empty cell means: an option without a reading, or one that was never rated."""


@dataclass(frozen=True)
class Layout:
    """Where the readings of a table are; `find_layout` finds it.

    Attributes:
        kind: What the table holds: "logit", "logprob", "p", "n" or "rating".
        scale: The options, in their order.
        readings: The columns of readings, in the scale's order.
    """

    kind: str
    scale: Scale
    readings: tuple[str, ...]

    def extras(self, columns: Columns) -> list[str]:
        """List the columns that are neither readings nor the texts' ids."""
        return [name for name in columns.schema if name not in ("item_id", *self.readings)]

    def logits(
        self, columns: Columns, tell: Callable[[Unread], None] = warn_of_unread
    ) -> Float64[np.ndarray, "n K"]:
        """Turn the columns of readings into centred logits.

        Args:
            columns: The table.
            tell: Called with the options without a reading.

        Returns:
            Centred logits [n, K].

        Raises:
            InputError: A cell is no number, a row lacks an option's column, or the readings are
                not what their kind says; with the row and the column.
        """
        where, names = columns.where, self.readings
        with naming(columns.path):
            if self.kind == "rating":
                cells = filled(columns, "rating", "Remove the rows without a rating.")
                ratings = self.scale.encode(cells, where=where, noun="ratings")
                counts = np.eye(self.scale.size)[ratings]
                return as_logits(readings_from_counts(counts), where=where)
            cells = [numbers(columns, name, empty=EMPTY[self.kind]) for name in names]
            values = np.stack(cells, axis=1)
            if self.kind == "p":
                _reject_incomplete(columns, names, values)
                values = readings_from_probabilities(values, where=where, columns=names, tell=tell)
            elif self.kind == "n":
                values = readings_from_counts(values, where=where, columns=names)
            return as_logits(values, where=where, columns=names, tell=tell)


def find_layout(columns: Columns, options: Any = None) -> Layout:
    """Find the one group of readings that a table holds, and the scale.

    Args:
        columns: The table.
        options: The names in the scale's order; by default the columns' order in the file. A
            column `rating` needs them.

    Returns:
        Where the readings are.

    Raises:
        InputError: There is no group of readings or more than one, there are fewer than two
            options, or `options` does not name the columns.
        SettingNeeded: `options` is needed and not given.
    """
    groups = {kind: _group(columns, kind) for kind in KINDS}
    groups["rating"] = {"": "rating"} if "rating" in columns.schema else {}
    # A column that is empty in all rows chosen belongs to another task's scale.
    found = {kind: g for kind, g in groups.items() if set(g.values()) - columns.silent}
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
        return Layout(kind, scale or _ask_for_options(columns), ("rating",))
    if scale is None:
        scale = _named_by_columns(columns, group)
    wanted = {o for o in group if o in scale.options or group[o] not in columns.silent}
    if wanted != set(scale.options):
        raise InputError(
            f"options must name the columns of {columns.path}; the options are "
            f"{list_names(scale.options)}, the columns {list_names(group.values())}."
        )
    return Layout(kind, scale, tuple(group[option] for option in scale.options))


def passed_through(columns: Columns, used: Iterable[str]) -> dict[str, list]:
    """List the cells of the columns that are not used, with None for a missing cell."""
    rest = [name for name in columns.schema if name not in set(used)]
    return {name: columns.cells[name] for name in rest}


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
    cells = columns.cells[name]
    empty = [i for i, cell in enumerate(cells) if is_missing(cell)]
    if empty:
        verb = "has" if len(empty) == 1 else "have"
        rows = name_rows(empty, columns.where)
        raise InputError(f"{rows} {verb} no value in column {name!r}. {remedy}")
    return cells


def numbers(
    columns: Columns, name: str, *, empty: float | None = None
) -> Float64[np.ndarray, " n"]:
    """Turn the cells of a column into numbers.

    Args:
        columns: The table.
        name: The column.
        empty: What an empty cell stands for; by default a null is NaN, and empty text is refused.

    Returns:
        The numbers, [n].

    Raises:
        InputError: A cell is not a number, or a row of JSON Lines does not have the column.
    """
    hidden = [LACKING] if LACKING in columns.frame.collect_schema() else []
    found = columns.collect(name, *hidden)
    if hidden and empty is not None:
        lacking = found.select(pl.col(LACKING).list.contains(name).arg_true()).to_series()
        if len(lacking):
            places = name_rows(lacking.to_list(), columns.where)
            raise InputError(f"column {quote(name)} is missing in {places}.")
    cells = found[name]
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        text = cells.str.strip_chars()
        cells = text if empty is None else text.set(text == "", None)
    if not (cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean, pl.Null)):
        values = pl.Series([None] * len(cells), dtype=pl.Float64)
    else:
        values = cells.cast(pl.Float64, strict=False)
    for i in (values.is_null() & cells.is_not_null()).arg_true().to_list():
        # "1_000", and what else Python reads and polars does not.
        values[i] = _parse(cells[i], name, columns.where(i))
    return values.fill_null(np.nan if empty is None else empty).to_numpy()


def finite(columns: Columns, name: str) -> Float64[np.ndarray, " n"]:
    """Turn the cells of a column into finite numbers.

    Args:
        columns: The table.
        name: The column, which need not be there.

    Returns:
        The numbers, [n].

    Raises:
        InputError: There is no such column, or a cell is not a finite number.
    """
    if name not in columns.schema:
        others = [other for other in columns.schema if other != "item_id" and not is_reading(other)]
        raise InputError(
            f"there is no column {name!r}; besides item_id and the readings there is "
            f"{list_names(others)}."
        )
    values = numbers(columns, name)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        places = name_rows(wrong, columns.where)
        raise InputError(f"column {name!r} must be finite numbers; it is not in {places}.")
    return values


def is_reading(name: str) -> bool:
    """Tell a column of readings by its name."""
    return name == "rating" or name.startswith(PREFIXES)


def _parse(cell: object, name: str, place: str) -> float:
    try:
        return float(cell)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        comma = re.fullmatch(r"-?\d+,\d+", str(cell))
        advice = " Write a point before decimals." if comma else ""
        shown = cell.to_list() if isinstance(cell, pl.Series) else cell
        raise InputError(
            f"column {quote(name)} must be numbers; found {quote(shown)} in {place}.{advice}"
        ) from None


def _reject_incomplete(columns: Columns, names: Iterable[str], probs: np.ndarray) -> None:
    """Refuse an empty cell where the other probabilities do not sum to one."""
    totals = probs.sum(axis=1)
    short = np.flatnonzero(totals < 1 - SUM_TOLERANCE)
    for i in short.tolist():
        row = columns.collect(*(pl.col(name).get(i) for name in names)).row(0, named=True)
        empty = [name for name in names if not is_filled(row[name])]
        if empty:
            raise InputError(
                f"{columns.where(i)} has no value in column {list_names(empty)}, and the other "
                f"probabilities sum to {totals[i]:.6g}, not to one."
            )


def _group(columns: Columns, kind: str) -> dict[str, str]:
    """The columns of a kind, by option."""
    prefix = f"{kind}_"
    names = [name for name in columns.schema if name.startswith(prefix)]
    return {name.removeprefix(prefix).strip(): name for name in names}


def _named_by_columns(columns: Columns, group: dict[str, str]) -> Scale:
    spoken = {option: name for option, name in group.items() if name not in columns.silent}
    if len(spoken) < 2:
        silent = [name for name in group.values() if name in columns.silent]
        rest = f"; without a value in the rows chosen: {list_names(silent)}" if silent else ""
        raise InputError(
            f"{columns.path} must have the columns of at least two options; found "
            f"{list_names(spoken.values())}{rest}."
        )
    ordered = in_order(tuple(spoken))
    if ordered != tuple(spoken):
        raise SettingNeeded(
            f"{columns.path}: the columns {list_names(spoken.values())} are "
            "of numbers that neither rise nor fall.",
            "Name the options in order, for example",
            "options",
            ordered,
        )
    return Scale(tuple(spoken))


def _ask_for_options(columns: Columns) -> Scale:
    seen = {str(rating) for rating in columns.cells["rating"] if is_filled(rating)}
    raise SettingNeeded(
        f"{columns.path}: a column 'rating' does not say which ratings were possible; found "
        f"{list_names(sorted(seen))}.",
        "Name the options in order, for example",
        "options",
        ("1", "2", "3"),
    )

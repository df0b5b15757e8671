"""The cells of a column as numbers, as names, or as they are.

The name of a column of readings is a prefix, `logit_`, `logprob_`, `p_` or `n_`, and an option. A
single column `rating` holds one hard rating per text.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from jaxtyping import Float64

from cordial_ppl.data.covariates import find_wrong
from cordial_ppl.data.numerals import MINUS, PLAIN, has_thousands, is_missing
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, name_rows, quote, warn
from cordial_ppl.tables.frame import ROW, Columns, as_list

PREFIXES = ("logit_", "logprob_", "p_", "n_")
"""How columns of readings begin: their kind, before an underscore."""

BLANK = {"", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"}
"""Cells without a label or a rating, in small letters, unless an option has the name."""

FIXED = {
    *("item_id", "label", "rating", "reader", "task", "weight"),
    *("stratum", "probability", "probability_by", "decision", "order", "unread"),
    *("label_event", "label_note", "label_row", "label_time"),
}
"""Columns that have a fixed meaning."""


def is_reading(name: str) -> bool:
    """Tell a column of readings by its name."""
    return name == "rating" or name.startswith(PREFIXES)


def passed_through(columns: Columns, used: Collection[str]) -> dict[str, list]:
    """List the cells of the columns that are not used, with None for a missing cell."""
    return {name: cells for name, cells in columns.cells.items() if name not in used}


def filled(columns: Columns, name: str, remedy: str) -> list:
    """List the cells of a column that must be there, and in which none may be empty.

    Args:
        columns: The table.
        name: The column.
        remedy: What to do about empty cells, for the message.

    Returns:
        The cells.

    Raises:
        InputError: There is no such column, or a cell is empty, NaN or null; with its row.
    """
    columns.require(name)
    cells = as_list(columns.collect(name).to_series())
    if empty := [i for i, cell in enumerate(cells) if is_missing(cell)]:
        rows = name_rows(empty, columns.where)
        raise InputError(f"{columns.path}: column {quote(name)} has no value in {rows}. {remedy}")
    return cells


def is_blank(columns: Columns, name: str, scale: Scale | None, *, zeros: bool = False) -> pl.Expr:
    """Make an expression of polars: which cells of a column hold nothing, unless as an option.

    With `zeros`, a 0 is nothing too.
    """
    kind, cells = columns.schema[name], pl.col(name)
    if kind.is_numeric():
        blank, zero = cells.is_null() | (cells.is_nan() if kind.is_float() else False), cells == 0
    else:
        words = [word for word in BLANK if scale is None or scale.named(word) is None]
        blank = named(name).str.to_lowercase().is_in(words)
        zero = named(name).str.contains(r"^0*[.,]?0*$")
    return blank | zero if zeros else blank


def skip_unlabelled(columns: Columns, scale: Scale, quiet: bool) -> Columns:
    """Select the rows with a label, and warn of the others unless quiet; refuse a blank column."""
    part = columns.filter(~is_blank(columns, "label", scale))
    # A row of the file may have a label by some annotators alone.
    count, filled = (table.collect(pl.col(ROW).n_unique()).item() for table in (columns, part))
    if not filled:
        raise InputError(f"{columns.path}: column 'label' is empty in all {count} rows.")
    if filled < count and not quiet:
        warn(f"{columns.path}: skipped {count - filled} of {count} rows (no label).")
    return part


def numbers(
    columns: Columns, name: str, *, empty: float | None = None
) -> Float64[np.ndarray, " n"]:
    """Convert the cells of a column to numbers.

    Args:
        columns: The table.
        name: The column.
        empty: What an empty cell stands for; by default a null is NaN, and empty text is refused.

    Returns:
        The numbers, [n].

    Raises:
        InputError: A cell is not a number; with its row.
    """
    cells = columns.collect(name).to_series()
    if cells.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = cells.cast(pl.String).str.strip_chars()
        cells = text if empty is None else text.set(text == "", None)
        # Where commas separate no cells, those in numbers stand before decimals.
        cells = _point_decimals(cells, columns.separator != ",")
    plain = cells.dtype.is_numeric() or cells.dtype in (pl.String, pl.Boolean, pl.Null)
    values = (cells if plain else cells.clear(len(cells))).cast(pl.Float64, strict=False)
    wrong = (values.is_null() & cells.is_not_null()).arg_true()
    if len(wrong):
        (cell,) = as_list(cells[wrong[:1]])
        advice = PLAIN if has_thousands(cell) else ""
        raise InputError(
            f"column {quote(name)} must contain only numbers; found {quote(cell)} in "
            f"{columns.where(wrong[0])}.{advice}"
        )
    return values.fill_null(np.nan if empty is None else empty).to_numpy()


def _point_decimals(cells: pl.Series, commas: bool) -> pl.Series:
    """Write decimal commas as points; among commas, one that may be at thousands stays."""
    cells = cells.str.replace(rf"^[{MINUS}]", "-")
    decimal = cells.str.contains(r"^[+-]?\d*,\d+([eE][+-]?\d+)?$")
    if not commas:
        decimal &= ~cells.str.contains(r"^[+-]?[1-9]\d{0,2},\d{3}$")
    return cells.zip_with(~decimal.fill_null(False), cells.str.replace(",", ".", literal=True))


def finite(columns: Columns, name: str, levels: int | None = None) -> Float64[np.ndarray, " n"]:
    """Convert the cells of a column to finite numbers.

    Args:
        columns: The table.
        name: The column, which need not be there.
        levels: How many levels it has, if it numbers something: whole numbers 0..levels-1.

    Returns:
        The numbers, [n].

    Raises:
        InputError: There is no such column, or a cell is not a finite number, or not a level.
    """
    columns.require(name)
    values = numbers(columns, name)
    wrong, rule = find_wrong(values, levels)
    if wrong.size:
        value, rows = values[wrong[0]], name_rows(wrong, columns.where)
        cell = "no number" if np.isnan(value) else f"{value:g}"
        raise InputError(f"column {quote(name)} must contain only {rule}; found {cell} in {rows}.")
    return values


def as_name(cell: object) -> str:
    """Read a cell as a name; 3.0 is '3', for whole numbers with gaps are stored as floats."""
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.0f}" if cell.is_integer() else repr(float(cell))
    return "" if cell is None else str(cell).strip()


def as_names(cells: pl.Series) -> pl.Series:
    """Read a column as names, as `as_name` reads a cell."""
    if cells.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null) or cells.dtype.is_integer():
        return cells.cast(pl.String).str.strip_chars().fill_null("")
    return pl.Series(cells.name, list(map(as_name, as_list(cells))), pl.String)


def named(field: str) -> pl.Expr:
    """Make an expression of polars: the cells of a column as names."""
    return pl.col(field).map_batches(as_names, pl.String, is_elementwise=True)


def unpivot(columns: Columns, names: Mapping[str, str], who: str, value: str) -> Columns:
    """Lay columns out one below the other, in the order of the rows.

    Args:
        columns: The table, before rows are selected.
        names: What each of the columns stands for, such as an annotator.
        who: The new column of what a row stands for.
        value: The new column of the cells.
    """
    rest = [name for name in (*columns.schema, ROW) if name not in names]
    cells = columns.frame.select(*rest, *map(named, names))
    frame = cells.unpivot([*names], index=rest, variable_name=who, value_name=value)
    frame = frame.with_columns(pl.col(who).replace([*names], [*names.values()]))
    return replace(columns, frame=frame.sort(ROW, maintain_order=True))


def list_distinct(columns: Columns, field: str) -> list[str]:
    """List the different names in a column, in the order of the rows."""
    return columns.collect(named(field).unique(maintain_order=True)).to_series().to_list()


def list_filled(columns: Columns, field: str) -> list[str]:
    """List the different names in a column but for words that stand for nothing."""
    return [name for name in list_distinct(columns, field) if name.casefold() not in BLANK]


def name_items(columns: Columns) -> pl.Series:
    """Read the ids of the texts, of which some may occur twice.

    Args:
        columns: The table.

    Returns:
        The column `item_id` as names.

    Raises:
        InputError: There is no such column, or a row has no id.
    """
    columns.require("item_id")
    items = columns.collect(named("item_id")).to_series()
    if unnamed := (items == "").arg_true().to_list():
        rows = name_rows(unnamed, columns.where)
        raise InputError(f"{columns.path}: item_id is missing in {rows}.")
    return items

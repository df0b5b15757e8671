"""Containers: lists, frames, masked arrays and whatever else can be an array, as arrays."""

import sys
from typing import Any

import numpy as np

from cordial_ppl.data.numerals import NULLS
from cordial_ppl.errors import InputError

SCALARS = {int, float, str, bool, type(None), np.float64, np.int64, np.str_}
"""Types of cells that hold what they show, in lists."""


def collected(values: Any) -> Any:
    """Collect a lazy frame of polars, one column as a series; anything else stays as it is."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(values, polars.LazyFrame):
        return values
    frame = values.collect()
    return frame.to_series() if frame.width == 1 else frame


def unmasked(values: Any) -> Any:
    """Put None where any container, or one in a list, is masked, null or NA; NaN among floats.

    NumPy would show what lies below a mask, and knows no null of pandas or Arrow.
    """
    values = collected(values)
    if isinstance(values, list | tuple):
        return values if SCALARS.issuperset(map(type, values)) else [*map(unmasked, values)]
    if type(values).__name__ in NULLS:
        return None
    if hasattr(values, "as_py"):
        return values.as_py()
    if not hasattr(values, "__array__") or isinstance(values, np.generic):
        return values
    array = np.asarray(values)
    if array.dtype.names:
        raise InputError("got a structured array. Pass one of its fields, or one column per field.")
    if np.ma.is_masked(values):
        null = {"f": "NaN", "M": "NaT", "m": "NaT"}.get(array.dtype.kind)
        null = np.array(null, array.dtype if null else object)
        array = np.where(np.ma.getmaskarray(values), null, array)
    if array.dtype == object and any(kind.__name__ in NULLS for kind in set(map(type, array.flat))):
        cells = (None if type(cell).__name__ in NULLS else cell for cell in array.flat)
        array = np.fromiter(cells, object, array.size).reshape(array.shape)
    return array


def ordered_categories(values: Any) -> list | None:
    """List the categories of an ordered categorical of pandas or an Enum of polars, or of a series.

    None where a type has none, or no order.
    """
    kind = getattr(values, "dtype", values)
    ordered = getattr(kind, "ordered", type(kind).__name__ == "Enum")
    names = getattr(kind, "categories", None)
    return None if names is None or ordered is not True else list(names)


def as_objects(values: Any) -> np.ndarray:
    """Turn a container into an array of its cells, in one cell what is no array."""
    try:
        return np.asarray(unmasked(values), object)
    except Exception:  # Rows differ in length, or a container raises anything.
        return np.array(None)


def as_cells(values: Any, noun: str, count: int, kind: type | None = None) -> np.ndarray:
    """Turn a container into an array of one cell a text, or a label.

    Args:
        values: NumPy, JAX, pandas, polars or lists.
        noun: What messages call the values, in the plural.
        count: How many there must be.
        kind: Their type; by default what NumPy makes of them.

    Raises:
        InputError: They are no array of this shape.
    """
    try:
        cells = np.asarray(unmasked(values), kind)
    except Exception as error:  # A container may raise anything when it is made an array.
        reason = str(error).rstrip(".")
        raise InputError(f"{noun} must have one entry per text: {reason}.") from error
    check_count(cells, noun, count)
    return cells


def check_count(cells: np.ndarray, noun: str, count: int) -> None:
    """Refuse an array that is not of shape [count]."""
    if cells.shape != (count,):
        raise InputError(
            f"{noun} must have one entry for each of {count} texts; got shape {list(cells.shape)}."
        )


def as_numbers(values: Any, noun: str) -> np.ndarray:
    """Copy numbers of any container into a float64 array; what is masked or None becomes NaN.

    Args:
        values: NumPy, JAX, pandas, polars or lists.
        noun: What messages call the values, in the plural.

    Returns:
        The numbers, in the same shape.

    Raises:
        InputError: They are no numbers, complex ones, dates, or rows of different lengths.
    """
    try:
        array = np.asarray(unmasked(values))
        if array.dtype.kind in "cmM":
            raise TypeError(f"got type {array.dtype}")
        return np.array(array, np.float64)
    # Whatever a container raises that is asked to be an array, it is none of numbers.
    except Exception as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(f"{noun} must be numbers in rows of equal length: {reason}.") from error

"""When texts were labelled: numbers or dates, which grow with time."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from jaxtyping import Real

from cordial_ppl.containers import as_numbers, unmasked
from cordial_ppl.errors import InputError, Where, name_rows, quote

NEEDED = "order must be numbers that grow with time, or dates (ISO 8601 where they are text)"


def as_order(order: Any, count: int, where: Where | None = None) -> Real[np.ndarray, " n"]:
    """When texts were labelled; by default in the order in which they come.

    Dates come out as microseconds, and with a time zone are compared as of UTC.

    Args:
        order: numbers, dates (of NumPy, pandas, polars or Python) or text as ISO 8601 has it.
        count: how many texts there are.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: these are not as many as there are texts, one is missing or is neither, or
            dates with and without a time zone come together.
    """
    if order is None:
        return np.arange(count, dtype=np.float64)
    order = unmasked(order)
    try:
        cells = np.asarray(order)
        times = cells if cells.dtype.kind in "mM" else as_numbers(order)
    # Whatever a container raises that is asked to be an array.
    except Exception:
        times = cells = _as_cells(order)
    if cells.shape != (count,):
        raise InputError(
            f"order must have one number or date for each of {count} texts; got shape "
            f"{cells.shape}."
        )
    if times.dtype.kind == "O":
        times = _as_dates(times, where)
    finite = ~np.isnat(times) if times.dtype.kind in "mM" else np.isfinite(times)
    if not finite.all():
        places = name_rows(np.flatnonzero(~finite), where)
        raise InputError(f"order must be finite numbers or dates; not so in {places}.")
    return times if times.dtype.kind == "f" else times.view(np.int64)


def _as_cells(order: Any) -> np.ndarray:
    try:
        return np.asarray(order, object)
    except Exception as error:
        raise InputError(f"{NEEDED}: {error}.") from error


def _as_dates(cells: np.ndarray, where: Where | None) -> np.ndarray:
    """Moments of cells that are not all numbers."""
    found = [_as_moment(cell) for cell in cells]
    wrong = [row for row, moment in enumerate(found) if moment is None]
    if wrong:
        # Among numbers it is not they that are at fault.
        row = next((row for row in wrong if not _is_number(cells[row])), wrong[0])
        raise InputError(f"{NEEDED}; found {quote(cells[row])} in {name_rows([row], where)}.")
    moments = [moment for moment in found if moment is not None]
    zoned = np.array([moment.tzinfo is not None for moment in moments])
    if zoned.any() and not zoned.all():
        row = int(np.flatnonzero(zoned != zoned[0])[0])
        raise InputError(
            "order must have a time zone for every date or for none; not as the first is "
            f"{name_rows([row], where)}."
        )
    if zoned.any():
        moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    return np.array(moments, "datetime64[us]")


def _as_moment(cell: object) -> datetime | None:
    """The moment that a cell names: a date is its midnight."""
    if isinstance(cell, str):
        try:
            return datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day)
    # Comparing with itself finds the missing moment of pandas.
    return cell if isinstance(cell, datetime) and cell == cell else None


def _is_number(cell: Any) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except (OverflowError, TypeError, ValueError):
        return False

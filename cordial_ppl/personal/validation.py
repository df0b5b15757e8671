"""Checks of populations, labels, users and times, with the row of what is wrong."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from cordial_ppl.containers import as_numbers, unmasked
from cordial_ppl.errors import InputError, Where, name_rows, quote
from cordial_ppl.scale import Scale, parse_number
from cordial_ppl.scores import as_probabilities
from cordial_ppl.tables.columns import as_name


def as_population(probs: Any, size: int | None = None) -> Float[np.ndarray, "n K"]:
    """The population's probabilities, over ``size`` options; an ``InputError`` if they are not."""
    if probs is None:
        raise InputError(
            "probs are None: a calibrator that was loaded, or fitted to fewer than eight labels, "
            "has no out_of_fold_. Give its predict_proba of texts that it was not fitted to."
        )
    population = as_probabilities(probs)
    if size is not None and population.shape[1] != size:
        raise InputError(f"probs must have {size} columns; found {population.shape[1]}.")
    return population


def as_labelled(
    labels: Any, users: Any, order: Any, scale: Scale, count: int
) -> tuple[Int[np.ndarray, " n"], list[str], Real[np.ndarray, " n"]]:
    """Labels as positions on the scale, who gave them, and when; or an ``InputError``."""
    codes = scale.encode(labels)
    _as_cells("labels", codes, count)
    return codes, as_users(users, count), as_order(order, count)


def as_users(users: Any, count: int, where: Where | None = None) -> list[str]:
    """Names of users, one per text; a whole number is the same user whatever its type.

    Args:
        users: the names.
        count: number of texts n.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: they have another length, or one is missing.
    """
    names = [as_name(cell) for cell in _as_cells("users", users, count, object).tolist()]
    missing = [row for row, name in enumerate(names) if not name]
    if missing:
        raise InputError(f"every text needs a user; none is named in {name_rows(missing, where)}.")
    return names


def as_order(order: Any, count: int, where: Where | None = None) -> Real[np.ndarray, " n"]:
    """When texts were labelled, as numbers; by default the order of the rows.

    Args:
        order: numbers, dates (of NumPy, pandas, polars or Python) or text in ISO 8601.  A date is
            its midnight; dates with a time zone are compared in UTC.
        count: number of texts n.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: they have another length, one is neither number nor date, or only some dates
            have a time zone.
    """
    if order is None:
        return np.arange(count, dtype=np.float64)
    cells = _as_cells("order", order, count)
    if cells.dtype.kind in "mM":
        valid, times = ~np.isnat(cells), cells.view(np.int64)
    else:
        try:
            times = as_numbers(cells)
            valid = np.isfinite(times)
        except ValueError:
            cells = cells.astype(object)
            times, valid = _as_dates(cells)
    if not valid.all():
        row = int(valid.argmin())
        raise InputError(
            "order must be finite numbers that grow with time, or dates (ISO 8601 if text), of "
            "which all or none have a time zone; found "
            f"{quote(cells[row])} in {name_rows([row], where)}."
        )
    return times


def _as_dates(cells: np.ndarray) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Microseconds of dates, and whether each cell is one like the others."""
    moments = [_as_moment(cell) for cell in cells]
    zones = [moment.tzinfo is not None for moment in moments if moment]
    if not zones:
        # No date at all: a number is not what is wrong.
        valid = [parse_number(cell) is not None for cell in cells]
    else:
        valid = [bool(moment) and (moment.tzinfo is not None) == zones[0] for moment in moments]
    naive = [m and (m.astimezone(UTC) if m.tzinfo else m).replace(tzinfo=None) for m in moments]
    return np.array(naive, "datetime64[us]").view(np.int64), np.array(valid)


def _as_moment(cell: object) -> datetime | None:
    """The moment that a cell names, of a date its midnight; None if it names none."""
    try:
        return datetime.fromisoformat(str(cell).strip())
    except ValueError:
        return None


def _as_cells(name: str, values: Any, count: int, kind: type | None = None) -> np.ndarray:
    """One cell per text, from any container."""
    try:
        cells = np.asarray(unmasked(values), kind)
    except Exception as error:  # A container may raise anything.
        raise InputError(f"{name} must be one for each text: {error}.") from error
    if cells.shape != (count,):
        raise InputError(
            f"{name} must be one for each of {count} texts; got shape {list(cells.shape)}."
        )
    return cells

"""Validation of population predictions, users and times; messages name the row at fault."""

from datetime import UTC, datetime
from typing import Any
from unicodedata import normalize

import numpy as np
from jaxtyping import Float, Int, Real

from cordial_ppl.data.checks import warn_of_lookalikes
from cordial_ppl.data.containers import as_cells
from cordial_ppl.data.frames import aligned, check_columns
from cordial_ppl.data.labelling import as_weights
from cordial_ppl.data.numerals import PLAIN, has_thousands, parse_number
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, Where, name_rows, quote
from cordial_ppl.scores import as_probabilities
from cordial_ppl.tables.columns import as_name


def as_population(probs: Any, scale: Scale | None = None) -> Float[np.ndarray, "n K"]:
    """Validate the population's probabilities.

    Args:
        probs: one row for each text; the columns of a data frame in the order of the options.
        scale: the options, if known.

    Raises:
        InputError: they are missing, are no probabilities, or have other columns.
    """
    if probs is None:
        raise InputError(
            "probs is None. A calibrator fitted without folds or with fewer than eight labels has "
            "no fit_.out_of_fold. Pass predictions for texts outside the fit instead."
        )
    population = as_probabilities(probs)
    if scale is not None:
        if population.shape[1] != scale.size:
            raise InputError(f"probs must have {scale.size} columns; got {population.shape[1]}.")
        check_columns(probs, None, scale.options)
    return population


def as_users(users: Any, count: int, where: Where | None = None) -> list[str]:
    """Validate names of users, one per text; 3, 3.0 and "3" are one, however accents are written.

    Args:
        users: the names.
        count: number of texts n.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: they have another length, or one is missing.
    """
    cells = as_cells(users, "users", count, object).tolist()
    names = [normalize("NFC", as_name(cell)) for cell in cells]
    warn_of_lookalikes("users", names)
    if missing := [row for row, name in enumerate(names) if not name]:
        raise InputError(f"the user is missing in {name_rows(missing, where)}. Name every user.")
    return names


def as_labelled(
    probs: Any, labels: Any, users: Any, scale: Scale, weights: Any = None
) -> tuple[Float[np.ndarray, "n K"], Int[np.ndarray, " n"], list[str], Float[np.ndarray, " n"]]:
    """Validate predictions of the population, positions and weights of labels, users' names."""
    population = as_population(probs, scale)
    codes = scale.encode(aligned(probs, labels, "labels"))
    as_cells(codes, "labels", len(population))
    names = as_users(aligned(probs, users, "users"), len(population))
    weights = as_weights(aligned(probs, weights, "sample_weight"), np.arange(len(population)))
    return population, codes, names, weights


def as_order(order: Any, count: int, where: Where | None = None) -> Real[np.ndarray, " n"]:
    """Turn the times of labels into numbers; by default the order of the rows.

    Args:
        order: numbers, dates (of NumPy, pandas, polars or Python) or text in ISO 8601.  A date
            without a time is midnight; times with a zone are compared in UTC.
        count: number of texts n.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: they have another length, one is neither number nor date, or only some dates
            have a time zone.
    """
    if order is None:
        return np.arange(count, dtype=np.float64)
    cells = as_cells(order, "order", count)
    if cells.dtype.kind in "mM":
        valid, times = ~np.isnat(cells), cells.view(np.int64)
    else:
        cells = cells.tolist()
        kinds, times = map(np.array, zip(*map(_as_time, cells), strict=True))
        valid = kinds == next(filter(None, kinds), None)
    if not valid.all():
        row = int(valid.argmin())
        raise InputError(
            "order must be finite numbers that increase with time, or dates (as text: ISO 8601), "
            f"all with or all without a time zone; got {quote(cells[row])} in "
            f"{name_rows([row], where)}.{PLAIN * has_thousands(cells[row])}"
        )
    return times


def _as_time(cell: object) -> tuple[str, float]:
    """Return the kind of a time, empty if it is none, and the time: a number or seconds."""
    if (number := parse_number(cell)) is not None and not has_thousands(cell):
        return "number", number
    try:
        moment = datetime.fromisoformat(str(cell).strip())
    except ValueError:
        return "", 0
    kind = "date with a zone" if moment.tzinfo else "date"
    return kind, moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()

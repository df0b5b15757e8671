"""Data frames: predictions come back as the kind of table that the readings came in.

The library of a data frame is loaded by whoever made it, and is looked up, not imported.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError

LIBRARIES = "pandas", "polars"


def column_names(given: Any) -> np.ndarray | None:
    """Names of the columns of a data frame, where all are text; None for anything else."""
    for library in map(sys.modules.get, LIBRARIES):
        if library is not None and isinstance(given, library.DataFrame):
            names = list(given.columns)
            return np.array(names, object) if all(isinstance(n, str) for n in names) else None
    return None


def check_columns(given: Any, known: np.ndarray | None) -> None:
    """Refuse a data frame whose columns are not those of the fit: they count by their order.

    Args:
        given: The readings.
        known: Names of the columns of the fit; None where these had none.

    Raises:
        InputError: The columns have other names, or stand in another order.
    """
    names = column_names(given)
    if names is None or known is None or list(names) == list(known):
        return
    raise InputError(
        f"columns must be those of the fit, in their order: {', '.join(known)}; "
        f"got {', '.join(names)}."
    )


def like(given: Any, values: np.ndarray, names: Any) -> Any:
    """Return predictions in the kind of table that the readings came in.

    Args:
        given: The readings: a pandas or polars data frame, or anything else; of several readers'
            by name, the first counts.
        values: Predictions ``[m, K]`` or ``[m]``, one row for each row of the readings.
        names: Names of the K columns, or that of the one.

    Returns:
        A data frame ``[m, K]`` or a series ``[m]`` of the same library, in pandas with the index of
        the readings; without a data frame, ``values`` as they are.
    """
    if isinstance(given, Mapping):
        given = next(iter(given.values()), None)
    pandas, polars = (sys.modules.get(name) for name in LIBRARIES)
    if pandas is not None and isinstance(given, pandas.DataFrame):
        if values.ndim == 1:
            return pandas.Series(values, index=given.index, name=names)
        return pandas.DataFrame(values, index=given.index, columns=list(names))
    if polars is not None and isinstance(given, polars.DataFrame):
        if values.ndim == 1:
            return polars.Series(names, values)
        return polars.DataFrame(values, schema=[str(name) for name in names])
    return values

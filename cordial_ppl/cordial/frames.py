"""Data frames: predictions come back as the kind of table that the readings came in.

The library of a data frame is loaded by whoever made it, and is looked up, not imported.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.scale import in_order

LIBRARIES = "pandas", "polars"


def column_names(given: Any) -> np.ndarray | None:
    """Names of the columns of a data frame, where all are text; None for anything else."""
    for library in map(sys.modules.get, LIBRARIES):
        if library is not None and isinstance(given, library.DataFrame):
            names = list(given.columns)
            return np.array(names, object) if all(isinstance(n, str) for n in names) else None
    return None


def check_columns(given: Any, known: np.ndarray | None, options: Sequence[str]) -> None:
    """Refuse a data frame whose columns stand in another order than the options.

    Args:
        given: The readings.
        known: Names of the columns of the fit; None where these had none.
        options: The options in order, after which columns may be named: "logit_1", or "1".

    Raises:
        InputError: The columns have other names than those of the fit, name the options in
            another order, or end in numbers that neither rise nor fall.
    """
    names = column_names(given)
    if names is None:
        return
    ends = [name.rpartition("_")[2] for name in names]
    if known is None and len(set(ends)) == len(ends):
        named = sorted(ends) == sorted(options)
        known = names[[ends.index(end) for end in (options if named else in_order(ends))]]
    if known is not None and list(names) != list(known):
        raise InputError(
            f"columns must be, in this order: {', '.join(known)}; got {', '.join(names)}."
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

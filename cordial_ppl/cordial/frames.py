"""Data frames: predictions come back as the kind of table that the readings came in.

The library of a data frame is loaded by whoever made it, and is looked up, not imported.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np


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
    pandas, polars = (sys.modules.get(name) for name in ("pandas", "polars"))
    if pandas is not None and isinstance(given, pandas.DataFrame):
        if values.ndim == 1:
            return pandas.Series(values, index=given.index, name=names)
        return pandas.DataFrame(values, index=given.index, columns=list(names))
    if polars is not None and isinstance(given, polars.DataFrame):
        if values.ndim == 1:
            return polars.Series(names, values)
        return polars.DataFrame(values, schema=[str(name) for name in names])
    return values

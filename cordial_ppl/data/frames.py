"""Data frames: predictions come back as the kind of table that the readings came in.

An index of pandas says which labels belong to which readings. The libraries are looked up, not
imported: a data frame's library is loaded already.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from os.path import commonprefix
from typing import Any

import numpy as np

from cordial_ppl.data.containers import collected
from cordial_ppl.data.numerals import in_order
from cordial_ppl.data.scale import fold
from cordial_ppl.errors import InputError, list_names, quote


def column_names(readings: Any) -> np.ndarray | None:
    """Return the names of a data frame's columns, texts or numbers; None for anything else."""
    pandas, polars = map(sys.modules.get, ("pandas", "polars"))
    if polars is not None and isinstance(readings, polars.DataFrame | polars.LazyFrame):
        names = readings.collect_schema().names()
    elif hasattr(readings, "schema"):  # A table or a batch of Arrow.
        names = readings.schema.names
    elif pandas is not None and isinstance(readings, pandas.DataFrame):
        # Columns 0..K-1 are positions, not names.
        columns = [] if [*readings.columns] == [*range(readings.shape[1])] else readings.columns
        names = [f"{name:g}" if isinstance(name, Real) else name for name in columns]
    else:
        return None
    return np.array(names, object) if names and all(isinstance(n, str) for n in names) else None


def check_columns(readings: Any, fitted: np.ndarray | None, options: Sequence[str]) -> None:
    """Refuse a data frame whose columns are in another order than the options.

    Args:
        readings: the readings.
        fitted: names of the columns of the fit; None where they had none.
        options: the options in order, after which columns may be named: "logit_1", or "1".

    Raises:
        InputError: the columns have other names than those of the fit, name the options in
            another order, or end in numbers that are not in order.
    """
    names = column_names(readings)
    if names is None:
        return
    ends, order = _without_prefix(names), _without_prefix(options)
    if sorted(ends) != sorted(order):
        ends = [name.rpartition("_")[2] for name in names]
        order = options if sorted(ends) == sorted(options) else in_order(ends)
    if fitted is None and len(set(ends)) == len(ends):
        fitted = names[[ends.index(end) for end in order]]
    if fitted is not None and list(names) != list(fitted):
        raise InputError(
            f"expected columns {', '.join(fitted)}, in this order; got {', '.join(names)}."
        )


def _without_prefix(names: Iterable[str]) -> list[str]:
    """Remove what all names share up to a "_" or a blank, and capitals if names stay distinct."""
    folded = [fold(name) for name in names]
    distinct = folded if len(set(folded)) == len(folded) else names
    joined = [name.replace(" ", "_") for name in distinct]
    shared = commonprefix(joined).rfind("_") + 1
    return [name[shared:] for name in joined]


def _first_frame(readings: Any) -> Any:
    """Return the first data frame of a mapping of readers; anything else as it is."""
    if not isinstance(readings, Mapping):
        return readings
    return next((table for table in readings.values() if hasattr(table, "columns")), None)


def aligned(readings: Any, values: Any, noun: str) -> Any:
    """Put what is known of each text in the order of the readings, where pandas names both.

    Args:
        readings: the readings: a data frame, or anything else; for a mapping of readers, its first
            data frame.
        values: labels, groups, covariates by name or readings of the same texts; only a series or
            data frame of pandas has an index.
        noun: what messages call the values.

    Returns:
        The values, in the order of the readings' index.

    Raises:
        InputError: both have an index, and these do not hold the same names: by position, texts
            would be mixed up.
    """
    readings = _first_frame(readings)
    pandas, values = sys.modules.get("pandas"), collected(values)
    if isinstance(values, Mapping):
        return {k: aligned(readings, v, f"{noun} {quote(k)}") for k, v in values.items()}
    framed = (pandas.DataFrame, pandas.Series) if pandas else ()
    if not (isinstance(readings, framed) and isinstance(values, framed)):
        return values
    index, labels = readings.index, values.index
    if labels.equals(index):
        return values
    if len(labels) != len(index) or not (labels.is_unique and labels.isin(index).all()):
        name = noun if noun.isidentifier() else "values"
        advice = f" If the rows are in the same order, pass {name}.to_numpy()."
        raise InputError(
            f"{noun} and readings have different indexes ({list_names(map(str, labels), 1)} versus "
            f"{list_names(map(str, index), 1)}).{advice * (len(labels) == len(index))}"
        )
    return values.loc[index]


def like(readings: Any, values: np.ndarray, names: Any) -> Any:
    """Return predictions in the kind of table that the readings came in.

    Args:
        readings: the readings: a data frame of pandas or polars, or anything else; for a mapping of
            readers, its first data frame.
        values: predictions ``[m, K]`` or ``[m]``, one row for each row of the readings.
        names: names of the K columns, or that of the one.

    Returns:
        A data frame ``[m, K]`` or a series ``[m]`` of the same library, in pandas with the index of
        the readings; ``values`` themselves if the readings are not a data frame.
    """
    readings = _first_frame(readings)
    pandas, polars = map(sys.modules.get, ("pandas", "polars"))
    if pandas is not None and isinstance(readings, pandas.DataFrame):
        if values.ndim == 1:
            return pandas.Series(values, index=readings.index, name=names)
        return pandas.DataFrame(values, index=readings.index, columns=list(names))
    if polars is not None and isinstance(readings, polars.DataFrame | polars.LazyFrame):
        if values.ndim == 1:
            return polars.Series(names, values)
        return polars.DataFrame(values, schema=[str(name) for name in names])
    return values

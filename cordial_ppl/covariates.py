"""The door for covariates: what is known of each text beside its reading, such as its length."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cordial_ppl.containers import as_numbers
from cordial_ppl.errors import InputError, quote


def as_covariates(
    covariates: Mapping[str, Any] | None,
    rows: int,
    needed: Sequence[str] | None = None,
    levels: Sequence[tuple[str, int]] = (),
) -> dict[str, np.ndarray]:
    """Check per-text covariates.

    Args:
        covariates: numbers by name, each array-like of shape ``[n]``.
        rows: number of texts n.
        needed: names that the fit had, which must all be there; others are left out.  By default
            whatever is given is kept.
        levels: covariates that must be whole numbers 0..L-1, and their L.

    Returns:
        Float64 arrays by name, each of shape ``[n]``.

    Raises:
        InputError: a covariate is missing, has another shape, or holds what is not a finite number,
            or one with levels what is none of them.
    """
    if covariates is not None and not hasattr(covariates, "keys"):
        raise InputError(f"covariates must be numbers by name; got {quote(covariates)}.")
    given = {} if covariates is None else {name: covariates[name] for name in covariates.keys()}
    if needed is not None:
        missing = [name for name in needed if name not in given]
        if missing:
            raise InputError(f"the fit had the covariate {missing[0]!r}: give it here too.")
        given = {name: given[name] for name in needed}
    columns = {name: _as_column(name, values, rows) for name, values in given.items()}
    for name, count in levels:
        column = columns.get(name, np.zeros(1))
        bad = np.flatnonzero((column < 0) | (column >= count) | (column != np.floor(column)))
        if bad.size:
            raise InputError(
                f"covariate {quote(name)} must be whole numbers 0..{count - 1}, as its channel has "
                f"{count}; found {column[bad[0]]:g} in row {bad[0]}."
            )
    return columns


def _as_column(name: str, values: Any, rows: int) -> np.ndarray:
    try:
        column = as_numbers(values)
    except ValueError as error:
        raise InputError(f"covariate {quote(name)} must be numbers: {error}.") from error
    if column.shape != (rows,):
        raise InputError(
            f"covariate {quote(name)} must have one number a text, shape ({rows},); got shape "
            f"{column.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise InputError(f"covariate {quote(name)} is {column[bad[0]]} in row {bad[0]}.")
    return column

"""Validation of covariates: numbers known of each text, such as its length."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from cordial_ppl.data.containers import as_numbers, check_count
from cordial_ppl.errors import InputError, quote


def as_covariates(
    covariates: Mapping[str, Any] | None,
    rows: int,
    needed: Sequence[str] | None = None,
    levels: Mapping[str, int] | None = None,
) -> dict[str, np.ndarray]:
    """Validate per-text covariates.

    Args:
        covariates: numbers by name, each array-like of shape ``[n]``.
        rows: number of texts n.
        needed: names that the fit had, which must all be there; others are left out.  By default
            all are kept.
        levels: covariates that must be whole numbers 0..L-1, and their L.

    Returns:
        Float64 arrays by name, each of shape ``[n]``.

    Raises:
        InputError: a covariate is missing, has another shape, is not finite somewhere, or is not
            one of its levels.
    """
    if covariates is not None and not hasattr(covariates, "keys"):
        raise InputError(f"covariates must map names to numbers; got {quote(covariates)}.")
    values = {} if covariates is None else {name: covariates[name] for name in covariates.keys()}
    columns: dict[str, np.ndarray] = {}
    for name in values if needed is None else needed:
        if name not in values:
            raise InputError(f"the fit used the covariate {name!r}: give it here too.")
        noun = f"covariate {quote(name)}"
        column = as_numbers(values[name], noun)
        check_count(column, noun, rows)
        wrong, rule = find_wrong(column, (levels or {}).get(name))
        if wrong.size:
            value = f"it is {column[wrong[0]]:g} in row {wrong[0]}"
            raise InputError(f"covariate {quote(name)} must be {rule}; {value}.")
        columns[name] = column
    return columns


def find_wrong(
    column: Float64[np.ndarray, " n"], levels: int | None
) -> tuple[Int64[np.ndarray, " m"], str]:
    """Find what cannot be values of a covariate.

    Args:
        column: its values.
        levels: how many levels it has, if it numbers something.

    Returns:
        The rows of wrong values, and what all must be.
    """
    wrong, rule = ~np.isfinite(column), "finite numbers"
    if levels is not None:
        wrong |= (column < 0) | (column >= levels) | (column != np.floor(column))
        rule = f"whole numbers 0..{levels - 1}, as its channel has {levels} levels"
    return np.flatnonzero(wrong), rule

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
        covariates: numbers by name, each array-like of shape ``[n]``, or vectors ``[n, D]``.
        rows: number of texts n.
        needed: names that the fit had, which must all be there; others are left out.  By default
            all are kept.
        levels: covariates that must be whole numbers 0..L-1, and their L.

    Returns:
        Float64 arrays by name, each of shape ``[n]``: of a vector one an entry, "embedding[0]"
        and so on, which a channel's model gets whole.

    Raises:
        InputError: a covariate is missing, has another shape, is not finite somewhere, or is not
            one of its levels.
    """
    if covariates is not None and not hasattr(covariates, "keys"):
        raise InputError(f"covariates must map names to numbers; got {quote(covariates)}.")
    values = {} if covariates is None else {name: covariates[name] for name in covariates.keys()}
    columns: dict[str, np.ndarray] = {}
    for name, cells in values.items():
        if needed is None or name in needed or f"{name}[0]" in needed:
            columns |= split_vectors(name, as_numbers(cells, f"covariate {quote(name)}"))
    if needed is not None and (other := [name for name in columns if name not in needed]):
        problem = "has a different number of entries than in the fit"
        raise InputError(f"covariate {quote(other[0].partition('[')[0])} {problem}.")
    names = list(columns) if needed is None else needed
    for name in names:
        if name not in columns:
            raise InputError(f"covariate {name!r} is missing. Pass one value per text.")
        noun, column = f"covariate {quote(name)}", columns[name]
        check_count(column, noun, rows)
        wrong, rule = find_wrong(column, (levels or {}).get(name))
        if wrong.size:
            value = f"{column[wrong[0]]:g} in row {wrong[0]}"
            raise InputError(f"{noun} must contain only {rule}; found {value}.")
    return {name: columns[name] for name in names}


def split_vectors(name: str, cells: np.ndarray) -> dict[str, np.ndarray]:
    """Take vectors ``[n, D]`` apart: ``name[0]``, ``name[1]`` ...; what is no such stays whole."""
    if cells.ndim != 2:
        return {name: cells}
    return {f"{name}[{index}]": column for index, column in enumerate(cells.T)}


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
        rule = f"whole numbers 0..{levels - 1} (the channel has {levels} levels)"
    return np.flatnonzero(wrong), rule

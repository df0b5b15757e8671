"""The door: populations, labels, users and settings are checked once, here."""

from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.containers import unmasked
from cordial_ppl.errors import InputError, Where, name_rows, quote
from cordial_ppl.scale import Scale, parse_number
from cordial_ppl.scores import as_probabilities
from cordial_ppl.tables.rows import as_name

SIGMAS = ("posterior", "cross-validated")


def as_sigma(sigma: Any) -> Any:
    """How the standard deviation of users' values is found, or the number that it is.

    Raises:
        InputError: it is neither.
    """
    if isinstance(sigma, str):
        known = sigma in SIGMAS
    else:
        number = parse_number(sigma) if isinstance(sigma, Real) else None
        known = number is not None and number > 0 and not isinstance(sigma, bool)
    if not known:
        raise InputError(
            f"sigma must be 'posterior', 'cross-validated' or a number above 0; got {quote(sigma)}."
        )
    return sigma


def as_population(probs: Any, scale: Scale) -> Float[np.ndarray, "n K"]:
    """A population's probabilities of the options of a scale.

    Raises:
        InputError: they are no distributions, or over another number of options.
    """
    if probs is None:
        raise InputError(
            "probs are None: a judge that was loaded, or fitted to fewer than eight labels, has no "
            "out_of_fold_. Give its predict_proba of texts that it has not seen."
        )
    population = as_probabilities(probs)
    if population.shape[1] != scale.size:
        raise InputError(f"probs must have {scale.size} columns; found {population.shape[1]}.")
    return population


def as_labelled(
    probs: Float[np.ndarray, "n K"], labels: Any, users: Any, scale: Scale
) -> tuple[Int[np.ndarray, " n"], list[str]]:
    """Labels as positions on the scale, and who gave them.

    Args:
        probs: the population's probabilities.
        labels: options, as names or as whole numbers 0..K-1.
        users: who gave each label.
        scale: the scale.

    Raises:
        InputError: they cannot be used, or are not as many as the probabilities.
    """
    codes = scale.encode(labels)
    if len(codes) != len(probs):
        raise InputError(
            f"every label needs one row of probs: {len(probs)} rows came with {len(codes)} labels."
        )
    return codes, as_users(users, len(probs))


def as_users(users: Any, count: int, where: Where | None = None) -> list[str]:
    """Names of users, one a text; whole numbers are the same user whatever their type.

    Args:
        users: the names.
        count: how many texts there are.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: there are not as many as texts, or one is missing.
    """
    try:
        named = np.asarray(unmasked(users), object)
        cells = named.tolist() if named.ndim == 1 else None
        known = {cell: as_name(cell) for cell in set(cells or ())}
    # Whatever a container raises that is asked to be an array, or a cell that is no name.
    except Exception:
        cells, known = None, {}
    if cells is None or len(cells) != count:
        found = "none" if cells is None else str(len(cells))
        raise InputError(
            f"users must name one user for each of {count} texts, in one dimension; found {found}."
        )
    names = [known[cell] for cell in cells]
    missing = np.flatnonzero([not name for name in names])
    if missing.size:
        raise InputError(f"every text needs a user; none is named in {name_rows(missing, where)}.")
    return names

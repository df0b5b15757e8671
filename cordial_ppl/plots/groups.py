"""Texts in groups of about as many, by one number of each."""

import numpy as np
from jaxtyping import Float, Int


def group(
    values: Float[np.ndarray, " n"], count: int, decimals: int
) -> list[Int[np.ndarray, " rows"]]:
    """Split texts at the quantiles of their values; those with the same value stay together.

    Args:
        values: one number a text, [n].
        count: how many groups there are at most.
        decimals: to which values are rounded before they are told apart.

    Returns:
        The rows of each group, lowest values first.
    """
    rounded = np.round(values, decimals)
    edges = np.unique(np.quantile(rounded, np.linspace(0, 1, count + 1)[1:-1]))
    place = np.searchsorted(edges, rounded, side="right")
    return [np.flatnonzero(place == own) for own in np.unique(place)]

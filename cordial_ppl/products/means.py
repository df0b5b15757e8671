"""Means over draws of labels.

A fit that failed is in no mean: means are over the draws in which all compared methods succeeded.
A method that lacks so many draws that half of them or fewer would be left is not compared; in a
pair two methods are compared over whatever draws they share.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.methods import label


class Mean(NamedTuple):
    """A score over draws; NaN where there are too few.

    Attributes:
        mean: mean over the draws.
        error: its standard error over the draws.
        draws: how many there are.
    """

    mean: float
    error: float
    draws: int


def succeeded(cell: Cell, method: str) -> Bool[np.ndarray, " S"]:
    """Return in which draws a method's fit succeeded."""
    return np.isfinite(score_row(cell, method, "log_loss"))


def score_row(cell: Cell, method: str, metric: str) -> Float[np.ndarray, " S"]:
    """Return a method's score in each draw."""
    return cell.scores[metric][cell.methods.index(method)]


def shared_draws(cell: Cell, methods: Sequence[str]) -> dict[str, Bool[np.ndarray, " S"]]:
    """Return in which draws each method is compared: the same for all, none for one left out.

    From the method with the most draws on, each is compared if more than half of these draws are
    left with it: no method, nor several together, can take most of them from the others.
    """
    fine = {method: succeeded(cell, method) for method in methods}
    ranked = sorted(methods, key=lambda method: -fine[method].sum())
    shared, compared = fine[ranked[0]], set()
    most = shared.sum()
    for method in ranked:
        left = shared & fine[method]
        if 2 * left.sum() > most:
            shared = left
            compared.add(method)
    return {m: shared if m in compared else np.zeros_like(shared) for m in methods}


def paired_draws(cell: Cell, one: str, other: str) -> Bool[np.ndarray, " S"]:
    """Return the draws in which two methods succeeded."""
    return succeeded(cell, one) & succeeded(cell, other)


def mean_of(values: Float[np.ndarray, " draws"]) -> Mean:
    """Return the mean over draws with its standard error."""
    draws = len(values)
    error = float(values.std(ddof=1) / np.sqrt(draws)) if draws > 1 else np.nan
    return Mean(float(values.mean()) if draws else np.nan, error, draws)


def mean_scores(cell: Cell, methods: Sequence[str], metric: str = "log_loss") -> dict[str, Mean]:
    """Return each method's score over `shared_draws`; no draw for one that is left out."""
    shared = shared_draws(cell, methods)
    return {m: mean_of(score_row(cell, m, metric)[draws]) for m, draws in shared.items()}


def mean_pair(cell: Cell, ours: str, other: str) -> tuple[Mean, Mean]:
    """Return two methods' log losses over the draws that both have; without any, ours over its."""
    both = paired_draws(cell, ours, other)
    draws = both if both.any() else succeeded(cell, ours)
    here, theirs = (score_row(cell, method, "log_loss") for method in (ours, other))
    return mean_of(here[draws]), mean_of(theirs[both])


def count_failures(cells: Iterable[Cell], methods: Sequence[str]) -> str:
    """Say how many fits of these methods failed, and what that means for means."""
    failed, fits = dict.fromkeys(methods, 0), 0
    for cell in cells:
        for method in methods:
            fine = succeeded(cell, method)
            failed[method] += int((~fine).sum())
            fits += len(fine)
    if not any(failed.values()):
        return f"None of the {fits} fits failed."
    named = ", ".join(f"{label(method)} {count}" for method, count in failed.items() if count)
    return (
        f"{sum(failed.values())} of the {fits} fits failed ({named}); means are over the draws "
        "that the compared methods share, and a method with which half of them or fewer would be "
        "left is not compared (–); differences of two methods are over the draws that both have."
    )

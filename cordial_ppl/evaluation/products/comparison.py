"""Which methods are compared, and over which draws of labels.

A fit that failed is in no mean: means are over the draws in which all compared methods succeeded.
A method that lacks so many draws that half of them or fewer would be left is not compared; in a
pair two methods are compared over whatever draws they share.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.evaluation.sweep.methods import label
from cordial_ppl.evaluation.sweep.results import Cell

OURS = ("cordial", "paper", "paper-one-count")
"""Ours unless the caller names another method: the first of them that the sweep has."""


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


def our_method(results: Results, ours: str | None = None) -> str:
    """Return the method that the others are compared with.

    Raises:
        InputError: the sweep does not have it, or none of `OURS`.
    """
    if ours is not None:
        need_methods(results, ours)
        return ours
    found = [name for name in OURS if name in results.methods]
    if not found:
        raise InputError(
            f"the sweep has none of the methods {', '.join(OURS)}: add one to methods in its file, "
            f"or name another as ours; it has {', '.join(results.methods)}."
        )
    return found[0]


def need_methods(results: Results, *methods: str) -> None:
    """Raise an `InputError` that names the first method that the sweep does not have."""
    for method in methods:
        if method not in results.methods:
            raise InputError(
                f"this needs the method {method!r}: add it to methods in the sweep's file; it has "
                f"{', '.join(results.methods)}."
            )


def need_budgets(results: Results, *budgets: int) -> None:
    """Raise an `InputError` that names the first budget that a task and reader do not have."""
    for task, reader in results.pairs:
        found = results.budgets(task, reader)
        for n in budgets:
            if n not in found:
                raise InputError(
                    f"this needs fits to {n} labels, which {task!r} read by {reader!r} lacks: add "
                    f"{n} to budgets in the sweep's file and run it; it has "
                    f"{', '.join(map(str, found))}."
                )


def succeeded(cell: Cell, *methods: str) -> Bool[np.ndarray, " S"]:
    """Return in which draws the fits of all these methods succeeded."""
    fine = [np.isfinite(cell[method].scores["log_loss"]) for method in methods]
    return np.logical_and.reduce(fine)


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
    return {method: shared & (method in compared) for method in methods}


def mean_of(values: Float[np.ndarray, " draws"]) -> Mean:
    """Return the mean over draws with its standard error."""
    draws = len(values)
    error = float(values.std(ddof=1) / np.sqrt(draws)) if draws > 1 else np.nan
    return Mean(float(values.mean()) if draws else np.nan, error, draws)


def mean_scores(cell: Cell, methods: Sequence[str], metric: str = "log_loss") -> dict[str, Mean]:
    """Return each method's score over `shared_draws`; no draw for one that is left out."""
    shared = shared_draws(cell, methods)
    return {m: mean_of(cell[m].scores[metric][draws]) for m, draws in shared.items()}


def mean_pair(cell: Cell, ours: str, other: str) -> tuple[Mean, Mean]:
    """Return two methods' log losses over the draws that both have; without any, ours over its."""
    both = succeeded(cell, ours, other)
    draws = both if both.any() else succeeded(cell, ours)
    here, theirs = (cell[method].scores["log_loss"] for method in (ours, other))
    return mean_of(here[draws]), mean_of(theirs[both])


def count_failures(cells: Iterable[Cell], methods: Sequence[str]) -> str:
    """Say how many fits of these methods failed, and what that means for means."""
    fine = {method: [] for method in methods}
    for cell in cells:
        for method in methods:
            fine[method].extend(succeeded(cell, method))
    failed = {method: len(found) - sum(found) for method, found in fine.items()}
    fits = sum(map(len, fine.values()))
    if not any(failed.values()):
        return f"None of the {fits} fits failed."
    named = ", ".join(f"{label(method)} {count}" for method, count in failed.items() if count)
    return (
        f"{sum(failed.values())} of the {fits} fits failed ({named}); means are over the draws "
        "that the compared methods share, and a method with which half of them or fewer would be "
        "left is not compared (–); differences of two methods are over the draws that both have."
    )

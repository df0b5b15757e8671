"""What our method is compared with, and where it has the lowest log loss."""

from collections.abc import Mapping

import numpy as np
from comparison import Cell, Key, Mean, Results, mean_of, mean_scores, succeeded
from styles import FLAT, FORMS

from cordial_ppl.errors import InputError

UNFITTED = ("raw", "histogram", "batch")


def rivals(results: Results, ours: str) -> tuple[str, ...]:
    """Return what ours is compared with: every method that is no other form of it.

    Stacks have the pseudo-counts of ours: of one without, those that have none are the rivals.
    """
    alike, flat = forms(results, ours), ours.endswith(FLAT)
    both = {m for m in results.methods if m + FLAT in results.methods}
    apart = both if flat else {m + FLAT for m in both}
    others = tuple(m for m in results.methods if m not in alike and m not in apart)
    if not others:
        raise InputError(f"this compares {ours!r} with other methods, and the sweep has none.")
    return others


def calibrators(results: Results, ours: str) -> tuple[str, ...]:
    """Return the rivals that wins are counted against: with ours nine, as the paper counts them.

    What learns nothing of a reader from its labels is no calibrator, unless there is nothing else.
    """
    others = rivals(results, ours)
    return tuple(method for method in others if method not in UNFITTED) or others


def forms(results: Results, ours: str) -> tuple[str, ...]:
    """Return ours and, where it is one of `FORMS`, its other forms that the sweep has."""
    alike = FORMS if ours in FORMS else (ours,)
    return tuple(method for method in results.methods if method in alike)


def leads(results: Results, ours: str, least: int, most: int) -> dict[Key, float]:
    """Return by how much log loss (nats) ours leads the best rival, by cell; negative: it trails.

    Cells have from `least` to `most` labels; NaN where ours or all others are left out.
    """
    others, margins = calibrators(results, ours), {}
    for key, cell in results.cells.items():
        if least <= key[2] <= most:
            means = {m: each.mean for m, each in mean_scores(cell, (ours, *others)).items()}
            best = min((means[m] for m in others if not np.isnan(means[m])), default=np.nan)
            margins[key] = best - means[ours]
    return margins


def name_unknown(leads: Mapping[Key, float]) -> str:
    """Say where a lead is not known; nothing where all are."""
    named = "; ".join(", ".join(map(str, key)) for key, lead in leads.items() if np.isnan(lead))
    return f" Unknown, with too few shared draws: {named}." if named else ""


def need_budgets(results: Results, *budgets: int) -> None:
    """Raise an `InputError` that names the first budget that a task and reader do not have."""
    for task, reader in results.pairs:
        tried = results.budgets(task, reader)
        for n in budgets:
            if n not in tried:
                raise InputError(
                    f"this needs fits to {n} labels, which {task!r} read by {reader!r} lacks; it "
                    f"has {', '.join(map(str, tried))}."
                )


def mean_pair(
    cell: Cell, ours: str, other: str, kept: np.ndarray | bool = True
) -> tuple[Mean, Mean]:
    """Return two methods' log losses over the draws that both have, of those that are kept.

    Without any, ours is over its own.
    """
    both = succeeded(cell, ours, other) & kept
    draws = both if both.any() else succeeded(cell, ours) & kept
    here, there = (cell[method].scores["log_loss"] for method in (ours, other))
    return mean_of(here[draws]), mean_of(there[both])

"""Label equivalents: the numbers of labels with which other methods match ours."""

import numpy as np
from comparison import Results, count_failures, jackknife_error, need_methods
from numpy.typing import ArrayLike
from product import NOTHING, Product, Record, number, spread, tabulate
from ranking import mean_pair, need_budgets
from styles import OURS, label

from cordial_ppl.errors import InputError

LABELS = 20
"""Labels of ours."""


def equivalent_labels(results: Results) -> Product:
    """Return the product `equivalents`: labels with which other methods have the loss of ours.

    A method's learning curve is its mean log loss by number of labels; see `label_equivalents`.
    """
    need_methods(results, OURS)
    others = [method for method in results.methods if method != OURS]
    if not others:
        raise InputError(f"this compares {OURS!r} with other methods, and the sweep has none.")
    need_budgets(results, LABELS)
    table = tabulate(_match(results, *pair, method) for pair in results.pairs for method in others)
    return Product(
        name="equivalents",
        title=f"Labels that match {label(OURS)} with {LABELS}",
        caption=f"Number of labels with which each method has the mean log loss that {label(OURS)} "
        f"has with {LABELS}, read off its learning curve, ± jackknife standard errors over the "
        "draws of labels; ≤: with fewer than were tried; >: not with as many as were tried.",
        table=table,
        shown=spread(table, ("method",), ("task", "reader"), _shown),
        notes=(count_failures(results.cells.values(), results.methods),),
    )


def label_equivalents(budgets: ArrayLike, losses: ArrayLike, reached: float) -> float:
    """Return the labels with which a method first reaches a loss, read off its learning curve.

    Between two budgets, which rise, the curve is straight in `log n`:
    `log N = log n_0 + (L_0 - reached) / (L_0 - L_1) log(n_1 / n_0)`.  It is the least budget where
    the curve begins at or below the loss, and infinite where it never gets there.
    """
    n, curve = np.asarray(budgets, float), np.asarray(losses, float)
    below = np.flatnonzero(curve <= reached)
    if not len(below):
        return float("inf")
    k = int(below[0])
    if k == 0:
        return float(n[0])
    share = (curve[k - 1] - reached) / (curve[k - 1] - curve[k])
    return float(n[k - 1] * (n[k] / n[k - 1]) ** share)


def _match(results: Results, task: str, reader: str, method: str) -> Record:
    """Return a row on where a method's curve reaches ours, both over the draws that they share.

    Subsets of a draw are nested: for the error, it is left out of all budgets at once.
    """
    cells = {n: results.cells[task, reader, n] for n in results.budgets(task, reader)}

    def curve(draws: np.ndarray | bool = True) -> tuple[dict[int, float], float]:
        pairs = {n: mean_pair(cell, OURS, method, draws) for n, cell in cells.items()}
        means = {n: other.mean for n, (_, other) in pairs.items() if other.draws}
        return means, pairs[LABELS][0].mean

    def match(draws: np.ndarray | bool = True) -> float:
        means, reached = curve(draws)
        comparable = bool(means) and np.isfinite(reached)
        return label_equivalents([*means], [*means.values()], reached) if comparable else np.nan

    means, reached = curve()
    return {
        "task": task,
        "reader": reader,
        "method": method,
        "n": LABELS,
        "log_loss": reached,
        "labels": match(),
        "standard_error": jackknife_error(match, len(cells[LABELS][OURS].scores["log_loss"])),
        "fewest": min(means, default=None),
        "most": max(means, default=None),
    }


def _shown(record: Record) -> str:
    if record["labels"] is None:
        return NOTHING
    if record["labels"] == np.inf:
        return f"> {record['most']}"
    least = "≤ " if record["labels"] == record["fewest"] else ""
    return least + number(record["labels"], ".0f", record["standard_error"])

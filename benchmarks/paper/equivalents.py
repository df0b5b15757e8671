"""Label equivalents: the numbers of labels with which other methods match ours."""

import numpy as np
from comparison import Results, count_failures, need_methods
from jackknife import jackknife_error
from numpy.typing import ArrayLike
from product import NOTHING, Product, Record, number, spread, tabulate
from ranking import mean_pair, need_budgets
from styles import OURS, label

from cordial_ppl.errors import InputError


def equivalent_labels(results: Results, *, ours: str = OURS, n: int = 20) -> Product:
    """Return with how many labels each other method reaches the log loss of ours with n labels.

    Its learning curve is its mean log loss by number of labels, straight in between on a log axis;
    see `label_equivalents`.

    Args:
        results: the sweep.
        ours: our method.
        n: our number of labels.

    Returns:
        The product `equivalents`; infinite where the curve never gets there.

    Raises:
        InputError: the sweep lacks ours, other methods, or the budget.
    """
    need_methods(results, ours)
    others = [method for method in results.methods if method != ours]
    if not others:
        raise InputError(f"this compares {ours!r} with other methods, and the sweep has none.")
    need_budgets(results, n)
    table = tabulate(
        _match(results, task, reader, method, ours, n)
        for task, reader in results.pairs
        for method in others
    )
    return Product(
        name="equivalents",
        title=f"Labels that match {label(ours)} with {n}",
        caption=f"Number of labels with which each method has the mean log loss that {label(ours)} "
        f"has with {n}, read off its learning curve, ± jackknife standard errors over the draws of "
        "labels; ≤: with fewer than were tried; >: not with as many as were tried.",
        table=table,
        shown=spread(table, ("method",), ("task", "reader"), _shown),
        notes=(count_failures(results.cells.values(), results.methods),),
    )


def label_equivalents(budgets: ArrayLike, losses: ArrayLike, reached: float) -> float:
    """Return the labels with which a method first reaches a loss, read off its learning curve.

    Between two budgets the curve is straight in `log n`:
    `log N = log n_0 + (L_0 - reached) / (L_0 - L_1) log(n_1 / n_0)`.

    Args:
        budgets: numbers of labels, positive and rising.
        losses: the method's mean log loss (nats) at each, finite.
        reached: the log loss (nats) to match.

    Returns:
        A number of labels; the least budget where the curve begins at or below the loss, infinite
        where it never gets there.
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


def _match(results: Results, task: str, reader: str, method: str, ours: str, n: int) -> Record:
    """Return a row on where a method's curve reaches ours, both over the draws that they share.

    Subsets of a draw are nested: for the error, it is left out of all budgets at once.
    """
    cells = {k: results.cells[task, reader, k] for k in results.budgets(task, reader)}

    def curve(draws: np.ndarray | bool = True) -> tuple[dict[int, float], float]:
        pairs = {k: mean_pair(cell, ours, method, draws) for k, cell in cells.items()}
        return {k: other.mean for k, (_, other) in pairs.items() if other.draws}, pairs[n][0].mean

    def match(draws: np.ndarray | bool = True) -> float:
        means, reached = curve(draws)
        comparable = bool(means) and np.isfinite(reached)
        return label_equivalents([*means], [*means.values()], reached) if comparable else np.nan

    means, reached = curve()
    return {
        "task": task,
        "reader": reader,
        "method": method,
        "n": n,
        "log_loss": reached,
        "labels": match(),
        "standard_error": jackknife_error(match, len(cells[n][ours].scores["log_loss"])),
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

"""Table 1: mean log loss of every method."""

from collections.abc import Mapping

import numpy as np
from comparison import Key, Results, count_failures, mean_scores, need_methods
from product import Product, Record, bold, number, spread, tabulate
from ranking import calibrators, forms, leads, mean_pair, name_unknown, need_budgets
from styles import OURS, label

BUDGETS = (20, 200)
"""What the paper's table shows."""

FEW = 100
"""Most labels for which wins are counted."""


def loss_table(results: Results, *, ours: str = OURS) -> Product:
    """Return the product `table`, of `BUDGETS` or else of all; it counts where ours is lowest."""
    need_methods(results, ours)
    tried = {n for _, _, n in results.cells}
    chosen = [n for n in BUDGETS if n in tried] or sorted(tried)
    need_budgets(results, *chosen)
    keys = [key for key in results.cells if key[2] in chosen]
    table = tabulate(record for key in keys for record in _loss_records(results, key))
    numbers = " and ".join(map(str, chosen))
    others = [form for form in forms(results, ours) if form != ours]
    counted = [_count_wins(results, form) for form in (ours, *others)]
    counted += [_compare_forms(results, ours, other) for other in others]
    return Product(
        name="table",
        title="Log loss",
        caption=f"Mean log loss (nats) on the report texts with {numbers} labels, over the draws "
        "of labels, ± its standard error over these draws; bold: the lowest.",
        table=table,
        shown=spread(table, ("reader", "method"), ("task", "n"), _shown),
        notes=(*counted, count_failures(results.cells.values(), results.methods)),
    )


def _loss_records(results: Results, key: Key) -> list[Record]:
    """Return each method's mean log loss in a cell, its error, and whether it is the lowest."""
    (task, reader, n), means = key, mean_scores(results.cells[key], results.methods)
    best = min((score.mean for score in means.values() if score.draws), default=None)
    return [
        {"task": task, "reader": reader, "n": n, "method": method}
        | {"log_loss": score.mean, "standard_error": score.error, "best": score.mean == best}
        | {"draws": score.draws}
        for method, score in means.items()
    ]


def _count_wins(results: Results, ours: str) -> str:
    """Say in how many settings ours is lowest, and where it is not."""
    behind = {key: -lead for key, lead in leads(results, ours, 1, FEW).items()}
    most = len(calibrators(results, ours)) + 1
    return (
        f"{label(ours)} has the lowest log loss of {most} calibrators in {_count(behind)} settings "
        f"(task, reader, number of labels) with at most {FEW} labels; other forms of it are not "
        "counted." + _name_settings(" Not lowest, by nats behind: ", behind)
    )


def _compare_forms(results: Results, ours: str, other: str) -> str:
    """Say in how many settings one form of ours is lower than another, and where it is not."""
    behind = {}
    for key, cell in results.cells.items():
        if key[2] <= FEW:
            here, there = mean_pair(cell, ours, other)
            behind[key] = here.mean - there.mean
    counted = f"{label(ours)} is at most as high as {label(other)} in {_count(behind)} of them."
    return counted + _name_settings(" Higher, by nats: ", behind)


def _count(behind: Mapping[Key, float]) -> str:
    tested = [more for more in behind.values() if not np.isnan(more)]
    return f"{sum(more <= 0 for more in tested)} of {len(tested)}"


def _name_settings(start: str, behind: Mapping[Key, float]) -> str:
    """Name the settings where ours is behind, and those where that is not known."""
    lost = {key: more for key, more in behind.items() if more > 0}
    named = [f"{', '.join(map(str, key))} ({number(by)})" for key, by in lost.items()]
    return (start + "; ".join(named) + "." if named else "") + name_unknown(behind)


def _shown(record: Record) -> str:
    return bold(number(record["log_loss"], error=record["standard_error"]), record["best"])

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
    """Return the mean log loss of each method, for each task, reader and number of labels.

    Args:
        results: the sweep.
        ours: the method whose wins are counted.

    Returns:
        The product `table`, for 20 and 200 labels where the sweep has them, else for all.

    Raises:
        InputError: the sweep lacks ours or other methods.
    """
    need_methods(results, ours)
    tried = {n for _, _, n in results.cells}
    chosen = [n for n in BUDGETS if n in tried] or sorted(tried)
    need_budgets(results, *chosen)
    table = tabulate(
        record
        for key in results.cells
        if key[2] in chosen
        for record in _loss_records(results, key)
    )
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
    """In how many settings ours is lowest, and where it is not."""
    margins = leads(results, ours, 1, FEW)
    count = sum(not np.isnan(lead) for lead in margins.values())
    lost = {key: -lead for key, lead in margins.items() if lead < 0}
    counted = (
        f"{label(ours)} has the lowest log loss of {len(calibrators(results, ours)) + 1} "
        f"calibrators in {count - len(lost)} of {count} settings (task, reader, number of labels) "
        f"with at most {FEW} labels; other forms of it are not counted."
    )
    return counted + _name_settings(" Not lowest, by nats behind: ", lost) + name_unknown(margins)


def _compare_forms(results: Results, ours: str, other: str) -> str:
    """In how many settings one form of ours is lower than another, and where it is not."""
    behind = {}
    for key, cell in results.cells.items():
        if key[2] <= FEW:
            here, there = mean_pair(cell, ours, other)
            behind[key] = here.mean - there.mean
    count = sum(not np.isnan(more) for more in behind.values())
    lost = {key: more for key, more in behind.items() if more > 0}
    counted = (
        f"{label(ours)} is at most as high as {label(other)} in {count - len(lost)} of "
        f"{count} of them."
    )
    return counted + _name_settings(" Higher, by nats: ", lost) + name_unknown(behind)


def _name_settings(start: str, settings: Mapping[Key, float]) -> str:
    named = [f"{', '.join(map(str, key))} ({number(by)})" for key, by in settings.items()]
    return start + "; ".join(named) + "." if named else ""


def _shown(record: Record) -> str:
    return bold(number(record["log_loss"], error=record["standard_error"]), record["best"])

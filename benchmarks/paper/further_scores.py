"""The other scores: ranked probability score, accuracy, agreement and absolute error."""

import numpy as np
from comparison import (
    Cell,
    Mean,
    Results,
    count_failures,
    mean_of,
    mean_scores,
    need_methods,
    succeeded,
)
from product import Product, Record, number, spread, tabulate
from styles import OURS, label

METRICS = ("rps", "accuracy", "qwk", "mae")

REFERENCE = "logit-stack"
MINUS = " - "
"""Between the two methods of a difference, in the table of numbers."""


def further_scores(results: Results, *, ours: str = OURS) -> Product:
    """Return four further scores of each method, and ours minus the logit stack's.

    Args:
        results: the sweep.
        ours: our method.

    Returns:
        The product `scores`.

    Raises:
        InputError: the sweep lacks ours or the logit stack.
    """
    need_methods(results, ours, REFERENCE)
    both = (ours, REFERENCE)
    difference, named = MINUS.join(both), f"{label(ours)} minus {label(REFERENCE)}"
    table = tabulate(
        {"task": task, "reader": reader, "n": n, "metric": metric, "method": method}
        | {"value": score.mean, "standard_error": score.error, "draws": score.draws}
        for (task, reader, n), cell in results.cells.items()
        for metric in METRICS
        for method, score in [
            *mean_scores(cell, results.methods, metric).items(),
            (difference, _mean_difference(cell, metric, both)),
        ]
    )

    def shown(record: Record) -> str:
        return number(record["value"], "+.3f" if record["method"] == difference else ".3f")

    return Product(
        name="scores",
        title="Further scores",
        caption="Mean ranked probability score (rps; lower is better), accuracy, quadratic "
        "weighted kappa (qwk; higher is better) and absolute error in classes (mae; lower is "
        "better) by number of labels, over the draws of labels, and those of "
        f"{label(ours)} minus those of the logit stack.",
        table=table,
        shown=spread(
            table, ("task", "reader", "metric", "method"), ("n",), shown, {difference: named}
        ),
        notes=(count_failures(results.cells.values(), results.methods),),
    )


def _mean_difference(cell: Cell, metric: str, both: tuple[str, str]) -> Mean:
    one, other = (cell[method].scores[metric] for method in both)
    differences = (one - other)[succeeded(cell, *both)]
    return mean_of(differences[np.isfinite(differences)])

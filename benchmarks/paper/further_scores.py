"""The other scores: ranked probability score, accuracy, agreement and absolute error."""

from comparison import Results, count_failures, mean_difference, mean_scores, need_methods
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
            (difference, mean_difference(cell, *both, metric)),
        ]
    )

    def shown(record: Record) -> str:
        form = "+.3f" if record["method"] == difference else ".3f"
        return number(record["value"], form, record["standard_error"])

    return Product(
        name="scores",
        title="Further scores",
        caption="Mean ranked probability score (rps; lower is better), accuracy, quadratic "
        "weighted kappa (qwk; higher is better) and absolute error in classes (mae; lower is "
        "better) by number of labels, over the draws of labels, ± standard errors over these "
        f"draws, and those of {label(ours)} minus those of the logit stack, draw by draw.",
        table=table,
        shown=spread(
            table, ("task", "reader", "metric", "method"), ("n",), shown, {difference: named}
        ),
        notes=(count_failures(results.cells.values(), results.methods),),
    )

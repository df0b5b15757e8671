"""The other scores: ranked probability score, accuracy, agreement and absolute error."""

from comparison import Results, count_failures, mean_difference, mean_scores, need_methods
from product import Product, Record, number, spread, tabulate
from styles import OURS, label

METRICS = ("rps", "accuracy", "qwk", "mae")
PAIR = OURS, "logit-stack"
DIFFERENCE = " - ".join(PAIR)
"""The difference of the two, in the table of numbers."""


def further_scores(results: Results) -> Product:
    """Return the product `scores`: those of each method, and ours minus the logit stack's."""
    need_methods(results, *PAIR)
    table = tabulate(
        {"task": task, "reader": reader, "n": n, "metric": metric, "method": method}
        | {"value": score.mean, "standard_error": score.error, "draws": score.draws}
        for (task, reader, n), cell in results.cells.items()
        for metric in METRICS
        for method, score in [
            *mean_scores(cell, results.methods, metric).items(),
            (DIFFERENCE, mean_difference(cell, *PAIR, metric)),
        ]
    )
    names = {DIFFERENCE: " minus ".join(map(label, PAIR))}
    return Product(
        name="scores",
        title="Further scores",
        caption="Mean ranked probability score (rps; lower is better), accuracy, quadratic "
        "weighted kappa (qwk; higher is better) and absolute error in classes (mae; lower is "
        "better) by number of labels, over the draws of labels, ± standard errors over these "
        f"draws, and those of {label(OURS)} minus those of the logit stack, draw by draw.",
        table=table,
        shown=spread(table, ("task", "reader", "metric", "method"), ("n",), _shown, names),
        notes=(count_failures(results.cells.values(), results.methods),),
    )


def _shown(record: Record) -> str:
    form = "+.3f" if record["method"] == DIFFERENCE else ".3f"
    return number(record["value"], form, record["standard_error"])

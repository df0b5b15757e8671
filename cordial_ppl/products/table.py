"""Mean log loss of every method, and how sure its difference from ours is."""

from cordial_ppl.products.comparison import count_failures, mean_scores, our_method
from cordial_ppl.products.differences import difference_record, note_few_draws
from cordial_ppl.products.product import Product, Record, number, spread, tabulate
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label
from cordial_ppl.sweep.results import Key


def loss_table(results: Results, *, ours: str | None = None) -> Product:
    """Return each method's mean log loss, and its difference from ours with a paired interval.

    Args:
        results: the sweep.
        ours: the method that the others are compared with.

    Returns:
        The product `table`: for each task, reader, number of labels and method the mean log loss
        and its standard error over the draws, and the difference from ours with the ends of its
        95 % interval, all in nats.

    Raises:
        InputError: the sweep lacks ours.
    """
    ours = our_method(results, ours)
    table = tabulate(
        losses | difference_record(results, key, losses["method"], ours)
        for key in results.cells
        for losses in loss_records(results, key)
    )
    return Product(
        name="table",
        title="Log loss",
        caption="Mean log loss (nats) on the report texts over the draws of labels, by number of "
        f"labels; bold: the lowest; ▲ or ▼: higher or lower than {label(ours)} by a paired 95 % "
        "bootstrap interval over report texts and label subsets that excludes zero.",
        table=table,
        shown=spread(table, ("task", "reader", "method"), ("n",), _shown),
        notes=(
            *note_few_draws(results, results.cells, results.methods, ours),
            count_failures(results.cells.values(), results.methods),
        ),
    )


def loss_records(results: Results, key: Key) -> list[Record]:
    """Return each method's mean log loss in a cell, its error, and whether it is the lowest."""
    (task, reader, n), means = key, mean_scores(results.cells[key], results.methods)
    best = min((found.mean for found in means.values() if found.draws), default=None)
    return [
        {"task": task, "reader": reader, "n": n, "method": method}
        | {"log_loss": found.mean, "standard_error": found.error, "best": found.mean == best}
        | {"draws": found.draws}
        for method, found in means.items()
    ]


def _shown(record: Record) -> str:
    text = number(record["log_loss"])
    if record["best"]:
        text = f"**{text}**"
    if not record["resolved"]:
        return text
    return f"{text} {'▲' if record['difference'] > 0 else '▼'}"

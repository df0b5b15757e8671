"""Mean log loss of every method, and how sure its difference from ours is."""

import numpy as np

from cordial_ppl.products.comparison import our_method, rivals
from cordial_ppl.products.differences import difference_record, note_few_draws
from cordial_ppl.products.means import count_failures, mean_scores
from cordial_ppl.products.product import Product, Record, Table, number, with_labels
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label


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
        InputError: the sweep lacks ours or other methods.
    """
    ours = our_method(results, ours)
    rivals(results, ours)
    records: list[Record] = []
    for key, cell in results.cells.items():
        means = mean_scores(cell, cell.methods)
        best = min((m.mean for m in means.values() if m.draws), default=np.nan)
        for method, found in means.items():
            compared = difference_record(results, key, method, ours)
            losses = {
                "log_loss": found.mean,
                "standard_error": found.error,
                "best": found.mean == best,
            }
            place = {name: compared.pop(name) for name in ("task", "reader", "n", "method")}
            records.append(place | losses | compared)
    table = Table.of(records)
    return Product(
        name="table",
        title="Log loss",
        caption="Mean log loss (nats) on the report texts over the draws of labels, by number of "
        f"labels; bold: the lowest; ▲ or ▼: higher or lower than {label(ours)} by a paired 95 % "
        "bootstrap interval over report texts and label subsets that excludes zero.",
        table=table,
        shown=with_labels(table).spread(("task", "reader", "method"), ("n",), _shown),
        notes=(
            *note_few_draws(results, results.cells, results.methods, ours),
            count_failures(results.cells.values(), results.methods),
        ),
    )


def _shown(record: Record) -> str:
    text = number(record["log_loss"])
    if record["best"]:
        text = f"**{text}**"
    if not record["resolved"]:
        return text
    return f"{text} {'▲' if record['difference'] > 0 else '▼'}"

"""Learning curves: mean log loss against the number of labels."""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from cordial_ppl.products.comparison import count_failures, mean_scores, our_method
from cordial_ppl.products.panels import draw_panels, split_panels
from cordial_ppl.products.product import Product, number, spread, tabulate
from cordial_ppl.sweep import Results

ROOM, FAR = 0.1, 3.0
"""Free share of a panel's height above and below; values above so many medians are cut."""


def loss_curves(results: Results, *, ours: str | None = None) -> Product:
    """Return each method's mean log loss by number of labels.

    Args:
        results: the sweep.
        ours: a method that the sweep must have.

    Returns:
        The product `curves`.

    Raises:
        InputError: the sweep lacks ours.
    """
    our_method(results, ours)
    table = curve_table(results, results.pairs, results.methods)
    panels = split_panels(results, table, "log_loss", results.methods, _limits)
    return Product(
        name="curves",
        title="Log loss by number of labels",
        caption="Mean log loss (nats) on the report texts by number of labels, over the draws of "
        "labels, with bands of one standard error; the figure cuts what is far above most values.",
        table=table.drop("lower", "upper"),
        shown=spread(
            table, ("task", "reader", "method"), ("n",), lambda record: number(record["log_loss"])
        ),
        notes=(count_failures(results.cells.values(), results.methods),),
        draw=lambda: draw_panels(results, panels, "log loss (nats)"),
    )


def curve_table(
    results: Results, pairs: Iterable[tuple[str, str]], methods: Sequence[str]
) -> pl.DataFrame:
    """Tabulate mean log losses over the draws that methods share, plus and minus a standard error.

    Args:
        results: the sweep.
        pairs: tasks and readers.
        methods: what is compared.
    """
    return tabulate(
        {"task": task, "reader": reader, "n": n, "method": method}
        | {"log_loss": found.mean, "standard_error": found.error if found.draws > 1 else 0.0}
        for task, reader in pairs
        for n in results.budgets(task, reader)
        for method, found in mean_scores(results.cells[task, reader, n], methods).items()
        if found.draws
    ).with_columns(
        lower=pl.col("log_loss") - pl.col("standard_error"),
        upper=pl.col("log_loss") + pl.col("standard_error"),
    )


def _limits(table: pl.DataFrame) -> tuple[float, float] | None:
    values = table["value"].to_numpy()
    if not len(values):
        return None
    usual = values[values <= FAR * np.median(values)]
    room = ROOM * (np.ptp(usual) or 1.0)
    return usual.min() - room, usual.max() + room

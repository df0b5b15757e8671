"""What the paper's fusion of several readers gains over one of them, and over other ways."""

from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence

from fusion import EMBEDDED, compare, count_wins, load, measure_gains
from product import Product, Record, bold, number, spread, tabulate

BUDGETS = (5, 10, 20, 50, 100, 200, 500)
CONCATENATED = (20,)
"""Budgets of Dirichlet calibration of all readings at once, which takes longest by far."""


def fusion_gains(
    tasks: Sequence[str] = EMBEDDED, budgets: Sequence[int] = BUDGETS, draws: int = 20
) -> Product:
    """Return the log loss of other methods, and the gain of the fusion over each, by labels.

    Args:
        tasks: tasks of the embedded benchmark.
        budgets: numbers of labels.
        draws: draws of labels.

    Returns:
        The product `fusion`.
    """
    settings = Namespace(data="embedded", budgets=budgets, paper=True, concatenated=CONCATENATED)
    losses: dict[tuple, dict[str, dict]] = defaultdict(lambda: defaultdict(dict))
    for draw in range(draws):
        for task in tasks:
            for n, name, loss in compare(load("embedded", task, draw), draw, settings):
                losses[task, n][name][draw] = loss
    rows, ends = measure_gains(losses), ("gain", "lower", "upper")
    table = tabulate(row | dict(zip(ends, row["gain"], strict=True)) for row in rows).drop("gains")
    return Product(
        name="fusion",
        title="Several readers",
        caption="Mean log loss (nats) of each method with the same labels, and in brackets how "
        "much lower that of the paper's fusion of four readers is, ± standard errors over draws; "
        "bold: a paired 95 % bootstrap interval over report texts and draws excludes zero. Readers "
        "alone have the paper's stack; best reader: the one with the lowest out-of-fold loss; "
        "without channels: the same fusion of logit stacks; without joint channel: that of the "
        "readers' stacks alone; Dirichlet of all: Dirichlet calibration of all readings at once.",
        table=table,
        shown=spread(table, ("task", "method"), ("n",), _shown),
        notes=(
            f"{draws} draws of labels. Settings in which the fusion has the lower loss, and its "
            "mean gain: " + "; ".join(" ".join(line.split()) for line in count_wins(rows)) + ".",
        ),
    )


def _shown(row: Record) -> str:
    loss = number(row["log_loss"], error=row["standard_error"])
    if row["method"] == "fusion":
        return loss
    gain = number(row["gain"], "+.3f", row["gain_error"])
    return f"{loss} ({bold(gain, row['lower'] * row['upper'] > 0)})"

"""Learning curves: mean log loss against the number of labels."""

from collections.abc import Sequence

from cordial_ppl.products.comparison import our_method
from cordial_ppl.products.means import count_failures, mean_scores
from cordial_ppl.products.panels import Line, Panel, draw_panels, panel_title
from cordial_ppl.products.product import Product, Table, number, with_labels
from cordial_ppl.sweep import Results

ROOM = 1.15
"""A panel reaches so far above the highest curve that is not far above the others."""

FAR = 3.0
"""A value is far above the others at so many times their median."""


def loss_curves(results: Results, *, ours: str | None = None) -> Product:
    """Return each method's mean log loss by number of labels.

    Args:
        results: the sweep.
        ours: the method that must be in sight.

    Returns:
        The product `curves`.

    Raises:
        InputError: the sweep lacks ours.
    """
    our_method(results, ours)
    lines = {pair: loss_lines(results, *pair, results.methods) for pair in results.pairs}
    table = Table.of(
        [
            {"task": task, "reader": reader, "n": n, "method": line.method}
            | {"log_loss": value, "lower": lower, "upper": upper}
            for (task, reader), found in lines.items()
            for line in found
            for n, value, lower, upper in zip(
                line.budgets, line.values, *(line.band or ()), strict=True
            )
        ]
    )
    panels = [
        Panel(task, panel_title(results, task, reader), found, _limits(found))
        for (task, reader), found in lines.items()
    ]
    return Product(
        name="curves",
        title="Log loss by number of labels",
        caption="Mean log loss (nats) on the report texts by number of labels, over the draws of "
        "labels, with bands of one standard error; the figure cuts what is far above most values.",
        table=table,
        shown=with_labels(table).spread(
            ("task", "reader", "method"), ("n",), lambda record: number(record["log_loss"])
        ),
        notes=(count_failures(results.cells.values(), results.methods),),
        draw=lambda: draw_panels(results, panels, "log loss (nats)"),
    )


def loss_lines(results: Results, task: str, reader: str, methods: Sequence[str]) -> list[Line]:
    """Return the learning curves of methods on one task and reader.

    Args:
        results: the sweep.
        task: the task.
        reader: the reader.
        methods: the methods, which are compared over the draws that they share.

    Returns:
        A line for each method that has a mean, with bands of one standard error.
    """
    means = {
        n: mean_scores(results.cells[task, reader, n], methods)
        for n in sorted(results.budgets(task, reader))
    }
    lines = []
    for method in methods:
        found = {n: own[method] for n, own in means.items() if own[method].draws}
        values = [mean.mean for mean in found.values()]
        errors = [mean.error if mean.draws > 1 else 0.0 for mean in found.values()]
        ends = [[v + sign * e for v, e in zip(values, errors, strict=True)] for sign in (-1, 1)]
        if found:
            lines.append(Line(method, list(found), values, (ends[0], ends[1])))
    return lines


def _limits(lines: Sequence[Line]) -> tuple[float, float] | None:
    """Return a range without the values that would flatten all other curves."""
    values = sorted(value for line in lines for value in line.values)
    if not values:
        return None
    cap = FAR * values[len(values) // 2]
    most = max(value for value in values if value <= cap)
    room = (ROOM - 1) * (most - values[0] or 1.0)
    return values[0] - room, most + room

"""Learning curves: mean log loss against the number of labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.products.comparison import our_method
from cordial_ppl.products.figure import (
    COLUMN,
    PAGE,
    Figure,
    looking,
    new_figure,
    styles,
    wrap,
)
from cordial_ppl.products.means import count_failures, mean_scores
from cordial_ppl.products.product import Product, Record, Table, number, with_labels
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

ROOM, FAR = 0.1, 3.0
"""Free share of a panel's height above and below; values above so many medians are cut."""

TICKS, ACROSS, NAME = 5, 4, 36
"""Budgets that fit under a panel, panels in a row, and letters in a line of the legend."""

LETTER, HANDLE, AXIS = 0.05, 0.35, 0.45
"""Widths of a letter, of a line in the legend and of what stands beside an axis, inches."""


class Line(NamedTuple):
    """The learning curve of a method on one task and reader.

    Attributes:
        method: the method.
        budgets: numbers of labels.
        values: mean log loss at each, nats.
        errors: its standard error over the draws; 0 for a single draw.
    """

    method: str
    budgets: list[int]
    values: list[float]
    errors: list[float]


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
    lines = {pair: loss_lines(results, *pair, results.methods) for pair in results.pairs}
    records: list[Record] = [
        {"task": task, "reader": reader, "n": n, "method": line.method}
        | {"log_loss": value, "standard_error": error}
        for (task, reader), found in lines.items()
        for line in found
        for n, value, error in zip(*line[1:], strict=True)
    ]
    table = Table.of(records)
    several = len({reader for _, reader in lines}) > 1
    titles = {", ".join(pair) if several else pair[0]: found for pair, found in lines.items()}
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
        draw=lambda: _draw(results, titles),
    )


def loss_lines(results: Results, task: str, reader: str, methods: Sequence[str]) -> list[Line]:
    """Return the learning curves of methods on one task and reader.

    Args:
        results: the sweep.
        task: the task.
        reader: the reader.
        methods: the methods, which are compared over the draws that they share.

    Returns:
        A line for each method that has a mean.
    """
    means = {
        n: mean_scores(results.cells[task, reader, n], methods)
        for n in sorted(results.budgets(task, reader))
    }
    lines = []
    for method in methods:
        found = {n: mean[method] for n, mean in means.items() if mean[method].draws}
        errors = [mean.error if mean.draws > 1 else 0.0 for mean in found.values()]
        if found:
            lines.append(Line(method, list(found), [m.mean for m in found.values()], errors))
    return lines


def draw_lines(axis: Any, results: Results, lines: Sequence[Line]) -> None:
    """Draw learning curves with bands of one standard error on an axis with a log scale."""
    looks = styles(results.methods)
    for line in lines:
        look = looks[line.method]
        axis.plot(
            line.budgets,
            line.values,
            color=look.color,
            ls=look.dash,
            marker=look.mark,
            mfc="none",  # Methods that coincide stay in sight.
            label=wrap(label(line.method), NAME),
        )
        ends = np.array(line.values) + np.outer((-1, 1), line.errors)
        axis.fill_between(line.budgets, *ends, color=look.color, alpha=0.2, lw=0)
    budgets = sorted({n for line in lines for n in line.budgets})
    shown = budgets[:: max(1, -(-len(budgets) // TICKS))]
    axis.set_xscale("log")
    axis.set_xticks(shown, [f"{n}" for n in shown])
    axis.minorticks_off()
    axis.set_xlabel("number of labels")


def _draw(results: Results, panels: dict[str, list[Line]]) -> Figure:
    """Draw a panel for each task and reader, and one legend below them."""
    across = min(len(panels), 2 if len(panels) <= 4 else ACROSS)
    down = -(-len(panels) // across)
    width = COLUMN if across <= 2 else PAGE
    titles = [wrap(title, int((width / across - AXIS) / LETTER)) for title in panels]
    with looking():
        height = 1.25 + 0.11 * max(title.count("\n") for title in titles)
        figure = new_figure(width, height * down + 0.85)
        axes = figure.subplots(down, across, squeeze=False)
        names: dict[str, Any] = {}
        for axis, title, lines in zip(axes.ravel(), titles, panels.values(), strict=False):
            axis.set_title(title)
            draw_lines(axis, results, lines)
            values = [value for line in lines for value in line.values]
            if values:
                usual = [value for value in values if value <= FAR * np.median(values)]
                room = ROOM * (max(usual) - min(usual) or 1.0)
                axis.set_ylim(min(usual) - room, max(usual) + room)
            highest = axis.get_ylim()[1]
            names |= {
                line.get_label(): line
                for line in axis.get_lines()
                if np.min(line.get_ydata()) < highest
            }
        for axis in axes[:, 0]:
            axis.set_ylabel("log loss (nats)")
        for axis in axes.ravel()[len(panels) :]:
            axis.remove()
        longest = max((len(part) for name in names for part in name.splitlines()), default=1)
        figure.legend(
            handles=list(names.values()),
            loc="outside lower center",
            ncols=max(1, int(width // (LETTER * longest + HANDLE))),
            handlelength=2.2,
            columnspacing=1.0,
        )
    return figure

"""Learning curves, and other lines against the number of labels, a panel a task and reader."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products.figure import (
    COLUMN,
    INK,
    PAGE,
    Figure,
    Style,
    looking,
    new_figure,
    styles,
    wrap,
)
from cordial_ppl.evaluation.products.product import Product, number, spread, tabulate
from cordial_ppl.evaluation.products.table import count_failures, mean_scores
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.evaluation.sweep.methods import label

ROOM, FAR = 0.1, 3.0
"""Free share of a panel's height above and below; values above so many medians are cut."""

TICKS, ACROSS, NAME = 5, 4, 36
"""Budgets that fit under a panel, panels in a row, and letters in a line of the legend."""

LETTER, LINE = 0.05, 0.11
"""Widths of a letter, and height of a line of text, inches."""


@dataclass(frozen=True)
class Panel:
    """Panel of a task and reader.

    Attributes:
        title: its heading.
        table: a row for each `method` and number of labels `n`, with the `value` and the ends of
            its band, `lower` and `upper`; null where there is none.
        limits: least and largest value that is in sight; None for all.
    """

    title: str
    table: pl.DataFrame
    limits: tuple[float, float] | None = None

    def hidden(self) -> list[str]:
        """List the methods that are above the range with each of their values."""
        least = self.table.group_by("method", maintain_order=True).agg(pl.col("value").min())
        most = np.inf if self.limits is None else self.limits[1]
        return least.filter(pl.col("value") >= most)["method"].to_list()


def loss_curves(results: Results) -> Product:
    """Return each method's mean log loss by number of labels, the product `curves`."""
    table = curve_table(results, results.pairs, results.methods)
    panels = split_panels(results, table, _limits)
    cut = [label(m) for m in results.methods if all(m in panel.hidden() for panel in panels)]
    return Product(
        name="curves",
        title="Log loss by number of labels",
        caption="Mean log loss (nats) on the report texts by number of labels, over the draws of "
        "labels, with bands of one standard error; the figure cuts off values far above most.",
        table=table.rename({"value": "log_loss"}).drop("lower", "upper"),
        shown=spread(
            table, ("task", "reader", "method"), ("n",), lambda record: number(record["value"])
        ),
        notes=(
            *((f"Above the figure's range: {', '.join(cut)}.",) if cut else ()),
            count_failures(results.cells.values(), results.methods),
        ),
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

    Raises:
        InputError: no method has a loss.
    """
    value, error = pl.col("value"), pl.col("standard_error")
    rows = [
        {"task": task, "reader": reader, "n": n, "method": method}
        | {"value": score.mean, "standard_error": score.error if score.draws > 1 else 0.0}
        for task, reader in pairs
        for n in results.budgets(task, reader)
        for method, score in mean_scores(results.cells[task, reader, n], methods).items()
        if score.draws
    ]
    if not rows:
        raise InputError("no fit succeeded: see the column reason of results.parquet.")
    return tabulate(rows).with_columns(lower=value - error, upper=value + error)


def split_panels(
    results: Results,
    table: pl.DataFrame,
    limits: Callable[[pl.DataFrame], tuple[float, float] | None],
) -> list[Panel]:
    """Split a table into panels, a task and reader each.

    Args:
        results: the sweep.
        table: a row for each task, reader, method and number of labels, as a panel's.
        limits: gives the range of a panel's table.
    """
    several = len({reader for _, reader in results.pairs}) > 1
    parts = {pair: table.filter(task=pair[0], reader=pair[1]) for pair in results.pairs}
    return [
        Panel(", ".join(pair) if several else pair[0], part, limits(part))
        for pair, part in parts.items()
    ]


def draw_panels(
    results: Results, panels: Sequence[Panel], ylabel: str, zero: str | None = None
) -> Figure:
    """Draw panels, each with its vertical axis, and one legend below them.

    Args:
        results: the sweep, for the styles of its methods.
        panels: the panels.
        ylabel: what the lines are.
        zero: what stands for zero, in words; None for no line there.
    """
    looks = styles(results.methods)
    across = min(len(panels), 2 if len(panels) <= 4 else ACROSS)
    down, width = -(-len(panels) // across), COLUMN if across <= 2 else PAGE
    # A panel is narrower than its share of the width by an axis.
    titles = [wrap(panel.title, int((width / across - 0.45) / LETTER)) for panel in panels]
    tallest = max(title.count("\n") for title in titles)
    with looking():
        figure = new_figure(width, (1.25 + LINE * tallest) * down + 0.85)
        axes = figure.subplots(down, across, squeeze=False)
        handles: dict[Any, Any] = {}
        for index, (axis, panel) in enumerate(zip(axes.ravel(), panels, strict=False)):
            axis.set_title(titles[index])
            if zero is not None:
                handles[zero] = axis.axhline(0, color=INK, lw=0.8, zorder=1, label=wrap(zero, NAME))
            drawn, hidden = draw_lines(axis, panel.table, looks), panel.hidden()
            handles |= {method: line for method, line in drawn.items() if method not in hidden}
            if panel.limits is not None:
                axis.set_ylim(*panel.limits)
            if index + across >= len(panels):
                axis.set_xlabel("number of labels")
        for axis in axes[:, 0]:
            axis.set_ylabel(ylabel)
        for axis in axes.ravel()[len(panels) :]:
            axis.remove()
        # In the order of tables, wherever a line is first in sight.
        handles = {m: handles[m] for m in (zero, *results.methods) if m in handles}
        lines = [*handles.values()]
        longest = max((len(line.get_label().partition("\n")[0]) for line in lines), default=1)
        columns = max(1, int(width // (LETTER * longest + 0.35)))
        figure.legend(handles=lines, loc="outside lower center", ncols=columns, columnspacing=1.0)
    return figure


def draw_lines(axis: Any, table: pl.DataFrame, looks: Mapping[str, Style]) -> dict[str, Any]:
    """Draw the lines of a panel's table on an axis with a log scale; return them by method."""
    drawn = {}
    for (method,), rows in table.group_by("method", maintain_order=True):
        look = looks[str(method)]
        (drawn[method],) = axis.plot(
            rows["n"],
            rows["value"],
            color=look.color,
            ls=look.dash,
            marker=look.mark,
            mfc="none",  # Methods that coincide stay in sight.
            label=wrap(label(str(method)), NAME),
        )
        band = rows.drop_nulls("lower")
        if len(band):
            ends = band["lower"], band["upper"]
            axis.fill_between(band["n"], *ends, color=look.color, alpha=0.2, lw=0)
    budgets = table["n"].unique().sort().to_list()
    shown = budgets[:: max(1, -(-len(budgets) // TICKS))]
    axis.set_xscale("log")
    axis.set_xticks(shown, [f"{n}" for n in shown])
    axis.minorticks_off()
    return drawn


def _limits(table: pl.DataFrame) -> tuple[float, float] | None:
    values = table["value"].to_numpy()
    if not len(values):
        return None
    usual = values[values <= FAR * np.median(values)]
    room = ROOM * (np.ptp(usual) or 1.0)
    return usual.min() - room, usual.max() + room

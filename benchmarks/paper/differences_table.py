"""Log losses minus ours by number of labels: of every method (Fig. 1), and of ours by its mode."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from comparison import (
    Results,
    count_failures,
    difference_record,
    need_methods,
    note_few_draws,
    paired_intervals,
)
from panels import Panel, draw_panels, split_panels
from product import Product, Record, bold, number, spread, tabulate
from ranking import rivals
from styles import MODE, OURS, label

BANDS = 3
"""Rivals whose intervals are drawn."""

MARGIN = 0.08
"""Share of a panel's height that is left free above and below."""

WIDEST, NARROWEST = 6.0, 0.2
"""A panel's range ends at so many times the median difference, but at no fewer nats than these."""


def loss_differences(results: Results) -> Product:
    """Return the product `differences`: each method's log loss minus ours."""
    need_methods(results, OURS)
    table = subtract_ours(results, [method for method in results.methods if method != OURS])
    others = rivals(results, OURS)
    drawn = table.filter(pl.col("method").is_in(others))
    panels = difference_panels(results, drawn, strongest_rivals(results, others))
    return describe_differences(
        results,
        table,
        panels,
        name="differences",
        title="Log loss minus ours",
        others="each method",
        figure="; the figure leaves out other forms of ours, and flat weights, and its bands are "
        f"the intervals of the strongest methods; {describe_range(panels)}",
    )


def averaging_gain(results: Results) -> Product:
    """Return the product `averaging`: the log loss of ours by its mode minus that of ours."""
    need_methods(results, OURS, MODE)
    table = subtract_ours(results, [MODE])
    panels = difference_panels(results, table, [MODE])
    title = "What averaging over the posterior is worth"
    return describe_differences(results, table, panels, "averaging", title, label(MODE))


def subtract_ours(results: Results, methods: Sequence[str]) -> pl.DataFrame:
    """Subtract our log loss from that of some methods in every cell, with paired intervals."""
    pairs = ((key, method) for key in results.cells for method in methods)
    return tabulate(difference_record(results, *pair) for pair in pairs)


def describe_differences(
    results: Results,
    table: pl.DataFrame,
    panels: Sequence[Panel],
    name: str,
    title: str,
    others: str,
    figure: str = ".",
) -> Product:
    """Make a product of what others lose more than ours; its caption ends in words on a figure."""
    compared = [method for method in results.methods if method in {OURS, *table["method"]}]

    def shown(record: Record) -> str:
        text = number(record["difference"], "+.3f", record["standard_error"])
        return bold(text, record["resolved"])

    return Product(
        name=name,
        title=title,
        caption=f"Log loss of {others} minus that of {label(OURS)} (nats; above zero: "
        f"{label(OURS)} is better) by number of labels, ± standard errors over label subsets; "
        "bold: a paired 95 % bootstrap interval over report texts and subsets excludes zero"
        + figure,
        table=table,
        shown=spread(table, ("task", "reader", "method"), ("n",), shown),
        notes=(
            *note_few_draws(results, results.cells, compared),
            count_failures(results.cells.values(), compared),
        ),
        draw=lambda: draw_panels(
            results, panels, "log loss\nminus ours (nats)", zero=f"{label(OURS)} (ours)"
        ),
    )


def strongest_rivals(results: Results, others: Sequence[str]) -> list[str]:
    """Return the rivals with the lowest log loss over cells, first those that have it in all."""
    means: dict[str, list[float]] = {method: [] for method in others}
    for key in results.cells:
        for method, interval in paired_intervals(results, key).items():
            means.get(method, []).append(interval.mean)
    ranked = sorted(filter(means.get, means), key=lambda m: (-len(means[m]), np.mean(means[m])))
    return ranked[:BANDS]


def difference_panels(results: Results, table: pl.DataFrame, banded: Sequence[str]) -> list[Panel]:
    """Split differences into panels; some methods have bands, and set the vertical range."""
    ends = pl.when(pl.col("method").is_in(banded)).then(pl.col("lower", "upper"))
    drawn = table.drop_nulls("difference").with_columns(ends, value="difference")
    return split_panels(results, drawn, _limits)


def describe_range(panels: Sequence[Panel]) -> str:
    """Say for a caption what a figure of differences cuts, and which methods it hides."""
    shown = Counter(method for panel in panels for method in panel.table["method"].unique())
    hidden: dict[str, list[str]] = {}
    for panel in panels:
        for method in panel.hidden():
            hidden.setdefault(method, []).append(panel.title)
    named = ", ".join(
        label(method) + (f" (in {'; '.join(titles)})" if len(titles) < shown[method] else "")
        for method, titles in hidden.items()
    )
    return "the figure cuts what is far above most differences" + (
        f", which leaves nothing in sight of {named}." if named else "."
    )


def _limits(table: pl.DataFrame) -> tuple[float, float]:
    """Return a range for what is usual among the lines with bands, and all lines below zero.

    A method that leads ours is in sight however far it leads; bands and what trails are cut where
    they are far from the usual difference: one wild fit would flatten all others.
    """
    leading = table.drop_nulls("lower")
    leading = table if leading.is_empty() else leading
    sizes = np.abs(leading["value"].to_numpy())
    cap = max(WIDEST * float(np.median(sizes[sizes > 0])), NARROWEST) if sizes.any() else NARROWEST
    cap = np.inf if table["method"].n_unique() == 1 else cap  # There is no other to be flattened.
    ends = leading.select("value", "lower", "upper").to_numpy().ravel()
    least = min(max(np.nanmin(ends), -cap), *table["value"], 0.0)
    most = min(max(np.nanmax(ends), 0.0), cap)
    room = MARGIN * (most - least or 1.0)
    return least - room, most + room

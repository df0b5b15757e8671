"""Fig. 1: how much more log loss every method has than ours, against the number of labels."""

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
from styles import OURS, label

from cordial_ppl.plots.figure import Figure

BANDS = 3
"""Rivals whose intervals are drawn."""

MARGIN = 0.08
"""Share of a panel's height that is left free above and below."""

WIDEST, NARROWEST = 6.0, 0.2
"""A panel's range ends at so many times the median difference, but at no fewer nats than these."""


def loss_differences(results: Results, *, ours: str = OURS) -> Product:
    """Return each method's log loss minus ours by number of labels, with paired 95 % intervals.

    Args:
        results: the sweep.
        ours: the method that is subtracted.

    Returns:
        The product `differences`.

    Raises:
        InputError: the sweep lacks ours or other methods.
    """
    need_methods(results, ours)
    others, strongest = rivals(results, ours), strongest_rivals(results, ours)
    table = tabulate(
        difference_record(results, key, method, ours)
        for key in results.cells
        for method in results.methods
        if method != ours
    )
    drawn = table.filter(pl.col("method").is_in(others))
    panels = difference_panels(results, drawn, strongest)
    return Product(
        name="differences",
        title="Log loss minus ours",
        caption=f"Log loss of each method minus that of {label(ours)} (nats; above zero: "
        f"{label(ours)} is better) by number of labels, ± standard errors over label subsets; "
        "bold: a paired 95 % bootstrap interval over report texts and subsets excludes zero; the "
        "figure leaves out other forms of ours, and flat weights, and its bands are the intervals "
        "of the strongest methods; " + describe_range(panels),
        table=table,
        shown=show_differences(table),
        notes=(
            *note_few_draws(results, results.cells, results.methods, ours),
            count_failures(results.cells.values(), results.methods),
        ),
        draw=lambda: draw_differences(results, panels, ours),
    )


def strongest_rivals(results: Results, ours: str) -> tuple[str, ...]:
    """Return the rivals with the lowest log loss over cells, first those that have it in all."""
    means: dict[str, list[float]] = {method: [] for method in rivals(results, ours)}
    for key in results.cells:
        for method, interval in paired_intervals(results, key, ours).items():
            means.get(method, []).append(interval.mean)
    ranked = sorted(filter(means.get, means), key=lambda m: (-len(means[m]), np.mean(means[m])))
    return tuple(ranked[:BANDS])


def show_differences(table: pl.DataFrame) -> pl.DataFrame:
    """Lay differences out by number of labels, resolved ones in bold."""

    def shown(record: Record) -> str:
        text = number(record["difference"], "+.3f", record["standard_error"])
        return bold(text, record["resolved"])

    return spread(table, ("task", "reader", "method"), ("n",), shown)


def difference_panels(results: Results, table: pl.DataFrame, banded: Sequence[str]) -> list[Panel]:
    """Return what a figure of differences shows; some have bands, and set the vertical range.

    Args:
        results: the sweep.
        table: its differences.
        banded: the methods that get bands.
    """
    ends = pl.when(pl.col("method").is_in(list(banded))).then(pl.col("lower", "upper"))
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


def draw_differences(results: Results, panels: Sequence[Panel], ours: str) -> Figure:
    """Draw differences from ours by number of labels."""
    return draw_panels(results, panels, "log loss\nminus ours (nats)", zero=f"{label(ours)} (ours)")


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

"""Lines against the number of labels, a panel a task and reader."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from comparison import Results
from styles import STYLES, label

from cordial_ppl.plots.figure import COLUMN, INK, PAGE, Figure, looking, new_figure

TICKS, ACROSS, TITLE, NAME = 5, 4, 24, 36
"""Budgets that fit under a panel, panels in a row, and letters in a line of titles and legend."""


@dataclass(frozen=True)
class Panel:
    """Panel of a task and reader.

    Attributes:
        title: its heading.
        table: a row for each `method` and number of labels `n`, with the `value` and the ends of
            its band, `lower` and `upper`; null where there is none.
        limits: least and largest value that is in sight.
    """

    title: str
    table: pl.DataFrame
    limits: tuple[float, float]

    def hidden(self) -> list[str]:
        """List the methods that are above the range with each of their values."""
        least = self.table.group_by("method", maintain_order=True).agg(pl.col("value").min())
        return least.filter(pl.col("value") >= self.limits[1])["method"].to_list()


def split_panels(
    results: Results, table: pl.DataFrame, limits: Callable[[pl.DataFrame], tuple[float, float]]
) -> list[Panel]:
    """Split a table into panels, a task and reader each, whose tables give their ranges."""
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

    Methods are in the order of tables; a line at zero is drawn where words say what stands for it.
    """
    across = min(len(panels), 2 if len(panels) <= 4 else ACROSS)
    down, width = -(-len(panels) // across), COLUMN if across <= 2 else PAGE
    with looking():
        figure = new_figure(width, 1.4 * down + 0.85)
        axes = figure.subplots(down, across, squeeze=False)
        handles: dict[Any, Any] = {}
        for index, (axis, panel) in enumerate(zip(axes.ravel(), panels, strict=False)):
            axis.set_title(textwrap.fill(panel.title, TITLE))
            if zero is not None:
                handles[zero] = axis.axhline(0, color=INK, lw=0.8, zorder=1, label=zero)
            drawn, hidden = draw_lines(axis, panel.table), panel.hidden()
            handles |= {method: line for method, line in drawn.items() if method not in hidden}
            axis.set_ylim(*panel.limits)
            if index + across >= len(panels):
                axis.set_xlabel("number of labels")
        for axis in axes[:, 0]:
            axis.set_ylabel(ylabel)
        for axis in axes.ravel()[len(panels) :]:
            axis.remove()
        lines = [handles[m] for m in (zero, *results.methods) if m in handles]
        figure.legend(handles=lines, loc="outside lower center", ncols=int(width // 1.6))
    return figure


def draw_lines(axis: Any, table: pl.DataFrame) -> dict[str, Any]:
    """Draw the lines of a panel's table on an axis with a log scale; return them by method."""
    drawn = {}
    for (method,), rows in table.group_by("method", maintain_order=True):
        look = STYLES[str(method)]
        # Methods that coincide stay in sight.
        (drawn[method],) = axis.plot(
            *(rows["n"], rows["value"]),
            **{"color": look.color, "ls": look.dash, "marker": look.mark, "mfc": "none"},
            label=textwrap.fill(label(str(method)), NAME),
        )
        band = rows.drop_nulls("lower")
        ends = band["lower"].cast(pl.Float64), band["upper"].cast(pl.Float64)
        if len(band):
            axis.fill_between(band["n"], *ends, color=look.color, alpha=0.2, lw=0)
    budgets = np.unique(table["n"].to_numpy())
    shown = budgets[:: max(1, -(-len(budgets) // TICKS))]
    axis.set_xscale("log")
    axis.set_xticks(shown, [f"{n}" for n in shown])
    axis.minorticks_off()
    return drawn

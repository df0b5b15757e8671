"""Lines against the number of labels, a panel for each task and reader."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cordial_ppl.products.figure import (
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
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

TICKS, ACROSS, NAME = 5, 4, 36
"""Budgets that fit under a panel, panels in a row, and letters in a line of the legend."""

LETTER, HANDLE, AXIS, LINE = 0.05, 0.35, 0.45, 0.11
"""Widths of a letter, of a line in the legend and of what stands beside an axis, and the height of
a line of text, inches."""


@dataclass(frozen=True)
class Line:
    """A method's values in a panel.

    Attributes:
        method: the method.
        budgets: numbers of labels.
        values: the value at each.
        band: lower and upper ends of an interval at each; None where none is drawn.
    """

    method: str
    budgets: list[int]
    values: list[float]
    band: tuple[list[float], list[float]] | None = None


@dataclass(frozen=True)
class Panel:
    """The lines of a task and reader.

    Attributes:
        title: its heading.
        lines: what it shows.
        limits: least and largest value that is in sight; None for all.
    """

    title: str
    lines: Sequence[Line]
    limits: tuple[float, float] | None = None

    def hides(self, line: Line) -> bool:
        """Whether a line is above the range with each of its values."""
        return self.limits is not None and min(line.values) >= self.limits[1]


def read_lines(table: pl.DataFrame, value: str, banded: Collection[str] = ()) -> list[Line]:
    """Take lines from a table with a row for each method and number of labels.

    Args:
        table: the table of one task and reader.
        value: its column of values; rows without a value are left out.
        banded: methods that get bands, from the columns `lower` and `upper`.
    """
    lines = []
    for (method,), rows in table.drop_nulls(value).group_by("method", maintain_order=True):
        band = (rows["lower"].to_list(), rows["upper"].to_list()) if method in banded else None
        lines.append(Line(str(method), rows["n"].to_list(), rows[value].to_list(), band))
    return lines


def split_panels(results: Results, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Split a table by task and reader, by the titles of their panels."""
    several = len({reader for _, reader in results.pairs}) > 1
    return {
        f"{task}, {reader}" if several else task: table.filter(task=task, reader=reader)
        for task, reader in results.pairs
    }


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
    titles = [wrap(panel.title, int((width / across - AXIS) / LETTER)) for panel in panels]
    tallest = max(title.count("\n") for title in titles)
    with looking():
        figure = new_figure(width, (1.25 + LINE * tallest) * down + 0.85)
        axes = figure.subplots(down, across, squeeze=False)
        handles: dict[Any, Any] = {}
        for place, (axis, panel) in enumerate(zip(axes.ravel(), panels, strict=False)):
            axis.set_title(titles[place])
            if zero is not None:
                handles[zero] = axis.axhline(0, color=INK, lw=0.8, zorder=1, label=wrap(zero, NAME))
            drawn = draw_lines(axis, panel.lines, looks)
            handles |= {
                line.method: drawn[line.method] for line in panel.lines if not panel.hides(line)
            }
            if panel.limits is not None:
                axis.set_ylim(*panel.limits)
            if place + across >= len(panels):
                axis.set_xlabel("number of labels")
        for axis in axes[:, 0]:
            axis.set_ylabel(ylabel)
        for axis in axes.ravel()[len(panels) :]:
            axis.remove()
        names = [line.get_label() for line in handles.values()]
        longest = max((len(part) for name in names for part in name.splitlines()), default=1)
        figure.legend(
            handles=list(handles.values()),
            loc="outside lower center",
            ncols=max(1, int(width // (LETTER * longest + HANDLE))),
            handlelength=2.2,
            columnspacing=1.0,
        )
    return figure


def draw_lines(axis: Any, lines: Sequence[Line], looks: Mapping[str, Style]) -> dict[str, Any]:
    """Draw lines on an axis with a log scale; return what was drawn, by method."""
    drawn = {}
    for line in lines:
        look = looks[line.method]
        (drawn[line.method],) = axis.plot(
            line.budgets,
            line.values,
            color=look.color,
            ls=look.dash,
            marker=look.mark,
            mfc="none",  # Methods that coincide stay in sight.
            label=wrap(label(line.method), NAME),
        )
        if line.band is not None:
            axis.fill_between(line.budgets, *line.band, color=look.color, alpha=0.2, lw=0)
    budgets = sorted({n for line in lines for n in line.budgets})
    shown = budgets[:: max(1, -(-len(budgets) // TICKS))]
    axis.set_xscale("log")
    axis.set_xticks(shown, [f"{n}" for n in shown])
    axis.minorticks_off()
    return drawn

"""Lines against the number of labels, a panel for each task and reader."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from cordial_ppl.products.product import Record, Table
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

MOST_TICKS, MOST_ACROSS = 5, 4
"""Budgets that fit under a panel, and panels in a row."""

LETTER, HANDLE, AXIS = 0.05, 0.35, 0.45
"""Widths of a letter, of what stands beside the words in a legend and beside an axis, inches."""

LINE = 0.11
"""Height of a line of a heading, inches."""

NAME = 36
"""Letters in a line of the legend."""


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
    budgets: Sequence[int]
    values: Sequence[float]
    band: tuple[Sequence[float], Sequence[float]] | None = None


@dataclass(frozen=True)
class Panel:
    """The lines of a task and reader.

    Attributes:
        task: the task; a row of panels holds one task's where tasks have several readers.
        title: its heading.
        lines: what it shows.
        limits: least and largest value that is in sight; None for all.
    """

    task: str
    title: str
    lines: Sequence[Line]
    limits: tuple[float, float] | None = None

    def hides(self, line: Line) -> bool:
        """Whether a line is above the range with each of its values."""
        return self.limits is not None and min(line.values) >= self.limits[1]


def read_lines(
    table: Table, task: str, reader: str, value: str, banded: Collection[str] = ()
) -> list[Line]:
    """Take a panel's lines from a table with a row for each method and number of labels.

    Args:
        table: the table.
        task: the task.
        reader: the reader.
        value: its column of values; rows without a value are left out.
        banded: methods that get bands, from the columns `lower` and `upper`.
    """
    found: dict[str, list[Record]] = {}
    for row in table.records():
        if (row["task"], row["reader"]) == (task, reader) and row[value] is not None:
            found.setdefault(row["method"], []).append(row)
    return [
        Line(
            method,
            [row["n"] for row in rows],
            [row[value] for row in rows],
            _ends(rows) if method in banded else None,
        )
        for method, rows in found.items()
    ]


def draw_panels(
    results: Results, panels: Sequence[Panel], ylabel: str, zero: str | None = None
) -> Figure:
    """Draw panels with their own vertical axes, and one legend below them.

    Args:
        results: the sweep, for the styles of its methods.
        panels: the panels, task by task.
        ylabel: what the lines are.
        zero: what stands for zero, in words; None for no line there.
    """
    looks, places = styles(results.methods), _places(panels)
    down, across = (1 + max(place) for place in zip(*places, strict=True))
    width = COLUMN if across <= 2 else PAGE
    titles = [wrap(panel.title, int((width / across - AXIS) / LETTER)) for panel in panels]
    tallest = max(title.count("\n") for title in titles)
    with looking():
        figure = new_figure(width, (1.25 + LINE * tallest) * down + 0.85)
        axes = figure.subplots(down, across, squeeze=False)
        for (row, column), panel, title in zip(places, panels, titles, strict=True):
            axis = axes[row, column]
            axis.set_title(title)
            draw_panel(axis, panel, looks, zero)
            if column == 0:
                axis.set_ylabel(ylabel)
            if (row + 1, column) not in places:
                axis.set_xlabel("number of labels")
        for place, axis in np.ndenumerate(axes):
            if place not in places:
                axis.remove()
        _explain(figure, panels, width, zero)
    return figure


def draw_panel(
    axis: Any, panel: Panel, looks: Mapping[str, Style], zero: str | None = None
) -> None:
    """Draw the lines of a panel on an axis, without names of its two sides."""
    if zero is not None:
        axis.axhline(0, color=INK, lw=0.8, zorder=1, label=wrap(zero, NAME))
    for line in panel.lines:
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
        if line.band is not None:
            axis.fill_between(line.budgets, *line.band, color=look.color, alpha=0.2, lw=0)
    budgets = sorted({n for line in panel.lines for n in line.budgets})
    shown = budgets[:: max(1, -(-len(budgets) // MOST_TICKS))]
    axis.set_xscale("log")
    axis.set_xticks(shown, [f"{n}" for n in shown])
    axis.minorticks_off()
    if panel.limits is not None:
        axis.set_ylim(*panel.limits)


def _explain(figure: Figure, panels: Sequence[Panel], width: float, zero: str | None) -> None:
    """Put one legend below the panels, of the lines that are in sight in one of them."""
    seen = {label(line.method) for own in panels for line in own.lines if not own.hides(line)}
    names = {wrap(name, NAME) for name in (*seen, zero or "")}
    drawn = {line.get_label(): line for axis in figure.axes for line in axis.get_lines()}
    handles = {name: line for name, line in drawn.items() if name in names}
    if handles:
        longest = max(len(line) for name in handles for line in name.splitlines())
        columns = width // (LETTER * longest + HANDLE)
        figure.legend(
            handles=list(handles.values()),
            loc="outside lower center",
            ncols=max(1, int(columns)),
            handlelength=2.2,
            columnspacing=1.0,
        )


def _ends(rows: Sequence[Record]) -> tuple[list[float], list[float]]:
    return [row["lower"] for row in rows], [row["upper"] for row in rows]


def _places(panels: Sequence[Panel]) -> list[tuple[int, int]]:
    """Give each panel a row and a column: a task's readers side by side, or single ones in turn."""
    readers = Counter(panel.task for panel in panels)
    most = max(readers.values())
    if most == 1:
        across = min(len(panels), 2 if len(panels) <= 4 else MOST_ACROSS)
        return [divmod(place, across) for place in range(len(panels))]
    across, places, row = min(most, MOST_ACROSS), [], 0
    for count in readers.values():
        places += [(row + place // across, place % across) for place in range(count)]
        row = places[-1][0] + 1
    return places


def panel_title(results: Results, task: str, reader: str) -> str:
    """Name a task, and its reader where there are several."""
    several = len({reader for _, reader in results.pairs}) > 1
    return f"{task}, {reader}" if several else task

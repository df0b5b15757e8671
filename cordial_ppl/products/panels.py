"""Lines against the number of labels, a panel for each task and reader."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cordial_ppl.products.figure import (
    COLUMN,
    INK,
    PAGE,
    Figure,
    Style,
    looking,
    new_figure,
    styles,
)
from cordial_ppl.products.product import Record, Table
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

MOST_TICKS = 5
"""Budgets that fit under a panel."""

LETTER, HANDLE = 0.05, 0.35
"""Widths of a letter and of what stands beside the words in a legend, inches."""


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
        title: its heading.
        lines: what it shows.
        limits: least and largest value that is in sight; None for all.
    """

    title: str
    lines: Sequence[Line]
    limits: tuple[float, float] | None = None


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
    looks = styles(results.methods)
    across = _across(results, len(panels))
    width, down = COLUMN if across <= 2 else PAGE, -(-len(panels) // across)
    with looking():
        figure = new_figure(width, 1.25 * down + 0.85)
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for place, axis in enumerate(axes[: len(panels)]):
            _draw(axis, panels[place], looks, zero)
            if place % across == 0:
                axis.set_ylabel(ylabel)
            if place + across >= len(panels):
                axis.set_xlabel("number of labels")
        for axis in axes[len(panels) :]:
            axis.remove()
        _explain(figure, panels, width)
    return figure


def _draw(axis, panel: Panel, looks: Mapping[str, Style], zero: str | None) -> None:
    axis.set_title(panel.title)
    if zero is not None:
        axis.axhline(0, color=INK, lw=0.8, zorder=1, label=zero)
    for line in panel.lines:
        look = looks[line.method]
        axis.plot(
            line.budgets,
            line.values,
            color=look.color,
            ls=look.dash,
            marker=look.mark,
            mfc="none",  # Methods that coincide stay in sight.
            label=label(line.method),
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


def _explain(figure: Figure, panels: Sequence[Panel], width: float) -> None:
    """Put one legend below the panels, of the lines that are in sight in one of them."""
    handles = {}
    for axis, panel in zip(figure.axes, panels, strict=True):
        top = panel.limits[1] if panel.limits else float("inf")
        for line in axis.get_lines():
            if min(line.get_ydata(), default=top) < top:
                handles[line.get_label()] = line
    if handles:
        columns = width // (LETTER * max(map(len, handles)) + HANDLE)
        figure.legend(
            handles=list(handles.values()),
            loc="outside lower center",
            ncols=max(1, int(columns)),
            handlelength=2.2,
            columnspacing=1.0,
        )


def _ends(rows: Sequence[Record]) -> tuple[list[float], list[float]]:
    return [row["lower"] for row in rows], [row["upper"] for row in rows]


def _across(results: Results, panels: int) -> int:
    """Panels in a row: two where there are few, or a task's readers."""
    if panels <= 4:
        return min(2, panels)
    readers = len({reader for _, reader in results.pairs})
    return readers if 1 < readers <= 4 else 4


def panel_title(results: Results, task: str, reader: str) -> str:
    """Name a task, and its reader where there are several."""
    several = len({reader for _, reader in results.pairs}) > 1
    return f"{task}, {reader}" if several else task

"""Tables of probabilities as small heatmaps, a row of them for each task and reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.products.figure import (
    COLUMN,
    INK,
    PAGE,
    PALE,
    Figure,
    literal,
    looking,
    new_figure,
    wrap,
)

HIGHEST = 4
"""Rows of heatmaps in a column; more of them stand side by side."""

WIDTH = 10
"""Letters in a line above a heatmap."""

ROW = 14
"""Letters in a line beside a row of heatmaps."""

LONGEST = 3
"""Letters of an option's name that fit at an axis; longer ones give way to positions from 0."""

MOST = 6
"""Options that are named at an axis."""


@dataclass(frozen=True)
class Heatmap:
    """A distribution over labels for each stated class.

    Attributes:
        row: what its row of heatmaps is of.
        title: what its column is of.
        note: what stands above it.
        probs: probabilities [K, K], row y for stated class y; NaN where no text has it.
        names: names of the K options.
    """

    row: str
    title: str
    note: str
    probs: Float[np.ndarray, "K K"]
    names: Sequence[str]


def draw_heatmaps(rows: Sequence[Sequence[Heatmap]]) -> Figure:
    """Draw rows of heatmaps with one colour scale, from 0 to 1."""
    across = 1 if len(rows) <= HIGHEST else 2
    down, count = -(-len(rows) // across), len(rows[0])
    with looking():
        figure = new_figure(COLUMN if across == 1 else PAGE, 0.85 * down + 0.7)
        axes = figure.subplots(down, across * count, squeeze=False)
        lines = axes.reshape(down * across, count)
        for place, (line, maps) in enumerate(zip(lines, rows, strict=False)):
            for axis, heatmap in zip(line, maps, strict=True):
                draw_heatmap(axis, heatmap, headed=place < across)
                if place + across >= len(rows):
                    axis.set_xlabel("label z")
            line[0].set_ylabel(f"{wrap(maps[0].row, ROW)}\nstated class y")
            line[0].set_yticks(*option_ticks(maps[0].names))
        for axis in lines[len(rows) :].ravel():
            axis.remove()
        bar = figure.colorbar(
            axes[0, 0].images[0], ax=axes, location="bottom", aspect=30, shrink=0.5, pad=0.02
        )
        bar.set_label("probability")
        bar.outline.set_visible(False)
    return figure


def draw_heatmap(axis: Any, heatmap: Heatmap, *, headed: bool = True) -> None:
    """Draw one on an axis, without names of its two sides."""
    size = len(heatmap.names)
    axis.imshow(heatmap.probs, cmap="Blues", vmin=0, vmax=1)
    for y in range(size):
        if np.isnan(heatmap.probs[y]).all():
            axis.axhspan(y - 0.5, y + 0.5, fill=False, hatch="/////", ec=PALE, lw=0)
        else:
            edges = np.array([y - 0.5, y + 0.5, y + 0.5, y - 0.5, y - 0.5])
            axis.plot(edges, edges[[0, 0, 1, 1, 0]], color=INK, lw=min(0.8, 8 / size), marker="")
    above = [wrap(heatmap.title, WIDTH)] if headed else []
    axis.set_title("\n".join([*above, literal(heatmap.note)]))
    axis.set_xticks(*option_ticks(heatmap.names))
    axis.set_yticks([])
    axis.tick_params(length=0, labelsize=5)
    axis.spines[:].set_visible(True)


def option_ticks(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Where an axis names an option, and how: evenly as many as fit."""
    fits = all(len(name) <= LONGEST for name in names)
    shown = list(range(0, len(names), -(-len(names) // MOST)))
    return shown, [literal(names[k]) if fits else str(k) for k in shown]

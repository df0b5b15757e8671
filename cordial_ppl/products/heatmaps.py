"""Tables of probabilities as small heatmaps, a row of them for each task and reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from jaxtyping import Float

from cordial_ppl.products.figure import COLUMN, INK, PALE, Figure, looking, new_figure

WIDTH = 12
"""Letters in a line above a heatmap."""

LONGEST = 2
"""Letters of an option's name that fit at an axis; longer names give way to their numbers."""

MOST = 5
"""Options of which each is named at an axis."""


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
    with looking():
        figure = new_figure(COLUMN, 0.95 * len(rows) + 0.45)
        axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
        image = None
        for line, maps in zip(axes, rows, strict=True):
            for axis, own in zip(line, maps, strict=True):
                image = _draw(axis, own)
            line[0].set_ylabel(f"{maps[0].row}\nstated class y")
            line[0].set_yticks(*_ticks(maps[0].names))
        for axis, own in zip(axes[0], rows[0], strict=True):
            axis.set_title(f"{fill(own.title, WIDTH)}\n{own.note}")
        for axis in axes[-1]:
            axis.set_xlabel("label z")
        bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=30, pad=0.02)
        bar.set_label("probability")
        bar.outline.set_visible(False)
    return figure


def _draw(axis, own: Heatmap):
    size = len(own.names)
    image = axis.imshow(own.probs, cmap="Blues", vmin=0, vmax=1)
    for y in range(size):
        if np.isnan(own.probs[y]).all():
            axis.axhspan(y - 0.5, y + 0.5, fill=False, hatch="/////", ec=PALE, lw=0)
        else:
            edges = np.array([y - 0.5, y + 0.5, y + 0.5, y - 0.5, y - 0.5])
            axis.plot(edges, edges[[0, 0, 1, 1, 0]], color=INK, lw=0.4, marker="")
    axis.set_title(own.note)
    axis.set_xticks(*_ticks(own.names))
    axis.set_yticks([])
    axis.tick_params(length=0, labelsize=5)
    axis.spines[:].set_visible(True)
    return image


def _ticks(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Where an axis names an option, and how: every other one of many."""
    fits = all(len(name) <= LONGEST for name in names)
    shown = list(range(0, len(names), 1 if len(names) <= MOST else 2))
    return shown, [names[k] if fits else str(k + 1) for k in shown]

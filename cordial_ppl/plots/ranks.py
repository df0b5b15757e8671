"""The ranks of simulation-based calibration as a figure."""

import math
from pathlib import Path

import numpy as np
from scipy.stats import kstwo

from cordial_ppl.evaluation.checks.simulation import Ranks
from cordial_ppl.evaluation.products.figure import INK, PAGE, PALE, looking, new_figure
from cordial_ppl.runtime.outputs import replacing

COLUMNS = 5
LEVEL = 0.95


def write_ranks(path: Path, ranks: Ranks, title: str) -> None:
    """Draw how far the distribution of the ranks of each quantity is from uniform.

    A curve above zero has too many small ranks; one that stays inside the band has no more of any
    than chance gives, in 95 % of right posteriors (the band of Kolmogorov and Smirnov).

    Args:
        path: the figure to write; its ending says in which format.
        ranks: the ranks.
        title: the figure's title.

    Raises:
        InputError: matplotlib is not installed.
        FileError: the figure cannot be written.
    """
    with looking():
        count, quantities = ranks.values.shape
        columns = min(COLUMNS, quantities)
        rows = math.ceil(quantities / columns)
        figure = new_figure(PAGE, 1.1 * rows + 0.5)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        band = float(kstwo.ppf(LEVEL, count))
        for panel, name, values in zip(panels, ranks.names, ranks.values.T, strict=False):
            below = np.concatenate([[0.0], np.sort(values), [1.0]])
            excess = np.concatenate([np.arange(count + 1) / count, [1.0]]) - below
            outside = np.abs(excess).max() > band
            panel.axhspan(-band, band, color=PALE, alpha=0.4, linewidth=0)
            panel.axhline(0, color=INK, linewidth=0.4)
            panel.step(below, excess, where="post", color="#D55E00" if outside else "#0072B2")
            panel.set_title(name.replace("_", " "))
        limit = 1.15 * max(band, *(abs(v) for axis in panels for v in axis.get_ylim()))
        panels[0].set_ylim(-limit, limit)
        for panel in panels[quantities:]:
            panel.set_visible(False)
        figure.supxlabel("rank of the truth among the draws", fontsize=7)
        figure.supylabel("share below, minus uniform", fontsize=7)
        figure.suptitle(title, fontsize=8)
        with replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix.removeprefix("."))

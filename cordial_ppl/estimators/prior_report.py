"""How a learned prior lies to the channels' own, in words."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from cordial_ppl.errors import count, list_names
from cordial_ppl.inference.priors.learned import LearnedPrior
from cordial_ppl.runtime.text_table import align

MOST = 5
"""Parameters that are shown: those whose prior moves most."""


def describe_prior(prior: LearnedPrior, rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what a prior is from, and how far it lies from the channels' own.

    Args:
        prior: The prior.
        rows: Its parameters, from ``LearnedPrior.describe``.
    """
    readers = {fit.reader for fit in prior.fits if fit.reader}
    sizes = sorted({sum(fit.counts) for fit in prior.fits})
    labels = f"{sizes[0]:,} to {sizes[-1]:,} labels" if len(sizes) > 1 else f"{sizes[0]:,} labels"
    by = f" by {count(len(readers), 'reader')}" if readers else ""
    tasks = f"{count(len(prior.tasks), 'task')}{by}"

    def move(row: Mapping[str, Any]) -> float:
        """Measure how far a centre has moved, in units of the channel's own width."""
        return abs(row["loc"] - row["default_loc"]) / row["default_scale"]

    cells = []
    for channel, group in groupby(rows, lambda row: row["channel"]):
        parameters = list(group)
        far = np.median([move(row) for row in parameters])
        width = np.median([row["scale"] / row["default_scale"] for row in parameters])
        cells.append((channel, str(len(parameters)), f"{far:.2f}", f"{width:.2f}"))
    title = "Against the channels' own priors, in units of their widths (medians)"
    return "\n".join(
        [
            f"A prior from {tasks}, {count(len(prior.fits), 'fit')} to {labels} each",
            f"  {list_names(prior.tasks)}\n",
            title,
            *align(("", "parameters", "centres move by", "widths become"), *cells),
            "\nMoved most: what a fit expects before it has seen a label",
            *(
                f"  {row['channel']}: {row['parameter']} {row['centre']:.2f} in place of "
                f"{row['default_centre']:.2f}"
                for row in sorted(rows, key=move, reverse=True)[:MOST]
            ),
        ]
    )

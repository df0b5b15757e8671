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
    least, *_, most = sorted(sum(fit.counts) for fit in prior.fits * 2)
    labels = f"{least:,} to {most:,} labels" if most > least else f"{least:,} labels"
    by = f" by {count(len(readers), 'reader')}" if readers else ""
    # How far a centre has moved, in units of the channel's own width.
    moves = [abs(row["loc"] - row["default_loc"]) / row["default_scale"] for row in rows]
    cells = []
    for channel, group in groupby(zip(rows, moves, strict=True), lambda pair: pair[0]["channel"]):
        parameters, far = zip(*group, strict=True)
        widths = [row["scale"] / row["default_scale"] for row in parameters]
        medians = (f"{np.median(each):.2f}" for each in (far, widths))
        cells.append((channel, str(len(parameters)), *medians))
    lines = [
        f"A prior from {count(len(prior.tasks), 'task')}{by}, {count(len(prior.fits), 'fit')} to "
        f"{labels} each\n  {list_names(prior.tasks)}\n",
        "Against the channels' own priors, in units of their widths (medians)",
        *align(("", "parameters", "centres move by", "widths become"), *cells),
        "\nMoved most: what a fit expects before it has seen a label",
    ]
    for index in np.argsort(moves, stable=True)[::-1][:MOST]:
        row = rows[index]
        lines.append(
            f"  {row['channel']}: {row['parameter']} {row['centre']:.2f} in place of "
            f"{row['default_centre']:.2f}"
        )
    return "\n".join(lines)

"""Where our method has the lowest log loss, and by how much."""

from collections.abc import Mapping

import numpy as np

from cordial_ppl.products.comparison import Key, rivals
from cordial_ppl.products.means import mean_scores
from cordial_ppl.sweep import Results


def leads(results: Results, ours: str, least: int, most: int) -> dict[Key, float]:
    """Return by how much log loss (nats) ours leads the best rival, by cell; negative: it trails.

    Args:
        results: the sweep.
        ours: our method.
        least: fewest labels.
        most: most labels.

    Returns:
        A lead for each cell with as many labels; NaN where ours or all others are left out.
    """
    others, found = rivals(results, ours), {}
    for key, cell in results.cells.items():
        if least <= key[2] <= most:
            means = {m: own.mean for m, own in mean_scores(cell, (ours, *others)).items()}
            best = min((means[m] for m in others if not np.isnan(means[m])), default=np.nan)
            found[key] = best - means[ours]
    return found


def name_unknown(leads: Mapping[Key, float]) -> str:
    """Say where a lead is not known; nothing where all are."""
    named = "; ".join(", ".join(map(str, key)) for key, lead in leads.items() if np.isnan(lead))
    return f" Unknown, with too few shared draws: {named}." if named else ""

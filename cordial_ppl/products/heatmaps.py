"""A table of probabilities as a small heatmap."""

from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.products.figure import INK, PALE


def draw_heatmap(axis: Any, probs: Float[np.ndarray, "K K"]) -> None:
    """Draw a distribution over labels for each stated class, on a colour scale from 0 to 1.

    Squares where label and stated class agree are outlined; rows of NaN are hatched.

    Args:
        axis: where to draw.
        probs: probabilities, row y for stated class y; NaN where no text has it.
    """
    axis.imshow(probs, cmap="Blues", vmin=0, vmax=1)
    for y, row in enumerate(probs):
        if np.isnan(row).all():
            axis.axhspan(y - 0.5, y + 0.5, fill=False, hatch="/////", ec=PALE, lw=0)
        else:
            edges = y + np.array([-0.5, 0.5, 0.5, -0.5, -0.5])
            axis.plot(
                edges, edges[[0, 0, 1, 1, 0]], color=INK, lw=min(0.8, 8 / len(probs)), marker=""
            )
    axis.tick_params(length=0)
    axis.spines[:].set_visible(True)

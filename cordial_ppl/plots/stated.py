"""What texts get, given the class that the reader states, as a small heatmap."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cordial_ppl.errors import InputError
from cordial_ppl.plots.axis import Axes, drawing
from cordial_ppl.products.figure import literal
from cordial_ppl.products.heatmaps import draw_heatmap
from cordial_ppl.readings import as_logits
from cordial_ppl.scale import Scale
from cordial_ppl.scores import as_probabilities, means_given_stated


def stated_classes(
    probs: Any,
    logits: Any,
    *,
    options: Sequence[str] | Scale | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean distribution of the label for each class that the reader states.

    Row y is the mean over the texts whose most probable raw option is y; hatched rows have no text.
    The outlined squares are where label and stated class agree.  For the labels themselves, give
    one-hot rows: ``np.eye(K)[labels]`` (Fig. 2 of the paper).

    Args:
        probs: probabilities of the options, ``[n, K]``, of a calibrator or of people.
        logits: option logits of the same texts, ``[n, K]``.
        options: names of the K options; by default 0..K-1.
        title: what stands above.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the arrays cannot be used or differ in shape, or matplotlib is not installed.
    """
    readings, shares = as_logits(logits), as_probabilities(probs)
    if readings.shape != shares.shape:
        raise InputError(
            "probs and logits must be of the same texts and options; got shapes "
            f"{shares.shape} and {readings.shape}."
        )
    names = Scale.of(options, shares.shape[1]).options
    table = means_given_stated(shares, np.argmax(readings, axis=1))
    with drawing(ax, height=2.9) as axis:
        draw_heatmap(axis, table, names)
        axis.set_title(literal(title))
        axis.set_xlabel("label")
        axis.set_ylabel("stated class")
    return axis

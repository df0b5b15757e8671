"""Reliability: what texts get by the class that the reader states, and by threshold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import beta

from cordial_ppl.data.labelling import as_weights
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.judge import LEVELS
from cordial_ppl.errors import InputError
from cordial_ppl.plots.figure import (
    INK,
    Axes,
    draw_heatmap,
    drawing,
    group,
    name_options,
    short,
    wrap,
)
from cordial_ppl.scores import as_probabilities, means_given_stated

TEXTS, MOST, DECIMALS = 20, 8, 3
"""Texts for each bin, bins of a threshold (and thresholds) at most, and decimals of predictions."""

LETTERS = 32
"""Letters of a line of a title that a column has room for."""

MARKS = "osD^vP*X"

END, BESIDE = 0.02, 0.014
"""How near 0 or 1 predictions of several thresholds stand side by side, and how far apart."""


def stated_classes(
    probs: Any,
    logits: Any,
    *,
    options: Sequence[str | float] | Scale | None = None,
    title: str = "",
    most: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the mean distribution of the label for each class that the judge states.

    Row y is the mean over the texts whose most probable raw option is y; hatched rows have no
    texts. In the outlined squares, label and stated class agree. To plot the labels themselves,
    pass one-hot rows: ``np.eye(K)[labels]`` (Fig. 2 of the paper).

    Args:
        probs: probabilities of the options, ``[n, K]``, from a calibrator or from people.
        logits: option logits of the same texts, ``[n, K]``.
        options: names of the K options; by default 0..K-1.
        title: title of the plot.
        most: the share with the darkest colour; pass the same share to panels that are compared. By
            default, this is the largest share in the plot.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: the arrays cannot be used or differ in shape, or matplotlib is not installed.
    """
    readings, shares = as_logits(logits), as_probabilities(probs)
    if readings.shape != shares.shape:
        raise InputError(
            "probs and logits must have the same shape (texts, options); got "
            f"{shares.shape} and {readings.shape}."
        )
    scale = Scale.of(options, shares.shape[1])
    means = means_given_stated(shares, readings.argmax(axis=1))
    largest = float(np.nanmax(means))
    darkest = largest if most is None else most
    with drawing(ax, height=2.9) as axis:
        draw_heatmap(axis, means, darkest)
        beyond = "max" if largest > darkest else "neither"
        axis.figure.colorbar(axis.images[0], ax=axis, label="share", shrink=0.8, extend=beyond)
        for side in (axis.xaxis, axis.yaxis):
            name_options(side, scale, range(scale.size))
        axis.set(title=wrap(title, LETTERS), xlabel="label", ylabel="judge's rating")
    return axis


def thresholds(
    probs: Any,
    labels: Any,
    *,
    options: Sequence[str | float] | Scale | None = None,
    title: str = "",
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Plot observed against predicted shares of labels at or below each threshold.

    .. math:: P(z \le t) = \sum_{k \le t} p(k), \qquad t = 0, \dots, K - 2

    For each threshold, texts are split by predicted probability into up to eight bins of about
    equal size; equal probabilities share a bin. Vertical lines are 90 % intervals of the observed
    share, under Jeffreys' prior. If there are more than eight thresholds, eight evenly spaced ones
    are drawn. Near 0 and 1, points of several thresholds are drawn side by side, so that none is
    hidden. Calibrated predictions follow the diagonal.

    Args:
        probs: probabilities of the options, ``[n, K]``.
        labels: labels of the texts, as option names or whole numbers 0..K-1, ``[n]``.
        options: names of the K options; by default 0..K-1.
        title: title of the plot.
        sample_weight: weight of each label, ``[n]``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: the arrays cannot be used or differ in length, or matplotlib is not installed.
    """
    shares = as_probabilities(probs)
    scale = Scale.of(options, shares.shape[1])
    if len(codes := scale.encode(labels)) != len(shares):
        raise InputError(f"got {len(shares)} rows of probabilities but {len(codes)} labels.")
    weights = as_weights(sample_weight, np.arange(len(codes)))
    with drawing(ax) as axis:
        from matplotlib import colormaps

        axis.plot([0, 1], [0, 1], color=INK, lw=0.6, ls=":", marker="")
        shown = range(0, scale.size - 1, -(-(scale.size - 1) // MOST))
        sign = "≤" if scale.rising else "≥"
        shades = colormaps["viridis"](np.linspace(0.3, 0.85, len(shown)))
        for index, (t, shade, mark) in enumerate(zip(shown, shades, MARKS, strict=False)):
            below, predicted = (codes <= t) * weights, shares[:, : t + 1].sum(axis=1)
            bins = group(predicted, int(np.clip(len(predicted) // TEXTS, 1, MOST)), DECIMALS)
            counts = np.stack([below, weights, predicted * weights])
            hits, sizes, sums = np.array([counts[:, rows].sum(axis=1) for rows in bins]).T
            low, _, high = (beta.ppf(end, hits + 0.5, sizes - hits + 0.5) for end in LEVELS)
            x, seen = sums / sizes, hits / sizes
            x[(x < END) | (x > 1 - END)] += BESIDE * (index - (len(shown) - 1) / 2)
            bars = np.maximum([seen - low, high - seen], 0)
            look = {"color": shade, "marker": mark, "mfc": "none", "ls": "", "elinewidth": 0.6}
            axis.errorbar(x, seen, yerr=bars, label=f"{sign} {short(scale.options[t])}", **look)
        ends, ticks = (-0.07, 1.07), [0, 0.25, 0.5, 0.75, 1]
        axis.set(xlim=ends, ylim=ends, xticks=ticks, yticks=ticks, aspect="equal")
        axis.set(xlabel=f"predicted P(label {sign} t)", ylabel="observed share")
        axis.set_title(wrap(title, LETTERS))
        axis.legend(loc="best")
    return axis

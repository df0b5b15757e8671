"""The reader's transfer curve: what the label is on the mean, given what the reader states."""

from typing import Any

import numpy as np

from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import stated
from cordial_ppl.plots.axis import (
    OURS,
    PEOPLE,
    RAW,
    Axes,
    check_stack,
    drawing,
    group,
    name_options,
)

MOST = 400
"""Labelled texts that are drawn as points."""

JITTER = 0.12
"""How far a point may stand from its label, as a share of the distance of two options."""

GROUPS, LEAST, DECIMALS = 10, 3, 2
"""Points of the curve at most, texts for each, and decimals (in steps) that tell means apart."""


def transfer_curve(
    calibrator: Stack,
    logits: Any = None,
    labels: Any = None,
    covariates: Any = None,
    *,
    level: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the calibrated mean label against the mean that the reader states.

    Circles are labelled texts: the mean of what the reader states of each, and its label, moved a
    little up or down at random.  The curve is what the calibrator makes of the same texts: by the
    stated mean they form up to ten groups, and each point is the mean of a group on both axes.
    The band runs between the means of the ends of the texts' credible intervals, as if all were
    off in the same direction: it is at least as wide as the interval of the group's mean.  On the
    diagonal the reader is right.

    Args:
        calibrator: a fitted stack.
        logits: option logits of labelled texts, ``[n, K]``; by default those of the fit.
        labels: their options, ``[n]``.
        covariates: their covariates, as in ``fit``.
        level: probability inside the band.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: ``calibrator`` is not a stack, ``level`` is not between 0 and 1, logits came
            without labels or cannot be used, none came for a calibrator that keeps none (one
            without channels, or from a file), or matplotlib is not installed.
    """
    data = check_stack(calibrator).labelled(logits, labels, covariates)
    values, said = calibrator.scale_.values, stated(data.logits) @ calibrator.scale_.values
    mean = calibrator.predict_mean(data.logits, data.covariates)
    ends = calibrator.predict_interval(data.logits, level, data.covariates)
    step, lowest, highest = np.min(np.diff(np.sort(values))), min(values), max(values)
    parts = group(said / step, int(np.clip(len(said) // LEAST, 1, GROUPS)), DECIMALS)
    x, y, low, high = (
        np.array([values_of[part].mean() for part in parts]) for values_of in (said, mean, *ends)
    )
    with drawing(ax) as axis:
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(data.labels))[:MOST]
        moved = values[data.labels[rows]] + step * rng.uniform(-JITTER, JITTER, len(rows))
        axis.plot(
            said[rows],
            moved,
            ls="",
            marker="o",
            mfc="none",
            mec=PEOPLE,
            ms=3.5,
            label="labelled texts",
            zorder=1,
        )
        ends = lowest, highest
        axis.plot(ends, ends, color=RAW, ls=":", marker="", label="as stated", zorder=2)
        axis.fill_between(x, low, high, color=OURS, alpha=0.2, lw=0, zorder=2)
        axis.plot(
            x,
            y,
            color=OURS,
            marker="o",
            label=f"calibrated, {100 * level:.0f} % intervals",
            zorder=3,
        )
        name_options(axis.xaxis, calibrator.scale_)
        name_options(axis.yaxis, calibrator.scale_)
        axis.set_ylim(lowest - 0.4 * step, highest + 0.4 * step)
        axis.set_xlim(lowest - 0.2 * step, highest + 0.2 * step)
        axis.set_xlabel("what the reader states (mean)")
        axis.set_ylabel("label")
        axis.legend(loc="best")
    return axis

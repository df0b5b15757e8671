"""The reader's transfer curve: what the label is on the mean, given what the reader states."""

from typing import Any

import numpy as np

from cordial_ppl.analyses.saturated import saturated_readings
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.cordial.weighing import stated
from cordial_ppl.plots.axis import OURS, PEOPLE, RAW, Axes, drawing, name_options

MOST = 400
"""Labelled texts that are drawn as points."""

JITTER = 0.12
"""How far a point may stand from its label, as a share of the distance of two options."""


def transfer_curve(
    judge: Stack,
    logits: Any = None,
    labels: Any = None,
    covariates: Any = None,
    *,
    level: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the calibrated mean label against the class that the reader states.

    For each class y there is a reading that is as sure of y as this reader usually is (the median
    over the texts); the curve is what the judge makes of these K readings, the band the credible
    interval of its mean.  Points are labelled texts: the mean of what the reader states of each,
    and its label, moved a little up or down at random.  On the diagonal the reader is right.

    Args:
        judge: a fitted stack.
        logits: option logits of labelled texts, ``[n, K]``; by default those of the fit.
        labels: their options, ``[n]``.
        covariates: their covariates, as in ``fit``.
        level: probability inside the band.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: logits came without labels or cannot be used, none came for a judge that was
            loaded from a file, or matplotlib is not installed.
    """
    data = judge.labelled(logits, labels, covariates)
    values, size = judge.scale_.values, judge.scale_.size
    sure = saturated_readings(data.logits)
    extra = {name: np.full(size, np.mean(column)) for name, column in data.covariates.items()}
    mean = judge.predict_mean(sure, extra)
    low, high = judge.predict_interval(sure, level, extra, mean=mean)
    with drawing(ax) as axis:
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(data.labels))[:MOST]
        step = np.min(np.diff(values))
        moved = values[data.labels[rows]] + step * rng.uniform(-JITTER, JITTER, len(rows))
        axis.plot(
            stated(data.logits[rows]) @ values,
            moved,
            ls="",
            marker="o",
            mfc="none",
            mec=PEOPLE,
            ms=3.5,
            label="labelled texts",
            zorder=1,
        )
        axis.plot(values, values, color=RAW, ls=":", marker="", label="as stated", zorder=2)
        axis.fill_between(values, low, high, color=OURS, alpha=0.2, lw=0, zorder=2)
        axis.plot(
            values,
            mean,
            color=OURS,
            marker="o",
            label=f"calibrated, {100 * level:.0f} % interval",
            zorder=3,
        )
        name_options(axis.xaxis, judge.scale_)
        name_options(axis.yaxis, judge.scale_)
        axis.set_ylim(values[0] - 0.4 * step, values[-1] + 0.4 * step)
        axis.set_xlabel("what the reader states (mean)")
        axis.set_ylabel("label")
        axis.legend(loc="best")
    return axis

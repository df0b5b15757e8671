"""What the reader states, and what calibration makes of it: text by text, and over all texts."""

from typing import Any

import numpy as np

from cordial_ppl.data.labelling import as_weights
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits
from cordial_ppl.decisions.answers import as_fit, labelled_texts
from cordial_ppl.decisions.judge import LEVEL
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.plots.figure import OURS, PEOPLE, RAW, Axes, drawing, group, name_options
from cordial_ppl.stack.entering import enter_labels, predict_all
from cordial_ppl.stack.fit import Fit

MOST, JITTER = 400, 0.12
"""Labelled texts that are drawn as points, and how far a point may stand from its label, as a share
of the distance of two options."""

BAR = 0.8
"""Length and height of the longest bar of labels, in steps of the scale."""

GROUPS, LEAST, DECIMALS = 10, 3, 2
"""Points of the curve at most, texts for each, and decimals (in steps) that tell means apart."""


def transfer_curve(
    calibrator: Estimator[Any],
    logits: Any = None,
    labels: Any = None,
    covariates: Any = None,
    *,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the calibrated mean label against the judge's mean rating.

    Labelled texts are grouped by the judge's mean rating into up to ten groups. Each point is the
    mean of a group on both axes. The band runs between the average ends of the texts' credible
    intervals, as if all texts were off in the same direction; it is at least as wide as the
    interval of the group's mean. On the diagonal, the judge is right. Circles are labelled texts,
    with some vertical jitter. If each reading is a single rating, vertical lines replace the band,
    and bars show the labels for each rating (or for the ratings nearest to an option); the longest
    bar marks the most common label.

    Args:
        calibrator: a fitted stack.
        logits: option logits of labelled texts, ``[n, K]``; by default those of the fit.
        labels: labels of these texts, ``[n]``.
        covariates: covariates of these texts, as in ``fit``.
        sample_weight: weight of each label, as in ``fit``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        NotFittedError: ``fit`` has not been called.
        InputError: ``calibrator`` is not a stack, logits were passed without labels or cannot be
            used, a calibrator without labels needs both, or matplotlib is not installed.
    """
    fit: Fit = as_fit(calibrator)
    data, scale = labelled_texts(fit, logits, labels, covariates), fit.scale
    if sample_weight is not None:
        data = enter_labels(fit, logits, labels, covariates, sample_weight).read
    (shares, kind), values = state(data.logits), scale.values
    hard, raw = kind == "rating", shares @ values
    _, *curves = predict_all(fit, data.logits, LEVEL, data.covariates)
    step, lowest, highest = np.min(np.diff(np.sort(values))), min(values), max(values)
    if hard:
        nearest = np.abs(raw[:, None] - values).argmin(axis=1)
        parts = [np.flatnonzero(nearest == option) for option in np.unique(nearest)]
    else:
        parts = group(raw / step, int(np.clip(len(raw) // LEAST, 1, GROUPS)), DECIMALS)
    x, y, low, high = (np.array([curve[rows].mean() for rows in parts]) for curve in (raw, *curves))
    words = f"calibrated, {100 * LEVEL:.0f} % intervals"
    with drawing(ax) as axis:
        line = {"color": RAW, "ls": ":", "marker": "", "label": "as stated", "zorder": 2}
        axis.plot((lowest, highest), (lowest, highest), **line)
        if hard:
            for rows, rating in zip(parts, x, strict=True):
                counts = np.bincount(data.labels[rows], data.weights[rows], len(values))
                length = BAR * step * counts / counts.max()
                axis.barh(values, length, BAR * step, left=rating - length / 2, color=PEOPLE)
            axis.plot([], [], color=PEOPLE, ls="", marker="s", label="labels by rating")
            error = np.maximum([y - low, high - y], 0)
            axis.errorbar(x, y, error, color=OURS, ls="", marker="o", label=words, zorder=3)
        else:
            rng = np.random.default_rng(0)
            rows = rng.permutation(len(data.labels))[:MOST]
            moved = values[data.labels[rows]] + step * rng.uniform(-JITTER, JITTER, len(rows))
            circles = {"ls": "", "marker": "o", "mfc": "none", "mec": PEOPLE, "ms": 3.5}
            axis.plot(raw[rows], moved, label="labelled texts", zorder=1, **circles)
            axis.fill_between(x, low, high, color=OURS, alpha=0.2, lw=0, zorder=2)
            axis.plot(x, y, color=OURS, marker="o", label=words, zorder=3)
        name_options(axis.xaxis, scale)
        name_options(axis.yaxis, scale)
        aside = (0.5 if hard else 0.2) * step
        axis.set_ylim(lowest - 0.5 * step, highest + 0.5 * step)
        axis.set_xlim(lowest - aside, highest + aside)
        axis.set(xlabel="rating" if hard else "mean rating of the judge", ylabel="label")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axis


def label_shares(
    calibrator: Estimator[Any],
    logits: Any,
    labels: Any = None,
    covariates: Any = None,
    *,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the share of each option, before and after calibration.

    Marks are the means of the stated and the calibrated probabilities over all texts. If labels are
    passed, bars show their shares.

    Args:
        calibrator: a fitted calibrator for one judge.
        logits: option logits of texts, ``[m, K]``.
        labels: labels of these texts, ``[m]``, or of other texts from the same source.
        covariates: covariates of the texts, as in ``fit``.
        sample_weight: weight of each label, ``[m]``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        NotFittedError: ``fit`` has not been called.
        InputError: the readings or labels cannot be used, or matplotlib is not installed.
    """
    after = np.asarray(calibrator.predict_proba(logits, covariates)).mean(axis=0)
    scale = calibrator.fit_.scale
    before = state(as_logits(logits, size=scale.size))[0].mean(axis=0)
    places = np.arange(scale.size)
    with drawing(ax, height=1.9) as axis:
        if labels is not None:
            codes = scale.encode(labels)
            weights = as_weights(sample_weight, np.arange(len(codes)))
            seen = np.bincount(codes, weights, scale.size) / weights.sum()
            axis.bar(places, seen, width=0.7, color=PEOPLE, label=f"{len(codes):,} labels")
        marks = {"ls": "", "zorder": 3, "clip_on": False}
        axis.plot(places - 0.15, before, color=RAW, marker="s", label="as stated", **marks)
        axis.plot(places + 0.15, after, color=OURS, marker="o", label="calibrated", **marks)
        name_options(axis.xaxis, scale, places.tolist())
        axis.set(xlabel="option", ylabel="share of texts", ylim=(0, None))
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axis

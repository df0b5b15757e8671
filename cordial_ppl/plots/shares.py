"""How common each label is: by people, as the reader states it, and calibrated."""

from typing import Any

import numpy as np

from cordial_ppl.cordial.estimator import Estimator
from cordial_ppl.cordial.weighing import stated
from cordial_ppl.plots.axis import OURS, PEOPLE, RAW, Axes, drawing, name_options
from cordial_ppl.readings import as_logits


def label_shares(
    calibrator: Estimator,
    logits: Any,
    labels: Any = None,
    covariates: Any = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution of labels over texts before and after calibration.

    Marks are means of the stated and of the calibrated probabilities over all texts; bars, where
    labels are given, are the shares of the labels.

    Args:
        calibrator: a fitted calibrator of one reader.
        logits: option logits of texts, ``[m, K]``.
        labels: options of all of these texts, ``[m]``, or of other texts from the same source.
        covariates: covariates of the texts, as in ``fit``.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: the readings or labels cannot be used, or matplotlib is not installed.
    """
    after = np.asarray(calibrator.predict_proba(logits, covariates)).mean(axis=0)
    scale = calibrator.scale_
    before = stated(as_logits(logits, size=scale.size)).mean(axis=0)
    places = np.arange(scale.size)
    with drawing(ax, height=1.9) as axis:
        if labels is not None:
            codes = scale.encode(labels)
            seen = np.bincount(codes, minlength=scale.size) / len(codes)
            axis.bar(places, seen, width=0.7, color=PEOPLE, label=f"{len(codes):,} labels")
        marks = {"ls": "", "zorder": 3}
        axis.plot(places - 0.15, before, color=RAW, marker="s", label="as stated", **marks)
        axis.plot(places + 0.15, after, color=OURS, marker="o", label="calibrated", **marks)
        name_options(axis.xaxis, scale, places.tolist())
        axis.set_ylim(0, None)
        axis.set_xlabel("option")
        axis.set_ylabel("share of texts")
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axis

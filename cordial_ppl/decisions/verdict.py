r"""Whether to use a calibrator, in one line, against what needs no reader: the label histogram.

The gain is what the calibrator's log loss is below the histogram's.  Of its labels alone it is
uncertain, so what the calibrator expects of itself counts too, less so the more labels there are:

.. math:: g = a\, \frac1n \sum_i \log \frac{p_i(z_i)}{h_{-i}(z_i)} + (1 - a)\, \bar D, \qquad
    a = \frac{n}{n + 50}

with out-of-fold predictions p, the histogram h of the other labels, smoothed as that of the
channels is (`data/smoothing.py`), and the mean divergence D of p from the histogram.  Its standard
deviation is that of the first mean and 0.85 D, each with its share.  The constants were chosen on
real readings (tested in `benchmarks/forecasts.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.labelling import TextLabels
from cordial_ppl.data.scale import Scale
from cordial_ppl.data.smoothing import smooth_counts
from cordial_ppl.decisions.forecasting import FEWEST, Range
from cordial_ppl.decisions.judge import LEVEL, Points, score_points
from cordial_ppl.decisions.records import list_fields
from cordial_ppl.errors import count
from cordial_ppl.runtime.arrays import FLOOR

LABELS_TO_BELIEVE = 50
"""Labels from which their gains count more than those that the calibrator expects."""

GAIN_DEVIATION = 0.85
"""Standard deviation over tasks of the gain that a calibrator expects, as a share of it."""

LEAST_GAIN, LABELS_TO_REJECT, SURE = 0.04, 50, 0.99
"""A gain (nats) below which a reader is not worth its cost, labels that can show this, and how
probable it has to be: those that look poor by their labels are better than they look."""

LEAST_HOPE = 0.02
"""Share of texts by which the most probable option has to beat the commonest label, or may."""

NO_NEARER = (
    "Calibrated choices are no closer to the labels than the judge's own, but calibration "
    "provides probabilities and corrects the judge's bias when you estimate means and shares."
)
"""What is said where the distance does not fall."""

NOT_THE_TOP = "Use the probabilities and means, not the top choice."
"""What is said where the top choice is right no more often than the commonest label."""

NO_MORE_OFTEN = (
    "Guessing the most common label is right at least as often, but means and shares are computed "
    "from the probabilities, which are better than the label histogram."
)
"""What is said where that may be luck, beside the advice to use the calibrator."""


class Advice(StrEnum):
    """Advice on a calibrator."""

    USE = "use it"
    LABEL = "label more"
    REJECT = "do not use it"


@dataclass(frozen=True)
class Verdict:
    """Advice on a calibrator, with its reasons.

    Attributes:
        advice: what to do.
        labels: number of labelled texts in the fit; with unequal weights, the number of equally
            weighted texts that carry as much information.
        target: recommended number of labels, if more labels are advised.
        reader: scores of the judge alone, if known.
        histogram: scores of the histogram of the other labels; None with too few labels for folds.
        calibrated: scores of the calibrator, out of fold; None with too few labels for folds.
        gain: by how much the calibrator's log loss is below the histogram's, nats, corrected for
            chance in these labels, with a 90 % interval; None with too few labels for folds.
        weak_choice: True if, out of fold, the most probable option is right no more often than the
            most common label, and is unlikely to do much better on other texts; False with fewer
            than 50 labels.
        alike: True if all labels are the same option.
    """

    advice: Advice
    labels: int
    target: int | None = None
    reader: Points | None = None
    histogram: Points | None = None
    calibrated: Points | None = None
    gain: Range | None = None
    weak_choice: bool = False
    alike: bool = False

    @property
    def text(self) -> str:
        """Return the verdict in one line."""
        labels = count(self.labels, "label")
        if self.target is not None:
            verdict = f"Label about {count(self.target - self.labels, 'more text')}"
        else:
            verdict = ("Use" if self.advice is Advice.USE else "Do not use") + " the calibrator"
        if self.alike and self.labels > 1:
            return f"{verdict}: all {labels} are identical, so nothing can be learned from them."
        if self.labels < FEWEST or self.calibrated is None or self.histogram is None:
            return f"{verdict}: {labels} cannot show how good the calibrator is."
        why = {
            Advice.USE: "it predicts labels better than the label histogram",
            Advice.LABEL: f"{labels} do not yet show whether the calibrator beats the histogram",
            Advice.REJECT: "it predicts labels hardly any better than the label histogram",
        }[self.advice]
        return " ".join([f"{verdict}: {why}.", *self._reasons(self.calibrated, self.histogram)])

    def _reasons(self, calibrated: Points, histogram: Points) -> list[str]:
        right, common = (f"{100 * points.accuracy:.0f} %" for points in (calibrated, histogram))
        reader = f"judge alone: {100 * self.reader.accuracy:.0f} %; " if self.reader else ""
        sentences = [
            f"The calibrated top choice is right {right} of the time ({reader}always guessing the "
            f"most common label: {common})."
        ]
        if self.weak_choice:
            sentences.append(NOT_THE_TOP)
        elif self.advice is Advice.USE and calibrated.accuracy <= histogram.accuracy:
            sentences.append(NO_MORE_OFTEN)
        if calibrated.distance is not None:
            reader = f"judge alone: {self.reader.distance:.2f}; " if self.reader else ""
            sentences.append(
                f"On average, the calibrated median misses the label by {calibrated.distance:.2f} "
                f"scale points ({reader}label histogram: {histogram.distance:.2f})."
            )
        if self.reader and calibrated.miss >= self.reader.miss:
            sentences.append(NO_NEARER)
        lower = (histogram.loss or 0.0) - (calibrated.loss or 0.0)
        side = "lower" if lower >= 0 else "higher"
        sentences.append(
            f"The log loss on these {self.labels} labels is {abs(lower):.2f} nats {side} than the "
            f"label histogram's. On other texts, expect a gain of {self.gain} nats."
        )
        return sentences

    def __repr__(self) -> str:
        """Return the verdict in one line."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return list_fields(self) | {"text": self.text}


def tabulate(reader: Points | None, verdict: Verdict | None) -> list[Sequence[str]]:
    """Return a table of how near the reader, the histogram and the calibrator come to labels.

    Args:
        reader: the reader as it is.
        verdict: that on the calibrator.

    Returns:
        A head, and a row for each score, of those that are known.
    """
    columns = {
        "judge alone": reader,
        "label histogram": verdict and verdict.histogram,
        "calibrated": verdict and verdict.calibrated,
    }
    shown = {name: points for name, points in columns.items() if points is not None}
    if not shown:
        return []
    rows = {
        "top choice is right": [f"{100 * points.accuracy:.0f} %" for points in shown.values()],
        "median misses by": [f"{p.miss:.2f}" * (p.distance is not None) for p in shown.values()],
        "log loss, nats": ["" if (p.loss is None) else f"{p.loss:.2f}" for p in shown.values()],
    }
    return [("", *shown), *((name, *cells) for name, cells in rows.items() if any(cells))]


def guess_others(per_text: TextLabels) -> Float[np.ndarray, "T K"]:
    """Predict each text by the smoothed histogram of the labels of the others."""
    weighted = per_text.weights[:, None] * per_text.shares
    return smooth_counts(np.maximum(weighted.sum(axis=0) - weighted, 0.0))


def judge(
    per_text: TextLabels,
    out_of_fold: Float[np.ndarray, "n K"] | None,
    scale: Scale,
    reader: Points | None = None,
) -> Verdict:
    """Judge a calibrator by its out-of-fold predictions.

    With fewer than 20 labels, label to 20.  Else use it, if the 90 % interval of its gain over the
    label histogram lies above zero; do not use it, if with 50 labels or more the gain is below 0.04
    nats with a probability of 0.99; otherwise label to 50, or twice as many as there are.

    Args:
        per_text: the labels of each text of the fit.  Several labels of a text are one observation:
            their distribution is compared with what is predicted.
        out_of_fold: out-of-fold probabilities by label; None with too few labels for folds.
        scale: the K options.
        reader: how near the reader as it is comes to them, if known.
    """
    first, shares, weights = per_text
    size = int(effective := per_text.effective)
    if out_of_fold is None:
        return Verdict(Advice.LABEL, size, FEWEST, reader, alike=per_text.alike)
    counts, total, others = weights @ shares, weights.sum(), guess_others(per_text)
    histogram, probs = smooth_counts(counts), out_of_fold[first]
    logs = np.log(np.maximum(probs, FLOOR))
    ahead = np.sum(shares * (logs - np.log(others)), axis=1)
    calibrated = score_points(probs, per_text, scale)
    # Smoothing may move the middle: the median and the likeliest option are of the counts.
    guess = (counts + 1) / (total + scale.size)
    guessed = score_points(np.broadcast_to(guess, probs.shape), per_text, scale)
    measured = float(np.average(ahead, weights=weights))
    hoped = float(np.average(np.sum(probs * (logs - np.log(histogram)), axis=1), weights=weights))
    share = effective / (effective + LABELS_TO_BELIEVE)
    gain = share * measured + (1 - share) * hoped
    variance = np.average((ahead - measured) ** 2, weights=weights)
    error = math.sqrt(variance / max(effective - 1, 1))
    deviation = math.hypot(share * error, GAIN_DEVIATION * (1 - share) * hoped)
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2)
    low, high = gain - reach * deviation, gain + reach * deviation
    highest = gain + NormalDist().inv_cdf(SURE) * deviation
    if effective < FEWEST:
        advice, target = Advice.LABEL, FEWEST
    elif low > 0 and measured > 0 and not per_text.alike:
        advice, target = Advice.USE, None
    elif effective >= LABELS_TO_REJECT and highest < LEAST_GAIN and not per_text.alike:
        advice, target = Advice.REJECT, None
    else:
        advice, target = Advice.LABEL, max(LABELS_TO_REJECT, 2 * size)
    hope = np.average(probs.max(axis=1), weights=weights) - (weights @ probs).max() / total
    leads = shares[np.arange(len(probs)), probs.argmax(axis=1)] - shares[:, guess.argmax()]
    lead = calibrated.accuracy - guessed.accuracy
    variance = np.average((leads - lead) ** 2, weights=weights)
    luck = reach * share * math.sqrt(variance / max(effective - 1, 1))
    weak = lead <= 0 and max(hope, share * lead + (1 - share) * hope + luck) <= LEAST_HOPE
    return Verdict(
        advice=advice,
        labels=size,
        target=target,
        reader=reader,
        histogram=guessed._replace(loss=(calibrated.loss or 0.0) + measured),
        calibrated=calibrated,
        gain=Range(gain, low, high),
        weak_choice=bool(weak and effective >= LABELS_TO_BELIEVE),
        alike=per_text.alike,
    )

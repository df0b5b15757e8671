r"""Whether to use a calibrator, in one line, against what needs no reader: the label histogram.

The gain is what the calibrator's log loss is below the histogram's.  Of its labels alone it is
uncertain, so what the calibrator expects of itself counts too, less so the more labels there are:

.. math:: g = a\, \frac1n \sum_i \log \frac{p_i(z_i)}{h_{-i}(z_i)} + (1 - a)\, \bar D, \qquad
    a = \frac{n}{n + 50}

with out-of-fold predictions p, the histogram h of the other labels, and the mean divergence D of p
from the histogram.  Its standard deviation is that of the first mean and 0.85 D, each with its
share.  The constants were measured (`benchmarks/forecasts.py`).
"""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelling import by_text
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.forecasting import FEWEST
from cordial_ppl.runtime.arrays import FLOOR

GAIN_PRIOR_LABELS = 50
"""Labels from which their gains count more than those that the calibrator expects.

Fewer than for a forecast, which need not tell readers that say nothing."""

GAIN_DEVIATION = 0.85
"""Standard deviation over tasks of the gain that a calibrator expects, as a share of it."""

NORMAL = 1.645
"""Quantile of the normal distribution for intervals of 90 %."""

LEAST_GAIN, LABELS_TO_REJECT = 0.04, 50
"""A gain (nats) below which a reader is not worth its cost, and labels that can show this."""


class Advice(StrEnum):
    """What to do with a calibrator."""

    USE = "use it"
    LABEL = "label more"
    REJECT = "do not use it"


@dataclass(frozen=True)
class Verdict:
    """Whether to use a calibrator, and why.

    Attributes:
        advice: what to do.
        labels: number of labelled texts of the fit; if they weigh unequally, how many of equal
            weight say as much.
        target: how many labels to have, where more are advised.
        accuracy: share of the labelled texts whose most probable option, out of fold, is the label.
        common: share of the most frequent label.
        error: mean distance of the calibrated mean from the label, out of fold, in units of the
            scale.
        spread: mean distance of the other labels' mean from the label.
        loss: out-of-fold log loss, nats.
        gain: by how much it is below the label histogram's, nats, with its 90 % interval.
        alike: whether all labels are of one option.
    """

    advice: Advice
    labels: int
    target: int | None = None
    accuracy: float = math.nan
    common: float = math.nan
    error: float = math.nan
    spread: float = math.nan
    loss: float = math.nan
    gain: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    alike: bool = False

    @property
    def text(self) -> str:
        """The verdict in one line."""
        known = f"{self.labels} label{'' if self.labels == 1 else 's'}"
        if self.target is not None:
            verdict = f"Label about {self.target - self.labels} more, to {self.target}"
        else:
            verdict = {Advice.USE: "Use it", Advice.REJECT: "Do not use it"}[self.advice]
        if self.alike and self.labels > 1:
            return f"{verdict}: all {known} are alike, from which nothing can be learned."
        if self.labels < FEWEST:
            few = "is" if self.labels == 1 else "are"
            return f"{verdict}: {known} {few} too few to say how good it is."
        value, low, high = self.gain
        why = {
            Advice.USE: "it knows more than the label histogram",
            Advice.LABEL: f"{known} leave open whether it knows more than the label histogram",
            Advice.REJECT: "it knows hardly more than the label histogram",
        }[self.advice]
        loss = f"its log loss is {value:.2f} ({low:.2f} to {high:.2f}) lower"
        right, other = (f"{100 * share:.0f} %" for share in (self.accuracy, self.common))
        off = f"off by {self.error:.2f} on the scale"
        if self.accuracy <= self.common:
            # What speaks for it comes first: the probabilities, not the most probable option.
            return (
                f"{verdict}: {why}. I{loss[1:]}, and it is {off} (the histogram: "
                f"{self.spread:.2f}). Its most probable option is right no more often, for {right} "
                f"of the labelled texts ({other}): go by probabilities and means."
            )
        return (
            f"{verdict}: {why}. It is right about {right} of the labelled texts (the histogram: "
            f"{other}), {off} ({self.spread:.2f}), and {loss}."
        )

    def __str__(self) -> str:
        """The verdict in one line."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Everything as values that JSON can express."""
        return asdict(self) | {"advice": self.advice.value, "text": self.text}


def judge(
    labels: Int[np.ndarray, " n"],
    out_of_fold: Float[np.ndarray, "n K"] | None,
    scale: Scale,
    weights: Float[np.ndarray, " n"] | None = None,
    texts: Int[np.ndarray, " n"] | None = None,
) -> Verdict:
    """Judge a calibrator by its out-of-fold predictions.

    With fewer than 20 labels, label to 20.  Else use it, if the 90 % interval of its gain over the
    label histogram lies above zero; do not use it, if with 50 labels or more the interval ends
    below 0.04 nats; otherwise label to 50, or twice as many as there are.

    Args:
        labels: labels of the fit, positions 0..K-1.
        out_of_fold: their out-of-fold probabilities; None with too few labels for folds.
        scale: the K options.
        weights: what each label counts; one by default.
        texts: which text each is of; by default each of another.  Several labels of a text are one
            observation: their distribution is compared with what is predicted.
    """
    known = by_text(labels, scale.size, weights, texts)
    first, shares, weights = known
    # Rounding of equal weights is no difference.
    effective = round(known.effective, 6)
    count = int(effective)
    own = weights[:, None] * shares
    counts, total = own.sum(axis=0), weights.sum()
    common = float(counts.max() / total)
    if effective < FEWEST or out_of_fold is None:
        return Verdict(Advice.LABEL, count, FEWEST, common=common, alike=known.alike)
    said, values = out_of_fold[first], scale.values
    logs = np.log(np.maximum(said, FLOOR))
    chosen = np.sum(shares * logs, axis=1)
    others = (counts - own + 1) / (total - weights + scale.size)[:, None]
    ahead = chosen - np.sum(shares * np.log(others), axis=1)
    histogram = (counts + 1) / (total + scale.size)

    def mean(each: Float[np.ndarray, " T"]) -> float:
        return float(np.average(each, weights=weights))

    hoped = mean(np.sum(said * (logs - np.log(histogram)), axis=1))
    share = effective / (effective + GAIN_PRIOR_LABELS)
    gain = share * mean(ahead) + (1 - share) * hoped
    error = math.sqrt(mean((ahead - mean(ahead)) ** 2) / (effective - 1))
    around = NORMAL * math.hypot(share * error, GAIN_DEVIATION * (1 - share) * hoped)
    low, high = gain - around, gain + around
    if low > 0 and mean(ahead) > 0 and not known.alike:
        advice, target = Advice.USE, None
    elif effective >= LABELS_TO_REJECT and high < LEAST_GAIN and not known.alike:
        advice, target = Advice.REJECT, None
    else:
        advice, target = Advice.LABEL, max(LABELS_TO_REJECT, 2 * count)
    middle = counts @ values / total
    away = np.abs((said @ values)[:, None] - values)
    return Verdict(
        advice=advice,
        labels=count,
        target=target,
        accuracy=mean(shares[np.arange(len(first)), said.argmax(axis=1)]),
        common=common,
        error=mean(np.sum(shares * away, axis=1)),
        spread=float(counts @ np.abs(values - middle) / total) * count / (count - 1),
        loss=-mean(chosen),
        gain=(gain, low, high),
        alike=known.alike,
    )

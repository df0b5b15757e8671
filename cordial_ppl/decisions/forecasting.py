r"""What more labels would give: log loss, and the width of the interval of the texts' mean.

The loss now is the one that the calibrator itself expects of many texts, corrected by what its
labels cost out of fold beyond that, as far as n labels can tell:

.. math:: \hat L = \bar H + \frac{a}{n} \sum_i (\ell_i - H_i) - 0.07\, (1 - a)\, \bar V, \qquad
    a = \frac{n}{n + 200}

with the loss l of a label, and the entropy H and the variance V that its prediction expects of it.
An average of members and draws doubts more than it need: labels are as if drawn from
:math:`p^{1.07}`, which to first order takes 0.07 V off the loss.  Out-of-fold loss alone would be
less certain: it depends on which texts were labelled.  What labels can still give is the part of
the loss that is due to not knowing the parameters, the epistemic gap G, which falls as 1 / n.  The
constants were chosen on real readings (tested in `benchmarks/forecasts.py`).
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import chdtri, ndtr, ndtri, stdtrit

from cordial_ppl.data.checks import check_list, check_number
from cordial_ppl.data.labelling import TextLabels
from cordial_ppl.decisions.records import as_values, list_fields
from cordial_ppl.errors import InputError, count
from cordial_ppl.runtime.arrays import FLOOR

FEWEST = 20
"""With fewer labels nothing is said about more."""

TIMES = 2, 3, 5, 10
"""Multiples of the labels that are forecast."""

LEVEL = 0.8
"""Probability inside the ranges."""

LABELS_TO_BELIEVE = 200
"""Labels from which their losses count more than what the calibrator expects; more than a verdict
needs, which has to tell readers that say nothing."""

UNDERCONFIDENCE = 0.07
"""By how much labels are sharper than predictions, which they follow to the power 1 + this."""

GAIN_SHARE, GAIN_DEVIATION = 0.8, 0.9
"""Gain, and half of its range, as shares of the epistemic gap."""

LOSS_DEVIATION = 0.05
"""Standard deviation over tasks of what a calibrator's loss is beside its expectation, nats."""

HALF = 0.6
"""Probability in theory where half are decided on real readings (`benchmarks/enough.py`): a few
labels hold few of the rare large errors, which widen later intervals."""

FREEDOM_PER_LABEL = 0.6
"""Degrees of freedom that a residual is worth: most labels agree, and a few are far off."""


class Range(NamedTuple):
    """A number with its range.

    Attributes:
        value: what is expected.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the range as text: "0.92 (0.80 to 1.04)"."""
        return f"{self.value:z.2f} ({self.low:z.2f} to {self.high:z.2f})"


class Outlook(NamedTuple):
    """Predictions of a calibrator for texts without labels, averaged over them.

    Attributes:
        texts: how many there are.
        loss: log loss that it expects of itself, the entropy of its predictions, nats.
        spread: variance that it expects of the loss of one label, nats squared.
        gap: mutual information of label and parameters, nats.
    """

    texts: int
    loss: float
    spread: float
    gap: float


class Step(NamedTuple):
    """The forecast for one number of labels.

    Attributes:
        labels: how many there would be.
        loss: log loss to expect on texts like these, nats.
        gain: by how much it is below the present one, nats.
        width: half the width of the 90 % interval of the texts' mean, in units of the scale.
    """

    labels: int
    loss: Range
    gain: Range
    width: Range


@dataclass(frozen=True)
class Forecast:
    """The expected gain from more labels.

    Attributes:
        labels: number of labels in the fit.
        texts: number of texts whose mean is wanted, including the labelled texts.
        counts: the numbers of labels to forecast for.
        loss: expected log loss now, nats; None with fewer than 20 labels.
        gap: part of the loss that is due to parameter uncertainty, nats.
        residual: standard deviation of a label about the calibrated mean, in units of the scale.
    """

    labels: int
    texts: int
    counts: tuple[int, ...] = ()
    loss: Range | None = None
    gap: float = 0.0
    residual: float = 0.0

    def at(self, labels: int) -> Step:
        r"""Forecast the effect of m labels instead of the present n.

        .. math:: L(m) = \hat L - 0.8\, G\, (1 - n / m), \qquad
            h(m) = t_{m-1} \frac{s}{\sqrt m} \sqrt{1 - m / N}

        Args:
            labels: total number of labels m; for the mean of N texts, at most N labels count.

        Raises:
            InputError: m is below the present number of labels, or the present number is too small
                for a forecast.
        """
        labels = min(labels, max(self.texts, self.labels))
        if self.loss is None or labels < self.labels:
            raise InputError(
                f"a forecast needs at least {FEWEST} labels and a target no smaller than their "
                f"number; got {self.labels} labels and target {labels}."
            )
        rest = 1 - self.labels / labels
        gain = GAIN_SHARE * self.gap * rest
        luck = GAIN_DEVIATION * self.gap * math.sqrt(rest)
        width = self._width(labels)
        return Step(
            labels=labels,
            loss=Range(*(max(0.0, end - gain) for end in self.loss)),
            gain=Range(gain, gain - luck, gain + luck),
            width=Range(*(width * ratio for ratio in self._ratios())),
        )

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the forecast for each of ``counts``."""
        return tuple(map(self.at, self.counts))

    def needed(self, width: float) -> Range | None:
        """Return how many labels give a 90 % interval of the mean within ±``width``.

        Args:
            width: half the width of the interval, in units of the scale.

        Returns:
            The number with its range; None with fewer than 20 labels.

        Raises:
            InputError: the width is not positive.
        """
        if not width > 0:
            raise InputError(f"the interval width must be positive; got {width}.")
        if self.loss is None:
            return None
        return Range(*(float(self._count(width / ratio)) for ratio in self._ratios()))

    def say_needed(self, width: float) -> str:
        """Return the labels needed for a width: "You need about 60 labels (40 to 110) ..."."""
        if (needed := self.needed(width)) is None:
            return self.text
        if needed.value <= self.labels:
            return f"Your {self.labels} labels probably determine the mean to within ±{width:g}"
        return f"You need about {say_labels(needed)} to know the mean to within ±{width:g}"

    def _width(self, labels: int) -> float:
        rest = max(0.0, 1 - labels / self.texts)
        return float(stdtrit(labels - 1, 0.95)) * self.residual * math.sqrt(rest / labels)

    def _ratios(self) -> tuple[float, float, float]:
        """Return the residual's standard deviation and its range, as shares of the estimate."""
        free = FREEDOM_PER_LABEL * (self.labels - 1)
        ends = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
        low, high = (math.sqrt(free / float(chdtri(free, tail))) for tail in ends)
        return 1.0, low, high

    def _count(self, width: float) -> int:
        """The fewest labels, at least 2, whose interval is no wider; all of the texts suffice."""
        fewer = range(2, max(2, self.texts))
        return 2 + bisect_left(fewer, True, key=lambda labels: self._width(labels) <= width)

    @property
    def sentence(self) -> str:
        """Return the next step in one sentence."""
        if self.loss is None:
            return f"{self.labels} labels so far: a forecast needs at least {FEWEST} labels"
        if not self.counts:
            return f"{self.labels} labels so far: no unlabelled text is left"
        step = self.at(self.counts[0])
        words = f"{step.labels} labels instead of {self.labels}"
        return f"{words} would lower the expected log loss by about {step.gain} nats"

    @property
    def text(self) -> str:
        """Return everything as plain text."""
        if self.loss is None:
            return (
                f"{self.labels} labels are too few for a forecast, which needs {FEWEST}. Label "
                f"{count(FEWEST - self.labels, 'more text')} first."
            )
        lines = [
            "Forecast for more labels (80 % ranges)",
            "  labels  expected log loss       gain                    mean within ±",
        ]
        for step in (self.at(self.labels), *self.steps):
            gain = "" if step.labels == self.labels else str(step.gain)
            lines.append(f"  {step.labels:6}  {step.loss!s:24}{gain:24}{step.width}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the forecast as plain text."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return list_fields(self) | {"steps": as_values(self.steps), "sentence": self.sentence}


def labels_to_decide(
    distance: float, labels: int, texts: int, level: float, floor: float = 0.0
) -> Range | None:
    r"""Forecast after how many labels an interval will exclude a bound.

    With a share r of the variance left, the mean moves by a normal deviation of variance 1 - r, in
    units of today's, and the interval excludes a bound at distance d with the probability

    .. math:: \Phi\Big(\frac{d - z \sqrt r}{\sqrt{1 - r}}\Big)
        + \Phi\Big(\frac{-d - z \sqrt r}{\sqrt{1 - r}}\Big)

    Args:
        distance: of the mean from the bound, in standard deviations.
        labels: how many there are.
        texts: how many could be labelled.
        level: probability inside the interval.
        floor: share of the variance that stays when all texts are labelled.

    Returns:
        The number by which half of such cases are decided, and those by which a tenth and nine
        tenths are; infinite where not all texts are enough. None with fewer than 20 labels, or
        where all texts have one.
    """
    if labels < FEWEST or labels >= texts:
        return None
    counts = np.unique(np.geomspace(labels + 1, texts, 2000).round())
    left = floor + (1 - floor) * (1 / counts - 1 / texts) / (1 / labels - 1 / texts)
    reach = ndtri((1 + level) / 2) * np.sqrt(left)
    sides = (ndtr((side * distance - reach) / np.sqrt(1 - left)) for side in (1, -1))
    decided = np.append(np.maximum.accumulate(sum(sides)), 1.0)
    shares = HALF, (1 - LEVEL) / 2, (1 + LEVEL) / 2
    return Range(*np.append(counts, np.inf)[np.searchsorted(decided, shares)].tolist())


def forecast(
    per_text: TextLabels,
    out_of_fold: Float[np.ndarray, "n K"] | None,
    values: Float[np.ndarray, " K"],
    outlook: Outlook,
    counts: Any = None,
) -> Forecast:
    """Forecast what more labels would give.

    Args:
        per_text: the labels of each text of the fit.  A label is one of a text that has as many
            labels as these.
        out_of_fold: out-of-fold probabilities by label; None with too few labels for folds.
        values: position of each option on the scale.
        outlook: what the calibrator says about texts without labels.
        counts: the numbers of labels to look at; by default 2, 3, 5 and 10 times the present one.
            Those beyond the texts count as all of them, those that are reached already not at all.

    Raises:
        InputError: there are fewer texts than labels.
    """
    first, shares, weights = per_text
    n, whole = len(first), outlook.texts
    wanted = () if counts is None else check_list("counts", counts)
    wanted = [int(check_number("counts", each, 1, whole=True)) for each in wanted]
    if whole < n:
        raise InputError(
            f"a forecast needs all texts, with and without labels; got {whole} texts for {n} "
            "labels."
        )
    effective = per_text.effective
    if effective < FEWEST or out_of_fold is None:
        return Forecast(n, whole)
    wanted, predicted = wanted or [n * times for times in TIMES], out_of_fold[first]
    losses = -np.sum(shares * np.log(np.maximum(predicted, FLOOR)), axis=1)
    surprise = float(np.average(losses - entropy(predicted), weights=weights))
    share = effective / (effective + LABELS_TO_BELIEVE)
    loss = outlook.loss + share * surprise - (1 - share) * UNDERCONFIDENCE * outlook.spread
    deviation = math.sqrt(outlook.spread / effective + LOSS_DEVIATION**2)
    around = NormalDist().inv_cdf((1 + LEVEL) / 2) * deviation
    return Forecast(
        labels=n,
        texts=whole,
        counts=tuple(sorted({min(count, whole) for count in wanted if min(count, whole) > n})),
        loss=Range(loss, loss - around, loss + around),
        gap=outlook.gap,
        residual=float(np.std((shares - predicted) @ values, ddof=1)),
    )


def entropy(probs: Float[np.ndarray, "*texts K"]) -> Float[np.ndarray, "*texts"]:
    """Entropy of distributions over options, nats."""
    return -np.sum(probs * np.log(np.where(probs > 0, probs, 1.0)), axis=-1)


def say_labels(needed: Range, of: str = "") -> str:
    """Write a number of labels and its range to two digits: "60 labels (40 to 110)"."""
    numbers = [int(float(f"{n:.1e}")) if 100 <= n < math.inf else n for n in needed]
    value, low, high = (f"{n:.0f}" for n in numbers)
    return f"{value} labels{of} ({low} {'or more' if needed.high == math.inf else f'to {high}'})"


def say_decided(needed: Range, of: str = "") -> str:
    """Say how many labels, with those there are, would decide what an interval leaves open."""
    if needed.value == math.inf:
        return "even labelling all these texts would probably not settle this question"
    return f"about {say_labels(needed, f' in total{of}')} would settle this question"

"""Whether a judge reads the same texts as before: evidence without labels, at every look."""

from math import ceil
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.drift import LEAST, Drift
from cordial_ppl.decisions.estimates.requirement import NO, OPEN, YES
from cordial_ppl.scores import Interval

TILTS = np.array([2.5, 3.5, 5.0])
"""Shifts, in standard errors, at which the evidence is strongest."""

WORDS = {YES: "the same judge", NO: "the judge has changed", OPEN: "cannot tell yet"}


class Monitored(NamedTuple):
    """What readings of the same texts say of their judge, at the last of several looks.

    Attributes:
        texts: number of texts that were read at first and now.
        looks: number of looks since the first readings.
        evidence: e-value of all looks together.
        level: probability that no look raises an alarm if the judge is the same.
        length: length of the scale.
        scores: mean expected score, calibrated, at first and now.
        shift: their difference, with an interval that holds at all looks together.
        options: share of each stated option, at first and now.
        order: rank correlation of the expected scores; NaN where all are equal.
        moved: root mean square by which single texts moved beyond the noise of reading again, on
            the scale; NaN with two readings, which do not tell noise.
        others: texts that are new, compared with the same judge's readings of those that are not.
    """

    texts: int
    looks: int
    evidence: float
    level: float
    length: float
    scores: tuple[float, float]
    shift: Interval
    options: Float[np.ndarray, "2 K"]
    order: float
    moved: float
    others: Drift | None = None

    @property
    def alarm(self) -> bool:
        """Whether readings differ by more than noise, be it by too little to matter."""
        return self.evidence >= 1 / (1 - self.level)

    @property
    def answer(self) -> str:
        """Whether it is the same judge: "yes", "no", or "cannot say" from so few texts."""
        share = float(np.abs(np.diff(self.options, axis=0)).sum() / 2)
        sizes = abs(self.shift.mean) / self.length, share, self.moved / self.length
        if self.alarm and np.nanmax(sizes) >= LEAST:
            return NO
        return YES if max(map(abs, self.shift[1:])) <= LEAST * self.length else OPEN

    @property
    def more(self) -> int:
        """How many more texts would tell, if the shift stays and its interval shrinks."""
        width, size = (self.shift.upper - self.shift.lower) / 2, abs(self.shift.mean)
        needed = max(size, LEAST * self.length - size)
        return max(1, ceil(self.texts * ((width / needed) ** 2 - 1)))

    def describe(self, scale: Scale) -> str:
        """Describe the answer in words."""
        (was, now), most = self.options, int(np.abs(np.diff(self.options, axis=0)).argmax())
        more = f": about {self.more:,} more texts would tell" if self.answer == OPEN else ""
        small = ", but for a shift too small to matter" if self.alarm > (self.answer != YES) else ""
        moved = self.alarm and np.isfinite(self.moved)
        text = (
            f"{WORDS[self.answer]}{small}{more}\n  the mean score of {self.texts:,} texts is "
            "{1:.2f}, was {0:.2f}: a shift of {2:+.2f} ({3:+.2f} to {4:+.2f})\n"
            f"  {scale.options[most]!r} is stated for {now[most]:.0%}, was for {was[most]:.0%}; "
            f"rank correlation of the scores {self.order:.2f}"
            + (f"; beyond noise texts moved by {self.moved:.2f}" if moved else "")
            + f"\n  evidence of a change {self.evidence:.3g} to 1, after look {self.looks}; an "
            f"alarm takes {1 / (1 - self.level):.3g}, and a shift of {LEAST * self.length:.2g}"
        ).format(*self.scores, *self.shift)
        if self.others is None:
            return text
        how = "differ from" if self.others.alarm else "are like"
        return f"{text}\n  {self.others.texts[1]:,} new texts {how} these, as it reads now" + (
            " (mean stated score {1:.2f} to {0:.2f}, p = {2:.2g})"
        ).format(*self.others.scores, self.others.p)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can express."""
        made = {"shift": self.shift._asdict(), "options": self.options.tolist()}
        made |= {"others": self.others and self.others.to_dict(), "answer": self.answer}
        return self._asdict() | made | {"more": self.more if self.answer == OPEN else None}


def log_evidence(
    values: Float[np.ndarray, "n J"], column: int, sides: tuple[int, ...] = (1, -1)
) -> float:
    r"""Weigh whether one of J readings of each text is unlike the others; the log of an e-value.

    If any order of a text's readings is equally likely, so that each of its values is as likely to
    be that reading's, the mean is 1 for every tilt that does not depend on the order:

    .. math:: e = \frac{1}{|\Lambda|} \sum_{\lambda \in \Lambda} \prod_i
       \frac{\exp(\lambda v_{ij})}{\frac{1}{J} \sum_{j'} \exp(\lambda v_{ij'})}

    Args:
        values: a value of each reading of each text; NaN where a text was not read.
        column: the reading j.
        sides: 1 where its values may be larger, -1 where they may be smaller.
    """
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    error = np.sqrt(np.nansum(np.nanmean(centred**2, axis=1)))
    if error == 0:
        return 0.0
    logs = [
        np.sum(tilt * centred[:, column] - np.log(np.nanmean(np.exp(tilt * centred), axis=1)))
        for tilt in np.multiply.outer(sides, TILTS).ravel() / error
    ]
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))


def monitor(
    scores: Float[np.ndarray, "n J"],
    stated: Float[np.ndarray, "n J K"],
    scale: Scale,
    level: float,
) -> Monitored:
    r"""Test whether all readings of the same texts are by one judge; the last is looked at now.

    The null hypothesis: of each text, whatever it is, readings differ by noise alone, so that any
    order of them is equally likely; texts do not influence one another.  Each look averages
    e-values of a shift of the score, of a shift of each option, and from the third reading on of
    single texts: today's reading, or the first one, is farther from the others than these are.
    However looks depend on one another, their sum, of which look t counts 1 / t(t + 1), reaches
    :math:`1 / \alpha` at any time with probability :math:`\alpha` at most.

    Source: Vovk and Wang (2021), "E-values: calibration, combination and applications".

    Args:
        scores: calibrated expected scores, in order of time; NaN where a text was not read.
        stated: probability or share of each option.
        scale: the options.
        level: :math:`1 - \alpha`.
    """
    now, length = scores.shape[1] - 1, float(np.ptp(scale.values))
    both = np.isfinite(scores[:, now])
    pair, moved = scores[both][:, [0, now]], float("nan")
    ranks = rankdata(pair, axis=0) - (len(pair) + 1) / 2
    norm = np.sqrt((ranks**2).sum(axis=0).prod())
    if now > 1:
        moved = max(_moved(scores[both], column) for column in (0, now))
    return Monitored(
        texts=len(pair),
        looks=now,
        evidence=sum(_look(scores, stated, t) / (t * (t + 1)) for t in range(1, now + 1)),
        level=level,
        length=length,
        scores=(float(pair[:, 0].mean()), float(pair[:, 1].mean())),
        shift=_shift(pair[:, 1] - pair[:, 0], length, np.log(now * (now + 1) / (1 - level))),
        options=stated[both][:, [0, now]].mean(axis=0),
        order=float(ranks.prod(axis=1).sum() / norm) if norm else float("nan"),
        moved=moved,
    )


def _look(scores: np.ndarray, stated: np.ndarray, t: int) -> float:
    """E-value of one look."""
    both = np.isfinite(scores[:, t])
    options = [log_evidence(column, 1) for column in np.moveaxis(stated[both][:, [0, t]], -1, 0)]
    logs = [
        log_evidence(scores[both][:, [0, t]], 1),
        np.logaddexp.reduce(options) - np.log(len(options)),
    ]
    if t > 1:
        below = stated[both][:, : t + 1].cumsum(axis=-1)
        far = ((below - np.nanmean(below, axis=1, keepdims=True)) ** 2).sum(axis=-1)
        logs += [log_evidence(far, column, (1,)) for column in (0, t)]
    # An e-value beyond all doubt stays a number.
    return float(np.exp(np.minimum(logs, 500.0)).mean())


def _shift(change: np.ndarray, length: float, bound: float) -> Interval:
    """Mean change of the score, with the farthest shifts that the evidence does not exclude."""
    ends, mean = [], float(change.mean())
    for side in (-length, length):
        inside, outside = mean, mean + side
        for _ in range(40):
            middle = (inside + outside) / 2
            excluded = log_evidence(np.outer(change - middle, [0, 1]), 1) >= bound
            inside, outside = (inside, middle) if excluded else (middle, outside)
        ends.append(inside)
    return Interval(mean, *ends)


def _moved(scores: np.ndarray, column: int) -> float:
    """Distance of one reading's scores from the others beyond that among these."""
    rest = np.delete(scores, column, axis=1)
    count = np.isfinite(rest).sum(axis=1)
    rest, one, count = rest[count > 1], scores[count > 1, column], count[count > 1]
    if not len(one):
        return float("nan")
    square = (one - np.nanmean(rest, axis=1)) ** 2
    return float(
        np.sqrt(max(0.0, np.mean(square - np.nanvar(rest, axis=1) * (count + 1) / (count - 1))))
    )

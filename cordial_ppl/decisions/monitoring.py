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
        texts: number of texts that were read at first and at the last look.
        scores: their mean expected score, calibrated, at first and now.
        shift: the difference, with an interval that holds at all looks together.
        options: share of each stated option, at first and now.
        order: rank correlation of the expected scores; NaN where all are equal.
        moved: how far single texts moved beyond the noise of reading again, the root of the mean
            square, on the scale; NaN with two readings, which do not tell noise.
        looks: the e-value of each look.
        level: probability that no look raises an alarm if the judge is the same.
        length: length of the scale.
        others: texts that are new, compared with the same judge's readings of those that are not.
    """

    texts: int
    scores: tuple[float, float]
    shift: Interval
    options: Float[np.ndarray, "2 K"]
    order: float
    moved: float
    looks: tuple[float, ...]
    level: float
    length: float
    others: Drift | None = None

    @property
    def evidence(self) -> float:
        """The e-value of all looks together: their sum, of which look t counts 1 / t(t + 1)."""
        return float(sum(e / (t * (t + 1)) for t, e in enumerate(self.looks, start=1)))

    @property
    def alarm(self) -> bool:
        """Whether readings differ by more than noise, be it by too little to matter."""
        return self.evidence >= 1 / (1 - self.level)

    @property
    def answer(self) -> str:
        """Whether it is the same judge: "yes", "no", or "cannot say" from so few texts."""
        share = float(np.abs(self.options[1] - self.options[0]).sum() / 2)
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
        lines = [
            f"{WORDS[self.answer]}{small}{more}",
            "  the mean score of {:,} texts is {:.2f}, was {:.2f}: a shift of {:+.2f} ({:+.2f} to "
            "{:+.2f})".format(self.texts, *self.scores[::-1], *self.shift),
            f"  {scale.options[most]!r} is stated for {now[most]:.0%}, was for {was[most]:.0%}; "
            f"rank correlation of the scores {self.order:.2f}",
            f"  evidence of a change {self.evidence:.3g} to 1, after look {len(self.looks)}; an "
            f"alarm takes {1 / (1 - self.level):.3g}, and a shift of {LEAST * self.length:.2g}",
        ]
        if self.alarm and np.isfinite(self.moved):
            lines.insert(3, f"  beyond the noise of reading again texts moved by {self.moved:.2f}")
        if self.others is not None:
            how = "differ from" if self.others.alarm else "are like"
            lines.append(
                f"  {self.others.texts[1]:,} new texts {how} these, as it reads now (mean score "
                f"{self.others.scores[1]:.2f} to {self.others.scores[0]:.2f} as it states them, "
                f"p = {self.others.p:.2g})"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values that JSON can express."""
        return self._asdict() | {
            "shift": self.shift._asdict(),
            "options": self.options.tolist(),
            "others": self.others and self.others.to_dict(),
            "evidence": self.evidence,
            "answer": self.answer,
            "more": self.more if self.answer == OPEN else None,
        }


def log_evidence(
    values: Float[np.ndarray, "n J"], column: int, sides: tuple[int, ...] = (1, -1)
) -> float:
    r"""Weigh whether one of J readings of each text is unlike the others; the log of an e-value.

    If the readings are exchangeable, each of a text's values is as likely to be that reading's,
    so that for every tilt, chosen by the values of the texts but not by their order, the mean is 1:

    .. math:: e = \frac{1}{|\Lambda|} \sum_{\lambda \in \Lambda} \prod_i
       \frac{\exp(\lambda v_{ij})}{\frac{1}{J} \sum_{j'} \exp(\lambda v_{ij'})}

    Source: Vovk and Wang (2021), "E-values: calibration, combination and applications".

    Args:
        values: a value of each reading of each text; NaN where a text was not read.
        column: the reading j.
        sides: 1 where its values may be larger, -1 where they may be smaller.
    """
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    error = np.sqrt(np.nansum(np.nanmean(centred**2, axis=1)))
    if error == 0:
        return 0.0
    tilts = np.multiply.outer(sides, TILTS).ravel() / error
    logs = [
        np.sum(tilt * centred[:, column] - np.log(np.nanmean(np.exp(tilt * centred), axis=1)))
        for tilt in tilts
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
    Looks share readings, and e-values may depend on one another in any way: their weighted sum
    reaches :math:`1 / \alpha` at any time with probability :math:`\alpha` at most (Ville; Markov).

    Args:
        scores: calibrated expected scores, in order of time; NaN where a text was not read.
        stated: probability or share of each option.
        scale: the options.
        level: :math:`1 - \alpha`.
    """
    looks = [_look(scores, stated, t) for t in range(1, scores.shape[1])]
    now = len(looks)
    both = np.isfinite(scores[:, now])
    pair, length = scores[both][:, [0, now]], float(np.ptp(scale.values))
    mean = float(np.mean(pair[:, 1] - pair[:, 0]))
    ranks = rankdata(pair, axis=0) - (len(pair) + 1) / 2
    norm = np.sqrt((ranks**2).sum(axis=0).prod())
    bound = np.log(now * (now + 1) / (1 - level))
    ends = (_end(pair, mean, side * length, bound) for side in (-1, 1))
    return Monitored(
        texts=len(pair),
        scores=(float(pair[:, 0].mean()), float(pair[:, 1].mean())),
        shift=Interval(mean, *ends),
        options=stated[both][:, [0, now]].mean(axis=0),
        order=float(ranks.prod(axis=1).sum() / norm) if norm else float("nan"),
        moved=max(_moved(scores[both], column) for column in (0, now)) if now > 1 else float("nan"),
        looks=tuple(looks),
        level=level,
        length=length,
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


def _end(pair: np.ndarray, mean: float, side: float, bound: float) -> float:
    """End of the interval of the shift: the farthest one that the evidence does not exclude."""
    inside, outside = mean, mean + side
    change = pair[:, 1] - pair[:, 0]
    for _ in range(40):
        middle = (inside + outside) / 2
        far = log_evidence(np.stack([np.zeros(len(change)), change - middle], axis=1), 1) >= bound
        inside, outside = (inside, middle) if far else (middle, outside)
    return inside


def _moved(scores: np.ndarray, column: int) -> float:
    """Distance of one reading's scores from the others beyond that among these."""
    rest = np.delete(scores, column, axis=1)
    rest, one = rest[(count := np.isfinite(rest).sum(axis=1)) > 1], scores[count > 1, column]
    if not len(one):
        return float("nan")
    noise, count = np.nanvar(rest, axis=1), count[count > 1]
    square = (one - np.nanmean(rest, axis=1)) ** 2 + noise - 2 * noise * count / (count - 1)
    return float(np.sqrt(max(0.0, square.mean())))

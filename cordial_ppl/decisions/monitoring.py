"""Whether a judge reads the same texts as before: evidence without labels, at every look."""

from math import ceil
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.labelling import average_ranks
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.drift import LEAST, Drift
from cordial_ppl.decisions.estimates.requirement import NO, OPEN, YES
from cordial_ppl.decisions.records import list_fields
from cordial_ppl.errors import count, warn
from cordial_ppl.scores import Interval

TILTS = np.array([2.5, 3.5, 5.0])
"""Shifts, in standard errors, at which the evidence is strongest."""

ENOUGH = 20
"""Texts from which on the interval of a shift mostly has ends."""

REVERSED = -0.5
"""Rank correlation from which down the scale may run the other way."""

WORDS = {YES: "the same judge", NO: "the judge has changed", OPEN: "cannot tell yet"}


class Monitored(NamedTuple):
    """The evidence on whether the judge has changed, at the last of several looks.

    Attributes:
        texts: number of texts rated both at first and now.
        looks: number of looks since the first readings.
        evidence: e-value of all looks together.
        latest: the evidence that the last look added.
        first: the first look at which the evidence of all looks so far was sufficient; None if it
            never was.
        level: probability that no look raises an alarm if the judge is the same.
        length: length of the scale.
        scores: mean expected score, calibrated, at first and now.
        shift: the difference between the scores, with an interval valid for all looks together.
        options: share of each stated option, at first and now.
        order: rank correlation of the expected scores; NaN where all are equal.
        noise: True if there are more than two different readings, so that noise can be measured.
        moved: root mean square change of the scores of single texts, without noise if it can be
            measured.
        unread_changed: True if the share of texts without a reading changed by more than chance.
        others: comparison of new texts with the earlier texts, both as the judge rates them now.
        names: the options.
    """

    texts: int
    looks: int
    evidence: float
    latest: float
    first: int | None
    level: float
    length: float
    scores: tuple[float, float]
    shift: Interval
    options: Float[np.ndarray, "2 K"]
    order: float
    noise: bool
    moved: float
    unread_changed: bool = False
    others: Drift | None = None
    names: tuple[str, ...] = ()

    @property
    def alarm(self) -> bool:
        """True if readings now differ by more than noise, even if too little to matter."""
        return self.latest >= 1 / (1 - self.level)

    @property
    def sizes(self) -> dict[str, float]:
        """Each difference between the readings, in words, as a share of the scale or the texts."""
        share = float(np.abs(np.diff(self.options, axis=0)).sum() / 2)
        sizes = {
            f"the mean score shifted by {self.shift.mean:+.2f}": abs(self.shift.mean) / self.length,
            f"the distribution of ratings shifted by {share:.0%}": share,
        }
        moved = {f"text scores moved by {self.moved:.2f} net of noise": self.moved / self.length}
        return sizes | (moved if self.noise else {})

    @property
    def answer(self) -> str:
        """Whether the judge is the same now: "yes", "no", or "cannot say" (too few readings)."""
        if self.alarm and max(self.sizes.values()) >= LEAST:
            return NO
        within = max(map(abs, self.shift[1:])) <= LEAST * self.length
        return YES if within and not self._unsettled and not self.unread_changed else OPEN

    @property
    def _unsettled(self) -> bool:
        """Whether single texts moved, and nobody knows whether by noise."""
        return not self.noise and self.moved > LEAST * self.length

    @property
    def more(self) -> int | None:
        """Number of further texts that would settle the answer if the shift stays the same."""
        width, size = (self.shift.upper - self.shift.lower) / 2, abs(self.shift.mean)
        endless = max(map(abs, self.shift[1:])) >= 0.999 * self.length
        if self.answer != OPEN or self._unsettled or self.unread_changed or endless:
            return None
        needed = max(size, LEAST * self.length - size)
        return max(1, ceil(self.texts * ((width / needed) ** 2 - 1)))

    def describe(self, scale: Scale | None = None) -> str:
        """Describe the answer in words; pass a scale to use other option names than the fit's."""
        names = self.names if scale is None else scale.options
        (was, now), most = self.options, int(np.abs(np.diff(self.options, axis=0)).argmax())
        reason, (_, other, *moved) = "", self.sizes
        if self.answer == NO:
            reason = ": " + "; ".join(name for name, size in self.sizes.items() if size >= LEAST)
        elif self.answer == YES:
            reason = ", apart from a shift too small to matter" if self.alarm else ""
        elif self.unread_changed:
            reason = ": the judge leaves a different share of the texts without a reading"
        elif self._unsettled and self.texts >= ENOUGH:
            reason = f": text scores moved by {self.moved:.2f}, maybe noise. Rate all texts again"
        else:
            more = f"rate about {count(self.more, 'more text')}" if self.more else ""
            reason = f": {more or f'rate at least {max(ENOUGH, 2 * self.texts)} texts'}"
        if self.first and not self.alarm:
            reason += f" (today); look {self.first} showed evidence of a change"
        how = ", including noise" if self.moved else ": equal to the first, maybe from a cache"
        moved = moved or [f"text scores moved by {self.moved:.2f}{how}"]
        order = [f"rank correlation of the scores {self.order:.2f}"] * (self.order == self.order)
        if self.order <= REVERSED and self.texts >= ENOUGH:
            order += ["one table may be reversed. If so, reverse it (--reverse reverses both)"]
        every = f", {self.evidence:.3g} to 1 over all looks" * (self.looks > 1)
        shift, lower, upper = self.shift
        lines = [
            f"{WORDS[self.answer]}{reason}",
            f"the mean score of {count(self.texts, 'text')} went from {self.scores[0]:.2f} to "
            f"{self.scores[1]:.2f}: a shift of {shift:+.2f} ({lower:+.2f} to {upper:+.2f})",
            f"{other}: {names[most]!r} went from {was[most]:.0%} to {now[most]:.0%}",
            "; ".join([*moved, *order]),
            f"evidence of a change: {self.latest:.3g} to 1 at look {self.looks}{every}. An alarm "
            f"needs evidence of {1 / (1 - self.level):.3g} to 1 and a shift of at least "
            f"{LEAST:.0%} of the ratings or {LEAST * self.length:.2g} on the scale",
        ]
        if self.others is not None:
            how = "differ from" if self.others.alarm else "resemble"
            lines.append(
                f"ratings of {self.others.texts[1]} new texts {how} today's ratings of the earlier "
                f"texts (mean expected score, uncalibrated: {self.others.scores[1]:.2f} and "
                f"{self.others.scores[0]:.2f}; p = {self.others.p:.2g})"
            )
        return "\n  ".join(lines)

    __repr__ = describe

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-compatible values."""
        return list_fields(self) | {"answer": self.answer, "more": self.more}


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
    scores: Float[np.ndarray, "n J"], stated: Float[np.ndarray, "n J K"], scale: Scale, level: float
) -> Monitored:
    r"""Test whether all readings of the same texts are by one judge; the last is looked at now.

    The null hypothesis: of each text, whatever it is, readings differ by noise alone, so that any
    order of them is equally likely; texts do not influence one another.  Each look averages
    e-values of a shift of the score, of a shift of each option, and from the third reading on of
    single texts: today's reading, or the first one, is farther from the others than these are.
    However looks depend on one another, their sum, of which look t counts 1 / t(t + 1), reaches
    :math:`1 / \alpha` at any time with probability :math:`\alpha` at most.  Readings that equal
    others in every text, while some differ, would be nearer than noise, and count once for these.

    Source: Vovk and Wang (2021), "E-values: calibration, combination and applications".

    Args:
        scores: calibrated expected scores, in order of time; NaN where a text was not read.
        stated: probability or share of each option.
        scale: the options.
        level: :math:`1 - \alpha`.
    """
    now, length = scores.shape[1] - 1, float(np.ptp(scale.values))
    both, alike = np.isfinite(scores[:, now]), _find_copies(stated)
    pair, some, moved = scores[both][:, [0, now]], sorted({*alike}), np.nan
    change = pair[:, 1] - pair[:, 0]
    ranks = np.apply_along_axis(average_ranks, 0, pair) - (len(pair) + 1) / 2
    norm = np.sqrt((ranks**2).sum(axis=0).prod())
    if len(some) > 2:
        single = scores[both & np.isfinite(scores[:, alike[now]])][:, some]
        moved = float(np.fmax.reduce([_moved(single, end) for end in (0, some.index(alike[now]))]))
    noise = moved == moved
    looks = [_look(scores, stated, t, alike) / (t * (t + 1)) for t in range(1, now + 1)]
    enough = np.flatnonzero(np.cumsum(looks) >= 1 / (1 - level))
    return Monitored(
        texts=len(pair),
        looks=now,
        evidence=sum(looks),
        latest=looks[-1],
        first=int(enough[0]) + 1 if enough.size else None,
        level=level,
        length=length,
        scores=(float(pair[:, 0].mean()), float(pair[:, 1].mean())),
        shift=_shift(change, length, np.log(now * (now + 1) / (1 - level))),
        options=stated[both][:, [0, now]].mean(axis=0),
        names=scale.options,
        order=float(ranks.prod(axis=1).sum() / norm) if norm else float("nan"),
        noise=noise,
        moved=moved if noise else float(np.sqrt(np.mean(change**2))),
    )


def _find_copies(stated: np.ndarray) -> list[int]:
    """Return for each reading the first one that it equals in every text; warn of copies."""
    alike = list(range(stated.shape[1]))
    for t in alike[1:]:
        gaps = np.abs(stated[:, :t] - stated[:, [t]]).max(axis=-1)
        same = (np.nan_to_num(gaps) == 0).all(axis=0) & np.isfinite(gaps).any(axis=0)
        alike[t] = alike[int(same.argmax())] if same.any() else t
    copies = [(t, s) for t, s in enumerate(alike) if t != s]
    if copies and max(alike):
        equal = [f"look {t} equals {f'look {s}' if s else 'the first readings'}" for t, s in copies]
        equal[2:] = [f"and {len(equal) - 2} more"] * (len(equal) > 2)
        warn(
            f"some readings are exact copies, possibly from a cache ({', '.join(equal)}). Copies "
            "carry no information about noise and count only once."
        )
    return alike


def _look(scores: np.ndarray, stated: np.ndarray, t: int, alike: list[int]) -> float:
    """E-value of one look; for single texts readings that are alike count once."""
    both, some = np.isfinite(scores[:, t]), sorted({*alike[: t + 1]})
    options = [log_evidence(column, 1) for column in np.moveaxis(stated[both][:, [0, t]], -1, 0)]
    logs = [
        log_evidence(scores[both][:, [0, t]], 1),
        np.logaddexp.reduce(options) - np.log(len(options)),
    ]
    if len(some) > 2:
        below = stated[both & np.isfinite(scores[:, alike[t]])][:, some].cumsum(axis=-1)
        far = ((below - np.nanmean(below, axis=1, keepdims=True)) ** 2).sum(axis=-1)
        logs += [log_evidence(far, column, (1,)) for column in (0, some.index(alike[t]))]
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
        ends.append(float(np.clip(inside, -length, length)))
    return Interval(mean, *ends)


def _moved(scores: np.ndarray, column: int) -> float:
    """Distance of one reading's scores from the others beyond that among these."""
    rest = np.delete(scores, column, axis=1)
    count = np.isfinite(rest).sum(axis=1)
    rest, one, count = rest[count > 1], scores[count > 1, column], count[count > 1]
    if not len(one):
        return float("nan")
    square = (one - np.nanmean(rest, axis=1)) ** 2
    noise = np.nanvar(rest, axis=1) * (count + 1) / (count - 1)
    return float(np.sqrt(max(0.0, np.mean(square - noise))))

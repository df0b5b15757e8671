"""Estimates of groups beside each other: their order, and which differences are resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.decisions.drift import Drift
from cordial_ppl.decisions.estimates.quantities import RESOLVING, PassRate, Population, summarise
from cordial_ppl.decisions.estimates.rectified import RectifiedMean
from cordial_ppl.decisions.forecasting import labels_to_decide
from cordial_ppl.decisions.question import TARGETS
from cordial_ppl.errors import InputError, list_names, quote
from cordial_ppl.scores import Interval

WRONG = 0.2
"""Expected share of wrong signs among resolved differences, at most, in units of 1 - level."""

ROUNDING = 1e-9
"""Share of a mean by which two intervals of no width may miss each other."""


@dataclass(frozen=True)
class Comparison:
    """Estimates of a corpus, and of groups of its texts, which draws compare.

    Attributes:
        level: probability that an interval holds what it estimates.
        overall: the whole corpus.
        groups: each group by name.
        rectified: the design-based estimate of the overall mean from the raw reading, beside the
            posterior's.
        draws: of the groups' means, jointly, on the scale.
        of: what is estimated: "like-these", the population that the texts were drawn from, or
            "these" texts alone.
        other: the overall mean of the other target, and its design-based estimate.
        alike: whether all labels are of one option, by which groups cannot be compared.
        sample: how readings of the labelled texts differ from those of the others, if texts were
            to be labelled at random.
        uneven: a group whose share of the labels is not that of the texts, where no probabilities
            account for it.
        clusters: how many clusters have labels; None where texts are not of clusters.
        passing: pass rates, where options that pass are named.
        unread: how many texts were not read, and how many of these are labelled; where none is,
            everything else is of the texts that were read.
        unheard: groups none of whose texts has a reading or a label, of which nothing is known.
        rising: whether the best option has a higher number than the worst.
    """

    level: float
    overall: Population
    groups: Mapping[str, Population]
    rectified: RectifiedMean
    draws: Float[np.ndarray, "D G"] = field(repr=False)
    of: str = TARGETS[0]
    other: tuple[Interval, RectifiedMean] | None = None
    alike: bool = False
    sample: Drift | None = None
    uneven: str | None = None
    clusters: int | None = None
    passing: PassRate | None = None
    unread: tuple[int, int] = 0, 0
    unheard: tuple[str, ...] = ()
    rising: bool = True

    @property
    def unknown(self) -> int:
        """Return the number of texts of which nothing is known, neither a reading nor a label."""
        texts, labels = self.unread
        return 0 if labels else texts

    @property
    def unsettled(self) -> bool:
        """Whether all labels are of one option, and texts are asked about that have none."""
        return self.alike and (self.of == TARGETS[0] or self.overall.labels < self.overall.texts)

    @property
    def ranking(self) -> list[str]:
        """Names of the groups, the best mean first: the highest, or the lowest if numbers fall."""
        means = {name: group.mean.mean for name, group in self.groups.items()}
        return sorted(means, key=lambda name: means[name], reverse=self.rising)

    def difference(self, a: str | int | np.integer, b: str | int | np.integer) -> Interval:
        """Mean of group a less that of group b, with its interval; a number stands for its name.

        Raises:
            InputError: there is no such group.
        """
        a, b = str(a), str(b)
        for name in (a, b):
            if name not in self.groups:
                names = list_names(self.groups)
                raise InputError(f"{quote(name)} is not a group. The groups are {names}.")
        index = list(self.groups).index
        return summarise(self.draws[:, index(a)] - self.draws[:, index(b)], self.level)

    def needed(self, interval: Interval, bound: float = 0.0, groups: Sequence[str] = ()) -> Any:
        """Forecast how many labels decide whether a quantity is above or below a bound.

        Args:
            interval: the quantity, which holds the bound.
            bound: the bound.
            groups: the groups that it is of, whose labels are counted; by default all texts.

        Returns:
            What `forecasting.labels_to_decide` returns; None where nothing can be said.
        """
        parts, floor = [self.groups[name] for name in groups] or [self.overall], 0.0
        texts, labels = (sum(each) for each in zip(*(part[:2] for part in parts), strict=True))
        deviation, whole = (self._deviation(each) for each in (interval, self.overall.mean))
        if self.alike or self.unknown or self.clusters is not None or not deviation > 0:
            return None
        if self.of == TARGETS[0] and self.other and whole:
            # These texts alone have no share of what other texts would differ by.
            floor = max(1 - (self._deviation(self.other[0]) / whole) ** 2, 0.0)
        distance = (interval.mean - bound) / deviation
        return labels_to_decide(distance, labels, texts, self.level, floor)

    def _deviation(self, interval: Interval) -> float:
        """Return the standard deviation of what has this interval."""
        return (interval.upper - interval.lower) / 2 / NormalDist().inv_cdf((1 + self.level) / 2)

    @cached_property
    def best(self) -> dict[str, float]:
        """Probability that each group's mean is the best, shared by those that tie.

        Nothing if all labels are alike.
        """
        if not self.groups or self.alike:
            return {}
        most = np.max if self.rising else np.min
        first = self.draws == most(self.draws, axis=1, keepdims=True)
        shares = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(self.groups, shares.tolist(), strict=True))

    @cached_property
    def resolved(self) -> list[tuple[str, str, float]]:
        """Pairs of groups whose order is resolved, with the probability of the other one.

        The interval of their difference excludes 0, each has at least three labels, and of all such
        pairs at a level of 0.9 no more than one in fifty is expected to have the other order.
        """
        if self.alike:
            return []
        names = np.array(list(self.groups), object)
        labelled = np.array([group.labels >= RESOLVING for group in self.groups.values()], bool)
        names, draws, clear = names[labelled], self.draws[:, labelled], []
        for position, name in enumerate(names):
            one, others = draws[:, position, None], draws[:, position + 1 :]
            doubt = 1 - np.maximum(np.mean(one > others, axis=0), np.mean(one < others, axis=0))
            sure = np.flatnonzero(doubt <= (1 - self.level) / 2)
            clear += [(name, names[position + 1 + other], float(doubt[other])) for other in sure]
        # The surest of them, as many as keep the expected share of wrong signs low.
        doubts = np.sort([doubt for *_, doubt in clear])
        most = WRONG * (1 - self.level) * np.arange(1, len(doubts) + 1)
        kept = np.flatnonzero(doubts.cumsum() <= most + ROUNDING)
        limit = doubts[kept[-1]] if kept.size else -1.0
        return [pair for pair in clear if pair[2] <= limit]

    def is_resolved(self, a: str | int | np.integer, b: str | int | np.integer) -> bool:
        """Return whether the order of two groups is resolved."""
        return any({str(a), str(b)} == {*pair} for *pair, _ in self.resolved)

    @property
    def pairs(self) -> tuple[int, int, float]:
        """Pairs of groups, how many are resolved, and how many of these to expect misjudged."""
        count, doubts = len(self.groups), [doubt for *_, doubt in self.resolved]
        return count * (count - 1) // 2, len(doubts), sum(doubts)

"""An estimate of a corpus and of its groups: means, shares, differences, each with an interval."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.checks import check_cells
from cordial_ppl.decisions.drift import Drift
from cordial_ppl.decisions.estimates import layout
from cordial_ppl.decisions.estimates.quantities import (
    RESOLVING,
    PassRate,
    Population,
    in_words,
    summarise,
)
from cordial_ppl.decisions.estimates.rectified import RectifiedMean
from cordial_ppl.decisions.planning import FEW
from cordial_ppl.decisions.question import TARGETS
from cordial_ppl.errors import InputError, list_names, quote
from cordial_ppl.scores import Interval

MOST = 1000
"""Groups that are estimated jointly: thousands of draws of each are held."""

WRONG = 0.2
"""Expected share of wrong signs among resolved differences, at most, in units of 1 - level."""

ROUNDING = 1e-9
"""Share of a mean by which two intervals of no width may miss each other."""

ALIKE = "all labels are alike, from which nothing can be learned of how groups differ"
"""What is said of groups then."""


@dataclass(frozen=True)
class Estimate:
    """Estimates of a corpus, and of groups of its texts.

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

    def __str__(self) -> str:
        """Return the estimates as text."""
        return self.text()

    @property
    def ranking(self) -> list[str]:
        """Names of the groups, the highest mean first."""
        return sorted(self.groups, key=lambda name: -self.groups[name].mean.mean)

    def difference(self, a: str, b: str) -> Interval:
        """Mean of group a less that of group b, with its interval.

        Raises:
            InputError: there is no such group.
        """
        for name in (a, b):
            if name not in self.groups:
                names = list_names(self.groups)
                raise InputError(f"there is no group {quote(name)}; the groups are {names}.")
        index = list(self.groups).index
        return summarise(self.draws[:, index(a)] - self.draws[:, index(b)], self.level)

    @cached_property
    def best(self) -> dict[str, float]:
        """Probability that each group's mean is the highest, shared by those that tie.

        None if all labels are alike.
        """
        if not self.groups or self.alike:
            return {}
        highest = self.draws == self.draws.max(axis=1, keepdims=True)
        shares = (highest / highest.sum(axis=1, keepdims=True)).mean(axis=0)
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

    @property
    def pairs(self) -> tuple[int, int, float]:
        """Pairs of groups, how many are resolved, and how many of these to expect misjudged."""
        count, doubts = len(self.groups), [doubt for *_, doubt in self.resolved]
        return count * (count - 1) // 2, len(doubts), sum(doubts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """List warnings."""
        alone = "all labels are alike: how many others there are is hardly known"
        result = [ALIKE if self.groups else alone] if self.alike else []
        model, other = self.overall.mean, self.rectified
        least = ROUNDING * max(abs(model.mean), 1.0)
        if other.lower > model.upper + least or other.upper < model.lower - least:
            result.append(
                f"the mean from the channel's posterior, {in_words(model)}, and the one that the "
                f"sampling alone justifies, {in_words(other)}, disagree: were the labelled texts "
                "drawn at random from this corpus? Believe the second one if they were."
            )
        if self.sample and self.sample.alarm:
            rest, chosen = self.sample.scores
            result.append(
                f"the labelled texts are hardly a random sample (p = {self.sample.p:.2g}): their "
                f"mean reading is {chosen:.2f}, that of the others {rest:.2f}. No interval holds "
                "for such a choice: label texts that a plan chooses, or say how probable each was."
            )
        if self.uneven is not None:
            group, whole = self.groups[self.uneven], self.overall
            result.append(
                f"{quote(self.uneven)} has {group.texts / whole.texts:.0%} of the texts and "
                f"{group.labels / whole.labels:.0%} of the labels. If a plan chose them, give its "
                "probabilities; what sampling alone says does not hold without."
            )
        if self.clusters is not None and self.clusters < FEW:
            result.append(
                f"labels of {self.clusters} clusters say little of others: label texts of {FEW} or "
                "more."
            )
        unlabelled = [name for name, group in self.groups.items() if not group.labels]
        if unlabelled:
            result.append(
                f"extrapolated, because no text is labelled: {list_names(unlabelled)}. Label some."
            )
        return tuple(result)

    def text(self, by: str = "group") -> str:
        """Return what is known of all texts, and a table of the groups, which `by` names."""
        return layout.write_estimate(self, by)

    def ranked_text(self, by: str = "group") -> str:
        """Return the groups, which `by` names, ranked, with their differences to the best."""
        return f"No {by} is ranked: {ALIKE}." if self.alike else layout.write_ranking(self, by)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for the corpus and one for each group, the highest mean first."""
        return layout.list_rows(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the draws as values that JSON can express."""
        return layout.as_dict(self)


def name_groups(groups: Any, texts: int) -> tuple[list[str], np.ndarray]:
    """Names of the groups in order of appearance, and the number of each text's group.

    Raises:
        InputError: there is not one for each text, one is missing, or these are names of texts.
    """
    column = check_cells("groups", groups, texts)
    names = dict.fromkeys(column)
    if len(names) > MOST:
        raise InputError(
            f"there are {len(names):,} groups, more than the {MOST:,} that can be told apart: name "
            "groups of many texts, such as systems."
        )
    numbers = {name: number for number, name in enumerate(names)}
    return list(names), np.array([numbers[cell] for cell in column], np.int64)

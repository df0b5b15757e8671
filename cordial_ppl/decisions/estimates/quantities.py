"""Estimated quantities of texts: means, shares, rates, each with an interval."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.scores import Interval

RESOLVING = 3
"""Labels that a group needs for its differences to be resolved: one or two that are far off would
decide alone."""


class Population(NamedTuple):
    """The estimates for a corpus, or for a group of its texts.

    Attributes:
        texts: number of texts.
        labels: number of labelled texts among them.
        options: the options, in order.
        mean: mean label, on the scale.
        at_least: for each option but the first, the share of texts whose label is that option or a
            better one.
        effect: mean label of the group minus the calibrator's prediction, on the scale; None for
            the whole corpus.
        passing: share of texts that people pass, if passing options are named.
    """

    texts: int
    labels: int
    options: tuple[str, ...]
    mean: Interval
    at_least: Mapping[str, Interval]
    effect: Interval | None = None
    passing: Interval | None = None

    @property
    def shares(self) -> dict[str, float]:
        """Estimated share of each option."""
        reached = [1.0, *(result.mean for result in self.at_least.values()), 0.0]
        falls = 0.0 - np.diff(np.minimum.accumulate(reached))
        return dict(zip(self.options, falls.tolist(), strict=True))


class PassRate(NamedTuple):
    """How many texts people pass, and how often the judge agrees.

    Attributes:
        options: the options that pass.
        rate: share of texts that people pass.
        judged: share of texts that the judge passes.
        tpr: share of what people pass that the judge passes (true positive rate).
        tnr: share of what people fail that the judge fails (true negative rate).
    """

    options: tuple[str, ...]
    rate: Interval
    judged: float
    tpr: Interval
    tnr: Interval

    def __str__(self) -> str:
        """Return the rates as one line."""
        rate, tpr, tnr = (in_percent(each) for each in (self.rate, self.tpr, self.tnr))
        return (
            f"pass ({', '.join(self.options)}): {rate}; the judge passes "
            f"{100 * self.judged:.0f} %; TPR {tpr}, TNR {tnr}"
        )


def summarise(draws: Float[np.ndarray, "D *G"], level: float) -> Interval:
    """Mean and central interval of draws, for each column by itself."""
    result = [draws.mean(axis=0), *np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)]
    return Interval(*(result if draws.ndim > 1 else map(float, result)))


def name_ends(name: str, result: Interval) -> dict[str, float]:
    """Return an interval by the names of its columns: NAME, NAME_low, NAME_high."""
    return {name: result.mean, f"{name}_low": result.lower, f"{name}_high": result.upper}


def name_all(made: Population) -> dict[str, float]:
    """Return everything that is estimated by the names of its columns."""
    columns = name_ends("mean", made.mean)
    for option, share in made.at_least.items():
        columns |= name_ends(f"at_least_{option}", share)
    if made.passing is not None:
        columns |= name_ends("pass", made.passing)
    return columns | {f"share_{option}": share for option, share in made.shares.items()}


def in_percent(share: Interval) -> str:
    """Write a share and its interval."""
    return "{:z.0f} % ({:z.0f} to {:z.0f})".format(*(100 * end for end in share))


def in_words(result: Any) -> str:
    """Write a mean and its interval, if it has one."""
    if not np.isfinite(result.lower):
        return f"{result.mean:z.2f} (no interval: too few labels, or all identical)"
    return "{:z.2f} ({:z.2f} to {:z.2f})".format(*result[:3])

"""An estimate of a corpus and of its groups: means, shares, differences, each with an interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.containers import unmasked
from cordial_ppl.data.numerals import is_missing
from cordial_ppl.decisions.drift import Drift
from cordial_ppl.decisions.estimates.rectified import RectifiedMean
from cordial_ppl.errors import InputError, list_names, name_rows, quote
from cordial_ppl.scores import Interval

TARGETS = ("like-these", "these")
"""What an estimate is of: the population that the texts were drawn from, or just these texts."""

MOST = 1000
"""Groups that are estimated jointly: thousands of draws of each are held."""

RESOLVING = 3
"""Labels that a group needs for its differences to be resolved: one or two that are far off would
decide alone.  On real readings, of the differences whose interval excludes 0, 6 % have the wrong
sign where a group has two labels, and hardly any where both have three."""

WRONG = 0.2
"""Expected share of wrong signs among resolved differences, at most, in units of 1 - level."""

COMPARED = "to_best", "to_best_low", "to_best_high", "p_best"
"""Columns of the comparison with the best group."""

FEW = 8
"""Clusters with labels below which an interval hardly holds."""

ROUNDING = 1e-9
"""Share of a mean by which two intervals of no width may miss each other."""

ALIKE = "all labels are alike, from which nothing can be learned of how groups differ"
"""What is said of groups then."""


class Population(NamedTuple):
    """The estimate for the texts of a corpus, or of a group.

    Attributes:
        texts: number of texts.
        labels: number of labelled texts among them.
        options: the options, in order.
        mean: mean label, on the scale.
        at_least: share of texts whose label is an option or a higher one, by option but the first.
        effect: how much higher people rate the group than the calibrator predicts, on the scale;
            None for the whole corpus.
        passing: share of texts that people pass, where options that pass are named.
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
        falls = -np.diff(np.minimum.accumulate(reached))
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
        rate, tpr, tnr = (_in_percent(each) for each in (self.rate, self.tpr, self.tnr))
        return (
            f"pass ({', '.join(self.options)}): {rate}; the judge passes "
            f"{100 * self.judged:.0f} %; TPR {tpr}, TNR {tnr}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the rates as values that JSON can express."""
        rates = {name: getattr(self, name)._asdict() for name in ("rate", "tpr", "tnr")}
        return {"options": list(self.options), "judged": self.judged, **rates}


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
        return [name for name, _ in self._ranked]

    def difference(self, a: str, b: str) -> Interval:
        """Mean of group a less that of group b, with its interval.

        Raises:
            InputError: there is no such group.
        """
        first, second = self._index(a), self._index(b)
        return summarise(self.draws[:, first] - self.draws[:, second], self.level)

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
        result = [ALIKE] if self.alike and self.groups else []
        model, other = self.overall.mean, self.rectified
        least = ROUNDING * max(abs(model.mean), 1.0)
        if other.lower > model.upper + least or other.upper < model.lower - least:
            result.append(
                f"the mean from the channel's posterior, {_in_words(model)}, and the one that the "
                f"sampling alone justifies, {_in_words(other)}, disagree: were the labelled texts "
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
        """Return the estimates as a table, after what is known of all texts.

        Args:
            by: what the groups are, such as "system".
        """
        whole = self.overall
        lines = [
            self._head,
            f"  mean {_in_words(whole.mean)}; from sampling alone {_in_words(self.rectified)}",
            *self._other_target,
            "  " + ", ".join(f"{name}: {100 * part:.0f} %" for name, part in whole.shares.items()),
        ]
        if self.passing is not None:
            lines.append(f"  {self.passing}")
        if self.groups:
            rates = ("pass",) if self.passing else ()
            head = (by, "texts", "labels", "mean", "", *rates)
            cells = [
                (
                    *(name, f"{each.texts:,}", f"{each.labels}", *_cells(each.mean)),
                    *((_in_percent(each.passing),) if each.passing else ()),
                )
                for name, each in self._ranked
            ]
            lines += ["", *align(head, *cells)]
        return "\n".join(lines)

    @property
    def _head(self) -> str:
        """Say what is labelled, and what the intervals are of."""
        whole, kind = self.overall, "texts like these" if self.of == TARGETS[0] else "these texts"
        be = "is" if whole.labels == 1 else "are"
        clusters = "" if self.clusters is None else f", in {self.clusters} clusters,"
        return (
            f"{whole.labels} of {whole.texts:,} texts{clusters} {be} labelled; "
            f"intervals of {100 * self.level:.0f} % for {kind}"
        )

    @property
    def _other_target(self) -> list[str]:
        """Say in one line what holds of the other target."""
        if self.other is None:
            return []
        mean, rectified = self.other
        kind = "just these texts" if self.of == TARGETS[0] else "texts like these"
        return [f"  of {kind}: {_in_words(mean)}; from sampling alone {_in_words(rectified)}"]

    def ranked_text(self, by: str = "group") -> str:
        """Return the groups from the best to the worst, with their differences to the best.

        Args:
            by: what the groups are, such as "system".
        """
        if self.alike:
            return f"No {by} is ranked: {ALIKE}."
        (best, _), *_ = self._ranked
        head = (by, "labels", "mean", "", "to the best", "", "P(best)")
        cells = [
            (
                *(name, f"{each.labels}", *_cells(each.mean)),
                *(("", "") if name == best else _cells(self.difference(name, best), "+")),
                f"{100 * self.best[name]:.0f} %",
            )
            for name, each in self._ranked
        ]
        total, resolved, wrong = self.pairs
        few = any(group.labels < RESOLVING for group in self.groups.values())
        only = f" (each {by} needs {RESOLVING} labels)" if few else ""
        return "\n".join(
            [
                self._head,
                *([] if self.passing is None else [f"  {self.passing}"]),
                "",
                *align(head, *cells),
                "",
                f"{resolved} of {total} differences are resolved at {100 * self.level:.0f} %{only};"
                f" about {wrong:.1f} of these have the wrong sign.",
            ]
        )

    @property
    def _ranked(self) -> list[tuple[str, Population]]:
        return sorted(self.groups.items(), key=lambda item: -item[1].mean.mean)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for the corpus and one for each group, the highest mean first.

        Groups have their difference to the best one, and the probability of being the best, unless
        all labels are alike.
        """
        none: dict[str, Any] = dict.fromkeys(COMPARED) if self.groups else {}

        def row(name: str, each: Population, compared: Mapping[str, float | None]) -> dict:
            shares = {
                key: value
                for option, share in each.at_least.items()
                for key, value in _columns(f"at_least_{option}", share).items()
            }
            if each.passing is not None:
                shares |= _columns("pass", each.passing)
            shares |= {f"share_{option}": share for option, share in each.shares.items()}
            head = {"group": name, "of": self.of, "texts": each.texts, "labels": each.labels}
            return {**head, **_columns("mean", each.mean), **shares, **compared}

        def compare(name: str) -> Mapping[str, float | None]:
            difference = self.difference(name, self.ranking[0])
            return _columns("to_best", difference) | {"p_best": self.best[name]}

        groups = [
            row(name, each, none if self.alike else compare(name)) for name, each in self._ranked
        ]
        return [row("all", self.overall, none), *groups]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the draws as values that JSON can express."""
        total, resolved, wrong = self.pairs
        return {
            "level": self.level,
            "of": self.of,
            "populations": self.rows,
            "rectified": self.rectified._asdict(),
            "other": self.other
            and {
                "of": TARGETS[self.of == TARGETS[0]],
                "mean": self.other[0]._asdict(),
                "rectified": self.other[1]._asdict(),
            },
            "clusters": self.clusters,
            "passing": self.passing and self.passing.to_dict(),
            "effects": {
                name: group.effect._asdict() for name, group in self.groups.items() if group.effect
            },
            "best": self.best,
            "differences": {
                "pairs": total,
                "resolved": resolved,
                "expected_wrong": wrong,
                "orders": self._orders,
            },
            "warnings": list(self.warnings),
        }

    @property
    def _orders(self) -> list[dict[str, Any]]:
        """Return the resolved pairs, the higher group first, with their difference."""
        pairs = [sorted(pair, key=self.ranking.index) for *pair, _ in self.resolved]
        return [
            {"higher": high, "lower": low, **_columns("difference", self.difference(high, low))}
            for high, low in pairs
        ]

    def _index(self, name: str) -> int:
        names = list(self.groups)
        if name not in names:
            raise InputError(
                f"there is no group {quote(name)}; the groups are {list_names(names)}."
            )
        return names.index(name)


def summarise(draws: Float[np.ndarray, "D *G"], level: float) -> Interval:
    """Mean and central interval of draws, for each column by itself."""
    ends = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    result = [draws.mean(axis=0), *ends]
    return Interval(*(result if draws.ndim > 1 else map(float, result)))


def name_groups(groups: Any, texts: int) -> tuple[list[str], np.ndarray]:
    """Names of the groups in order of appearance, and the number of each text's group.

    Raises:
        InputError: there is not one for each text, one is missing, or these are names of texts.
    """
    column = [*unmasked(groups)]
    if len(column) != texts:
        raise InputError(f"groups must have one name for each of {texts} texts; got {len(column)}.")
    empty = [row for row, cell in enumerate(column) if is_missing(cell)]
    if empty:
        raise InputError(f"groups must not be missing; there is none in {name_rows(empty)}.")
    names = dict.fromkeys(map(str, column))
    if len(names) > MOST:
        raise InputError(
            f"there are {len(names):,} groups, more than the {MOST:,} that can be told apart: name "
            "groups of many texts, such as systems."
        )
    numbers = {name: number for number, name in enumerate(names)}
    return list(names), np.array([numbers[str(cell)] for cell in column], np.int64)


def _cells(result: Interval, sign: str = "") -> tuple[str, str]:
    """Return a mean, and its interval, for a column each."""
    # Adding zero takes the sign of a zero away.
    mean, lower, upper = (round(end, 2) + 0.0 for end in result)
    return f"{mean:{sign}.2f}", f"({lower:{sign}.2f} to {upper:{sign}.2f})"


def align(*rows: Sequence[str]) -> list[str]:
    """Return lines of a table, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if position else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _columns(name: str, result: Interval) -> dict[str, float]:
    return {name: result.mean, f"{name}_low": result.lower, f"{name}_high": result.upper}


def _in_percent(share: Interval) -> str:
    mean, lower, upper = (100 * each for each in share)
    return f"{mean:.0f} % ({lower:.0f} to {upper:.0f})"


def _in_words(result: Any) -> str:
    if not np.isfinite(result.lower):
        return f"{result.mean:.2f} (too few labels for an interval)"
    return f"{result.mean:.2f} ({result.lower:.2f} to {result.upper:.2f})"

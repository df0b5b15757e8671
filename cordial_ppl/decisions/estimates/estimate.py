"""An estimate of a corpus and of its groups: means, shares, differences, each with an interval."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cordial_ppl.data.checks import check_cells
from cordial_ppl.decisions.estimates.comparison import ROUNDING, WRONG, Comparison
from cordial_ppl.decisions.estimates.quantities import (
    RESOLVING,
    Population,
    in_percent,
    in_words,
    name_all,
    name_ends,
)
from cordial_ppl.decisions.forecasting import Range, say_decided
from cordial_ppl.decisions.planning import FEW
from cordial_ppl.decisions.question import TARGETS
from cordial_ppl.decisions.records import as_values
from cordial_ppl.errors import InputError, count, list_names, quote
from cordial_ppl.runtime.text_table import align
from cordial_ppl.scores import Interval

MOST = 1000
"""Groups that are estimated jointly: thousands of draws of each are held."""

ALIKE = "all labels are identical, so the labels cannot show how the groups differ"
"""What is said of groups then."""

COMPARED = "to_best", "to_best_low", "to_best_high", "resolved", "p_best"
"""Columns of the comparison with the best group."""


@dataclass(frozen=True)
class Estimate(Comparison):
    """Estimates for a corpus and groups of its texts; see `Comparison` for the attributes."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """List warnings about the estimates."""
        alone = (
            "all labels are identical, so shares of other options are very uncertain, and no "
            "requirement can be decided"
        )
        result = [ALIKE if self.groups else alone] if self.unsettled else []
        model, other = self.overall.mean, self.rectified
        least = ROUNDING * max(abs(model.mean), 1.0)
        if other.lower > model.upper + least or other.upper < model.lower - least:
            result.append(
                f"the calibrated mean, {in_words(model)}, and the survey estimate, "
                f"{in_words(other)}, disagree. If the labelled texts were drawn at random from "
                "this corpus, use the survey estimate."
            )
        if self.sample and self.sample.alarm:
            rest, chosen = self.sample.scores
            result.append(
                f"the labelled texts do not look like a random sample (p = {self.sample.p:.2g}): "
                f"their mean rating is {chosen:.2f}, compared with {rest:.2f} for other texts. The "
                "intervals assume random sampling. Use a plan, or pass sampling probabilities."
            )
        if self.uneven is not None:
            group, whole = self.groups[self.uneven], self.overall
            result.append(
                f"{quote(self.uneven)} has {group.texts / whole.texts:.0%} of the texts and "
                f"{group.labels / whole.labels:.0%} of the labels. If a plan chose the labelled "
                "texts, pass the plan's probabilities, or the survey estimate will be unreliable."
            )
        if self.clusters is not None and self.clusters < FEW:
            result.append(
                f"the labels come from only {count(self.clusters, 'cluster')}, so the intervals "
                f"are unreliable. Label texts from at least {FEW} clusters."
            )
        if self.unheard:
            result.append(
                "nothing is known about groups that have neither readings nor labels "
                f"({list_names(self.unheard)}). Label some texts from these groups."
            )
        if unlabelled := [name for name, group in self.groups.items() if not group.labels]:
            result.append(
                f"estimates for groups without labels ({list_names(unlabelled)}) are extrapolated."
            )
        return tuple(result)

    def text(self, by: str = "group") -> str:
        """Return the estimates as text, with a table of the groups; `by` names the grouping."""
        parts = [f"{name}: {100 * part:.0f} %" for name, part in self.overall.shares.items()]
        lines = self._write_whole(", ".join(parts))
        if self.groups:
            rates = ("pass",) if self.passing else ()
            cells = []
            for name in self.ranking:
                each = self.groups[name]
                passing = (in_percent(each.passing),) if each.passing else ()
                sizes = f"{each.texts:,}", f"{each.labels}"
                cells.append((name, *sizes, *_cells(each.mean), *passing))
            lines += ["", *align((by, "texts", "labels", "mean", "", *rates), *cells)]
        return "\n".join(lines)

    __repr__ = text

    def ranked_text(self, by: str = "group") -> str:
        """Return the ranked groups, with differences from the best; `by` names the grouping."""
        if self.alike:
            return f"No ranking by {by}: {ALIKE}."
        best, cells = self.ranking[0], []
        for name in self.ranking:
            apart: tuple[str, ...] = ("", "", "")
            if name != best:
                told = "resolved" if self.is_resolved(name, best) else ""
                apart = (*_cells(self.difference(name, best), "+"), told)
            head = name, f"{self.groups[name].labels}", *_cells(self.groups[name].mean)
            cells.append((*head, *apart, f"{100 * self.best[name]:.0f} %"))
        total, resolved, wrong = self.pairs
        table = align((by, "labels", "mean", "", "vs. best", "", "", "P(best)"), *cells)
        separated = f"The labels resolve {resolved} of {count(total, 'pair')}"
        separated += f" (about {wrong:.1f} expected in the wrong order)." if resolved else "."
        rule = (
            f"A pair is resolved if its interval excludes 0, each {by} has at least {RESOLVING} "
            "labels, and the order is certain enough that at most one resolved pair in "
            f"{1 / WRONG / (1 - self.level):.0f} is expected to be in the wrong order."
        )
        lines = [*self._write_whole(), "", *table, "", separated, rule]
        if needed := self._find_needed():
            pair = " against ".join(map(quote, self.ranking[:2]))
            lines.append(f"{pair}: {say_decided(needed, ' for these two groups')}.")
        return "\n".join(lines)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for the corpus and one for each group, the best mean first."""
        none: dict[str, Any] = dict.fromkeys(COMPARED) if self.groups else {}
        rates: dict[str, Any] = {}
        if self.passing is not None:
            rates = name_ends("tpr", self.passing.tpr) | name_ends("tnr", self.passing.tnr)

        def row(name: str, each: Population, unread: int | None = None) -> dict[str, Any]:
            head = {"group": name, "of": self.of, "texts": each.texts, "labels": each.labels}
            return head | {"unread": unread} | name_all(each)

        whole = "(all)" if "all" in self.groups else "all"
        rows = [row(whole, self.overall, self.unread[0]) | rates | none]
        for name in self.ranking:
            compared = none
            if not self.alike:
                best = self.ranking[0]
                compared = name_ends("to_best", self.difference(name, best))
                compared |= {"resolved": None if name == best else self.is_resolved(name, best)}
                compared |= {"p_best": self.best[name]}
            rows.append(row(name, self.groups[name]) | dict.fromkeys(rates) | compared)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the draws as JSON-compatible values."""
        total, resolved, wrong = self.pairs
        higher = self.ranking[:: 1 if self.rising else -1]
        orders = [sorted(pair, key=higher.index) for *pair, _ in self.resolved]
        of = TARGETS[self.of == TARGETS[0]]
        other = self.other and {"of": of, "mean": self.other[0], "rectified": self.other[1]}
        content = {
            "level": self.level,
            "of": self.of,
            "populations": self.rows,
            "rectified": self.rectified,
            "other": other,
            "unread": {"texts": self.unread[0], "labels": self.unread[1]},
            "clusters": self.clusters,
            "passing": self.passing,
            "effects": {name: group.effect for name, group in self.groups.items() if group.effect},
            "best": self.best,
            "differences": {
                "pairs": total,
                "resolved": resolved,
                "expected_wrong": wrong,
                "needed": self._find_needed(),
                "orders": [
                    {"higher": a, "lower": b, **name_ends("difference", self.difference(a, b))}
                    for a, b in orders
                ],
            },
            "warnings": self.warnings,
        }
        return as_values(content)

    def _find_needed(self) -> Range | None:
        """Forecast how many labels tell the two best groups apart; None if they are already."""
        pair = self.ranking[:2]
        if len(pair) < 2 or self.is_resolved(*pair):
            return None
        return self.needed(self.difference(*pair), groups=pair)

    def _write_whole(self, shares: str = "") -> list[str]:
        """Say what is labelled, what the intervals are of, and the mean of all texts for both."""
        whole, alone = self.overall, "survey estimate"
        kind, other = "texts like these", "exactly these texts"
        kind, other = (kind, other) if self.of == TARGETS[0] else (other, kind)
        if self.unknown:
            kind, other = f"{kind} that the judge rates", f"{other} that the judge rated"
        be = "is" if whole.labels == 1 else "are"
        clusters = "" if self.clusters is None else f", in {count(self.clusters, 'cluster')},"
        unread, labels = self.unread
        every = whole.texts + self.unknown
        lines = [
            f"{whole.labels} of {every:,} texts{clusters} {be} labelled. "
            f"Estimates for {kind} ({100 * self.level:.0f} % intervals):",
            f"  mean {in_words(whole.mean)}; {alone} (no model) {in_words(self.rectified)}",
        ]
        if self.unknown:
            unknown = f"Nothing is known about {unread:,} of {every:,} texts, which have neither a "
            unknown += f"reading nor a label. All figures describe the other {whole.texts:,} texts."
            lines.insert(0, unknown)
        elif unread:
            noun = "text" if unread == 1 else "texts"
            lines.append(f"  {unread:,} {noun} without a reading ({labels} labelled)")
        if self.other:
            mean, rectified = map(in_words, self.other)
            lines.append(f"  for {other}: mean {mean}; {alone} {rectified}")
        return [*lines, *(f"  {more}" for more in (shares, self.passing) if more)]


def _cells(result: Interval, sign: str = "") -> tuple[str, str]:
    """Return a mean, and its interval, for a column each."""
    mean, lower, upper = (f"{end:{sign}z.2f}" for end in result)
    return mean, f"({lower} to {upper})"


def name_groups(groups: Any, texts: int) -> tuple[list[str], np.ndarray]:
    """Names of the groups in order of appearance, and the number of each text's group.

    Raises:
        InputError: there is not one for each text, one is missing, or these are names of texts.
    """
    column = check_cells("groups", groups, texts)
    names = dict.fromkeys(column)
    if len(names) > MOST:
        raise InputError(
            f"got {len(names):,} groups, but at most {MOST:,} are supported. Use larger groups, "
            "such as systems."
        )
    numbers = {name: number for number, name in enumerate(names)}
    return list(names), np.array([numbers[cell] for cell in column], np.int64)

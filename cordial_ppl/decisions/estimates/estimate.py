"""An estimate of a corpus and of its groups: means, shares, differences, each with an interval."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cordial_ppl.data.checks import check_cells
from cordial_ppl.decisions.estimates import layout
from cordial_ppl.decisions.estimates.comparison import ROUNDING, Comparison
from cordial_ppl.decisions.estimates.quantities import (
    in_words,
)
from cordial_ppl.decisions.planning import FEW
from cordial_ppl.errors import InputError, count, list_names, quote

MOST = 1000
"""Groups that are estimated jointly: thousands of draws of each are held."""

ALIKE = "all labels are identical, so the labels cannot show how the groups differ"
"""What is said of groups then."""


@dataclass(frozen=True)
class Estimate(Comparison):
    """Estimates for a corpus and groups of its texts; see `Comparison` for the attributes."""

    def __str__(self) -> str:
        """Return the estimates as text."""
        return self.text()

    @property
    def warnings(self) -> tuple[str, ...]:
        """List warnings about the estimates."""
        alone = "all labels are identical, so the shares of other options are very uncertain"
        result = [ALIKE if self.groups else alone] if self.alike else []
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
                f"their mean reading is {chosen:.2f}, against {rest:.2f} in other texts. "
                "Intervals assume random choice. Use a plan, or pass sampling probabilities."
            )
        if self.uneven is not None:
            group, whole = self.groups[self.uneven], self.overall
            result.append(
                f"{quote(self.uneven)} has {group.texts / whole.texts:.0%} of the texts and "
                f"{group.labels / whole.labels:.0%} of the labels. If a plan chose the labelled "
                "texts, pass its probabilities. Without them, the survey estimate is unreliable."
            )
        if self.clusters is not None and self.clusters < FEW:
            result.append(
                f"the labels come from only {count(self.clusters, 'cluster')}, so the intervals "
                f"are unreliable. Label texts from at least {FEW} clusters."
            )
        if self.unheard:
            result.append(
                "nothing is known about groups without any reading or label "
                f"({list_names(self.unheard)}). Label some texts from these groups."
            )
        unlabelled = [name for name, group in self.groups.items() if not group.labels]
        if unlabelled:
            result.append(
                f"estimates for unlabelled groups are extrapolated: {list_names(unlabelled)}."
            )
        return tuple(result)

    def text(self, by: str = "group") -> str:
        """Return the estimates as text, with a table of the groups; `by` names the grouping."""
        return layout.write_estimate(self, by)

    def ranked_text(self, by: str = "group") -> str:
        """Return the groups ranked, with differences to the best; `by` names the grouping."""
        return f"No ranking by {by}: {ALIKE}." if self.alike else layout.write_ranking(self, by)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for the corpus and one for each group, the highest mean first."""
        return layout.list_rows(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the draws as JSON-compatible values."""
        return layout.as_dict(self) | {"warnings": list(self.warnings)}


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

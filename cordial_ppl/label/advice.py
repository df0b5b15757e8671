r"""Whether the labels so far are enough, looked at after every label.

People who look at an interval after every label, and stop when it is narrow or far enough from a
bound, stop too often where it is off by luck.  An interval that is valid at all looks together is
wider.  If the increments of an estimate are independent, as those of an efficient estimate are in
the long run, the normal mixture covers the truth at all times with probability 1 - alpha:

.. math:: |\hat\mu_n - \mu| < s_n \sqrt{(1 + n_0 / n) \bigl(\log(1 + n / n_0)
    + 2 \log(1 / \alpha)\bigr)}

s_n is the standard error with n labels, and n_0 sets where the interval is narrowest relative to
it.  It is computed as the calibrator's interval at a higher level.  `benchmarks/stopping.py`
measures how often it fails, looking from 20 labels on.

Source: Robbins (1970), "Statistical methods related to the law of the iterated logarithm".
"""

import math
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtr

from cordial_ppl.decisions import answers
from cordial_ppl.decisions.estimates.requirement import OPEN, Requirement
from cordial_ppl.decisions.forecasting import FEWEST
from cordial_ppl.decisions.sampling_design import read_design
from cordial_ppl.errors import CordialError, InputError
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.estimators.task_tables import take_labelled
from cordial_ppl.tables import LabelledReadings, ReadingTable, match_labels, read_labels

NARROWEST = 5.0
"""The constant n_0: with 20 to 100 labels the interval is within 3 % of its narrowest."""

FIRST = 5
"""Labels from which on a calibrator is fitted."""

LEVEL = 0.9
"""Probability that all intervals, at all looks together, cover the truth."""

STEP = 10
"""How many more labels the forecast is for."""

FAILED = "Your labels are saved, but the estimate failed. Please report this error"
"""What the page says where the package is at fault, and not the input."""


def level_at_all_looks(labels: int, level: float = LEVEL) -> float:
    """Return the level of the interval, after so many labels, that holds at all looks together."""
    ratio = labels / NARROWEST
    width = math.sqrt((1 + 1 / ratio) * (math.log1p(ratio) - 2 * math.log(1 - level)))
    return float(1 - 2 * ndtr(-width))


@dataclass(frozen=True)
class Goal:
    """What the labels are for.

    Attributes:
        requirements: What is asked of the texts, such as "mean >= 4".
        within: Half the width that the interval of the mean may have, if that is asked.
        passing: The options that pass, if some do.
        groups: The group of each text, if there are groups.
    """

    requirements: Sequence[Requirement] = ()
    within: float | None = None
    passing: Sequence[str] | None = None
    groups: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check the width."""
        if self.within is not None and not self.within > 0:
            raise InputError(f"within must be above 0; got {self.within}.")


def look(table: ReadingTable, path: Any, goal: Goal) -> dict[str, Any]:
    """Read the labels so far, and say what they tell, in values that JSON can express.

    Args:
        table: The readings of all texts.
        path: The table of labels.
        goal: What the labels are for.

    Raises:
        InputError: There are no labels, or the requirements are of no quantity of this table.
    """
    read = LabelledReadings(table, *match_labels(table, read_labels(path, table.scale)))
    count = len(read.labels.first)
    if count < FIRST:
        return {"labels": count, "wait": f"Labels until the first estimate: {FIRST - count}."}
    fit = Cordial(table.scale).fit(**take_labelled(read), corpus=table.logits)
    design, _ = read_design(read)
    design |= {} if goal.groups is None else {"groups": goal.groups}
    level = level_at_all_looks(count)
    made = fit.estimate(table.logits, read.rows, passing=goal.passing, level=level, **design)
    mean, verdict = made.overall.mean, answers.verdict(fit)
    half = (mean.upper - mean.lower) / 2
    content = {"labels": count, "level": LEVEL, "mean": mean._asdict(), "half": half}
    content |= {"verdict": verdict and verdict.text, "warnings": made.warnings}
    forecast = fit.forecast(table.logits, counts=[count + STEP])
    if forecast.steps:
        now, then = forecast.at(count), forecast.steps[0]
        narrower = then.width.value / now.width.value if now.width.value else 1.0
        content["more"] = {"labels": then.labels, "half": half * narrower}
    judged = [each.answer(made) for each in goal.requirements]
    content |= {"requirements": [*map(str, judged)], "within": goal.within}
    if judged or goal.within is not None:
        decided = not made.alike and all(each.answer != OPEN for each in judged)
        content["lack"] = lack = max(0, FEWEST - count)
        content["enough"] = not lack and decided and half <= (goal.within or math.inf)
    return content


class Adviser:
    """A thread that looks at the labels whenever it is told that there are more.

    Args:
        table: The readings of all texts.
        path: The table of labels.
        goal: What the labels are for.
    """

    def __init__(self, table: ReadingTable, path: Any, goal: Goal):
        self.table, self.path, self.goal = table, path, goal
        self.latest: dict[str, Any] = {}
        self._wanted, self._thread = -1, ThreadPoolExecutor(1)

    def tell(self, number: int) -> None:
        """Ask for a look at the labels after so many answers, if they are others than before."""
        if number != self._wanted:
            self._wanted = number
            self._thread.submit(self._look, number)

    def end(self) -> None:
        """End the thread after the look that is under way."""
        self._thread.shutdown(cancel_futures=True)

    def _look(self, number: int) -> None:
        """Look at the labels, unless there are more by now; people go on labelling if it fails."""
        if number != self._wanted:
            return
        with warnings.catch_warnings(action="ignore"):
            try:
                content = look(self.table, self.path, self.goal)
            except CordialError as error:
                content = {"wait": str(error)}
            except Exception as error:  # A fault of the package must not end the thread.
                content = {"wait": f"{FAILED} ({type(error).__name__}: {error})."}
        self.latest = content | {"answers": number}

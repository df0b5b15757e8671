"""What is asked of a corpus."""

from dataclasses import dataclass
from typing import Any

from cordial_ppl.data.checks import check_level, check_names

TARGETS = ("like-these", "these")
"""What an estimate is of: the population that the texts were drawn from, or just these texts."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to estimate for N texts, n of them labelled, and how the labelled texts were chosen.

    Attributes:
        of: what the estimates describe: "like-these", the population from which the texts were
            drawn, or "these", exactly these texts.
        groups: group of each text, such as the system that wrote it, shape ``[N]``; None to
            estimate only the whole corpus.
        clusters: name of the cluster of each text, such as its conversation, shape ``[N]``; needed
            for valid intervals if whole clusters are labelled.
        pairs: the prompt that each text answers, shape ``[N]``; groups are then compared on the
            same prompts.
        strata: strata from which the labelled texts were drawn, shape ``[N]``, such as the groups
            of a plan.
        probabilities: inclusion probability of each labelled text, shape ``[n]``, for example from
            a plan; labels are weighted by the inverse probability.
        passing: the options that pass, to estimate the pass rate and how often the judge is right.
        level: probability inside the intervals.

    Raises:
        InputError: ``of`` is unknown, or the level is not between 0 and 1.
    """

    of: str = TARGETS[0]
    groups: Any = None
    clusters: Any = None
    pairs: Any = None
    strata: Any = None
    probabilities: Any = None
    passing: Any = None
    level: float = 0.9

    def __post_init__(self):
        """Check what no texts are needed for."""
        check_names("of", [self.of], TARGETS)
        check_level(self.level)

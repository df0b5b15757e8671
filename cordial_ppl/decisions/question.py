"""What is asked of a corpus."""

from dataclasses import dataclass
from typing import Any

from cordial_ppl.data.checks import check_level, check_names

TARGETS = ("like-these", "these")
"""What an estimate is of: the population that the texts were drawn from, or just these texts."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is estimated of N texts, n of them labelled, and how these were chosen.

    Attributes:
        of: "like-these", the population that the texts were drawn from, or "these", the labels of
            just these texts.
        groups: group of each text, such as the system that wrote it, shape ``[N]``; None for the
            whole corpus alone.
        clusters: texts that are alike, such as those of one conversation, have one name here, shape
            ``[N]``; where whole clusters are labelled, intervals do not hold without.
        pairs: what each text answers, such as a prompt, shape ``[N]``, where groups answer the
            same: their differences are of the same prompts.
        strata: that labelled texts were drawn from, shape ``[N]``, such as the groups of a plan.
        probabilities: of inclusion of each labelled text, shape ``[n]``, such as a plan gives: each
            text weighs as many as it stands for.
        passing: the options that pass, for pass rates: of people, and how the judge agrees.
        level: probability inside the intervals.

    Raises:
        InputError: there is no such target, or the level is not between 0 and 1.
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

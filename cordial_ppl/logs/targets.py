"""What the targets of multiple-choice tasks mean: "2" may be the choice of that name or the third.

lm-evaluation-harness logs both as text. A target counts choices from 0 if the task's
`doc_to_target` is a template, or a field of the documents that holds numbers; it names one if that
field holds texts. Without the task's settings beside the log, its samples may tell.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

METRICS = ("acc", "acc_norm")
"""Accuracies; the second is that of log-likelihoods per character."""


class Sample(NamedTuple):
    """What a sample says of its target.

    Attributes:
        target: The target; None if there is none.
        scores: Log-likelihoods by the name of the choice; none if the task generates.
        metrics: What the harness computed.
    """

    target: str | None
    scores: Mapping[str, float]
    metrics: Mapping[str, Any]

    @property
    def counted(self) -> str | None:
        """The choice at the position that the target gives; None if there is none."""
        position = int(self.target) if self.target and self.target.isdecimal() else len(self.scores)
        # The harness itself counts no position beyond the choices.
        return list(self.scores)[position] if position < len(self.scores) else None

    def best(self, metric: str) -> str:
        """The choice that a metric takes for the model's answer."""
        normed = metric == "acc_norm"
        return max(self.scores, key=lambda name: self.scores[name] / max(len(name), 1) ** normed)


def told_by_task(template: Any, doc: Any) -> bool | None:
    """Say whether targets are names, given `doc_to_target` and a document; None if unknown."""
    if isinstance(template, int):
        return False
    if not isinstance(template, str) or not isinstance(doc, Mapping):
        return None
    if template in doc:
        return isinstance(doc[template], str)
    return False if "{{" in template else None


def told_by_samples(samples: Iterable[Sample]) -> bool | None:
    """Tell by the samples whether targets are names.

    Args:
        samples: Samples, which are taken up to the first that proves it: its target is a name and
            no position, or a position and no name. Otherwise an accuracy tells that only one of
            the two meanings explains.

    Returns:
        Whether they are; False if it makes no difference; None if it cannot be told.
    """
    votes: dict[str, set[bool]] = {metric: set() for metric in METRICS}
    doubtful = False
    for sample in samples:
        target, counted = sample.target, sample.counted
        if target is None or not target.isdecimal() or not sample.scores:
            continue
        if (target in sample.scores) != (counted is not None):
            return target in sample.scores
        if counted in (None, target):
            continue
        doubtful = True
        for metric, right in ((name, sample.metrics.get(name)) for name in METRICS):
            best = sample.best(metric)
            if isinstance(right, int | float) and best in (target, counted):
                votes[metric].add((best == target) == (right == 1))
    told = next((vote for vote in votes.values() if vote), set())
    return told.pop() if len(told) == 1 else None if doubtful else False

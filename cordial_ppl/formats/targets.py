"""What the targets of multiple-choice tasks mean: "2" may be the choice of that name or the third.

lm-evaluation-harness logs both as text.  A target counts choices from 0 if the task's
`doc_to_target` is a template, or a field of the documents that holds numbers; it names one if that
field holds texts.  Without the task's settings beside the log, its samples may tell.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """What a sample says of its target.

    Attributes:
        target: The target.
        scores: Log-likelihoods by the name of the choice.
        metrics: What the harness computed.
    """

    target: str
    scores: Mapping[str, float]
    metrics: Mapping[str, Any]

    @property
    def counted(self) -> str | None:
        """The choice that the target is as a position."""
        names = list(self.scores)
        place = int(self.target) if self.target.isdecimal() else len(names)
        return names[place] if place < len(names) else None

    def vote(self, metric: str) -> bool | None:
        """Whether targets are names, by an accuracy that only one of the two meanings explains."""
        right = self.metrics.get(metric)
        if not isinstance(right, int | float):
            return None
        # The accuracy `acc_norm` is that of log-likelihoods per character.
        normed = metric == "acc_norm"
        best = max(self.scores, key=lambda own: self.scores[own] / (max(len(own), 1) ** normed))
        named, counted = best == self.target, best == self.counted
        return None if named == counted else named == (right == 1)


def told_by_task(template: Any, doc: Any) -> bool | None:
    """Tell by the task's settings whether targets are names.

    Args:
        template: Its `doc_to_target`.
        doc: A document.

    Returns:
        Whether they are; None if the settings do not tell.
    """
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
        samples: Samples, which are taken up to the first that proves it.

    Returns:
        Whether they are; False if it makes no difference; None if it cannot be told.
    """
    votes: dict[str, set[bool | None]] = {"acc": set(), "acc_norm": set()}
    doubtful = False
    for sample in samples:
        if not sample.target.isdecimal() or not sample.scores:
            continue
        named, counted = sample.target in sample.scores, sample.counted
        if named != (counted is not None):
            return named
        if named and counted != sample.target:
            doubtful = True
            for metric, own in votes.items():
                own.add(sample.vote(metric))
    told = next((own - {None} for own in votes.values() if own - {None}), set())
    if len(told) == 1:
        return told.pop()
    return None if doubtful else False

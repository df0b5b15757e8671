"""What the targets of multiple-choice tasks mean: "2" may be the choice of that name or the third.

lm-evaluation-harness logs both as text.  A target counts choices from 0 where the task's
`doc_to_target` is a template, or a field of the documents that holds numbers; it names one where
that field holds texts.  Without the task's settings beside the log, its samples may tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """What a sample says of its target.

    Attributes:
        target: The target.
        names: The names of the choices.
        scores: Their log-likelihoods.
        metrics: What the harness computed.
    """

    target: str
    names: Sequence[str]
    scores: Sequence[float]
    metrics: Mapping[str, Any]

    @property
    def place(self) -> int:
        """The target as a position; -1 where it cannot be one."""
        place = int(self.target) if self.target.isdecimal() else -1
        return place if place < len(self.names) else -1

    @property
    def is_ambiguous(self) -> bool:
        """Whether the target is one choice by its name and another by its position."""
        named = self.target in self.names
        return self.place >= 0 and named and self.names[self.place] != self.target

    def proof(self) -> bool | None:
        """Whether targets must be names, for one is no position, or cannot be, for one is none."""
        if not self.target.isdecimal() or not self.names:
            return None
        named = self.target in self.names
        return None if named == (self.place >= 0) else named

    def vote(self, metric: str) -> bool | None:
        """Whether targets are names, by an accuracy that only one of the two meanings explains."""
        right = self.metrics.get(metric)
        if not self.is_ambiguous or not isinstance(right, int | float):
            return None
        # The accuracy `acc_norm` is that of log-likelihoods a character.
        lengths = [max(len(name), 1) if metric == "acc_norm" else 1 for name in self.names]
        rates = [score / length for score, length in zip(self.scores, lengths, strict=True)]
        best = rates.index(max(rates))
        by_name, by_place = self.names[best] == self.target, best == self.place
        return None if by_name == by_place else by_name == (right == 1)


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
        Whether they are; False where it makes no difference; None if it cannot be told.
    """
    votes: dict[str, set[bool]] = {"acc": set(), "acc_norm": set()}
    doubtful = False
    for sample in samples:
        found = sample.proof()
        if found is not None:
            return found
        doubtful |= sample.is_ambiguous
        for metric, own in votes.items():
            own.update({sample.vote(metric)} - {None})  # pyright: ignore
    told = next((own for own in votes.values() if own), set())
    if len(told) == 1:
        return told.pop()
    return None if doubtful else False

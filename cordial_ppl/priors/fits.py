"""What a prior is learned from: the fit of each channel to all labels of a task and reader."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cordial_ppl.priors.units import TYPICAL_SPREAD

FURTHEST = 1e9
"""Modes and spreads in a file lie below it, spreads above its inverse."""
Mode = Annotated[float, Meta(ge=-FURTHEST, le=FURTHEST)]


class TaskFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a prior learns from one task as one reader reads it.

    Attributes:
        task: name of the task.
        reader: name of the reader; empty where a task has but one.
        counts: how often each of the K options is the label.
        modes: posterior modes of the unconstrained parameters, by channel and by site.
        spread: of the readings, nats.
    """

    task: str
    reader: str
    counts: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2)]
    modes: dict[str, dict[str, list[Mode]]]
    spread: Annotated[float, Meta(gt=1 / FURTHEST, lt=FURTHEST)] = TYPICAL_SPREAD

    @property
    def size(self) -> int:
        """Number of options K."""
        return len(self.counts)

    @property
    def name(self) -> str:
        """The task, and the reader if it has a name."""
        return f"{self.task}, {self.reader}" if self.reader else self.task


class LearnedChannel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A channel that was fitted.

    Attributes:
        digest: SHA-256 of the channel's file; empty for a channel that has a name.
        covariates: names of the covariates that it was fitted with.
    """

    digest: str = ""
    covariates: tuple[str, ...] = ()

"""What a prior is learned from: fits of channels to tasks, and a rule."""

from typing import Annotated

import msgspec
import numpy as np
from jaxtyping import Float
from msgspec import Meta

from cordial_ppl.inference.priors.units import POWERS, TYPICAL_SPREAD
from cordial_ppl.inference.target import Prior

FURTHEST = 1e9
"""Modes and spreads in a file lie below it, spreads above its inverse."""
Mode = Annotated[float, Meta(ge=-FURTHEST, le=FURTHEST)]

CAUTION = {"cautious": 3, "paper": 0}
"""Power of the weight w by the name of the rule."""


class TaskFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fits to one task as one reader reads it.

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


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a prior follows from the fits.

    Attributes:
        name: "cautious" or "paper"; the temperature is in units of the readings' spread in the
            first only.
        vector: whether parameters of single options are learned, from tasks of the same K.
        units: power of classes in the unit of further parameters, by name.
    """

    name: str = "cautious"
    vector: bool = True
    units: dict[str, float] = {}

    @property
    def relative(self) -> bool:
        """Whether temperatures are in units of the readings' spread, unlike in the paper."""
        return self.name != "paper"

    @property
    def powers(self) -> dict[str, float]:
        """Power of classes in the unit of each parameter."""
        return {**POWERS, **self.units}

    def combine(self, modes: Float[np.ndarray, "T P"], tasks: int, default: Prior) -> Prior:
        r"""The prior of a new task's parameters from those of other tasks: see ``learn_prior``.

        .. math:: \mu_0 + w^c (\bar\mu - \mu_0), \qquad
            \min(\sigma_0, \sqrt{v + \sigma_0^2 / 4}), \qquad
            w = \sigma_0^2 / (\sigma_0^2 + v (1 + 1 / T))

        Here the fits have mean :math:`\bar\mu` and variance v over T tasks, and the channel's prior
        location :math:`\mu_0` and scale :math:`\sigma_0`.  The paper's rule has c = 0; the cautious
        one has c = 3, and trusts the mean as far as tasks agree.  Where tasks differ as
        much as that prior expects, they may fall into groups, and the mean of a few misleads; where
        they agree, w is one.  The power is empirical: on tasks that were left out, w itself lost
        where there are groups, and higher powers lost nothing where tasks agree
        (``benchmarks/priors.py``, whose tasks it was chosen on).

        Args:
            modes: posterior modes of at least two fits, in the unconstrained units of the new task.
            tasks: number of tasks that they are of.
            default: location and scale in the channel's file.

        Returns:
            Location and scale of each parameter.
        """
        variance, prior_variance = modes.var(axis=0, ddof=1), np.square(default.scale)
        total = prior_variance + variance * (1 + 1 / tasks)
        weight = (prior_variance / total) ** CAUTION[self.name]
        loc = default.loc + weight * (modes.mean(axis=0) - default.loc)
        return Prior(loc, np.minimum(default.scale, np.sqrt(variance + prior_variance / 4)))

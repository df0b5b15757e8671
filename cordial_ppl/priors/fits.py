"""What a prior is learned from: the fit of each channel to all labels of a task and reader."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.inference.data import Labelled, pad
from cordial_ppl.inference.laplace import find_modes
from cordial_ppl.inference.target import Target
from cordial_ppl.priors.units import TYPICAL_SPREAD
from cordial_ppl.readings import label_histogram


class ModeFit(NamedTuple):
    """A posterior mode with its Laplace approximation, in unconstrained parameters.

    Attributes:
        mode: the mode, of one parameter or of all, shape ``[P]``.
        spread: standard deviations there, shape ``[P]``.
    """

    mode: Float[np.ndarray, " P"]
    spread: Float[np.ndarray, " P"]


@dataclass(frozen=True, eq=False)
class TaskFit:
    """Everything that a prior learns from one task as one reader reads it.

    Attributes:
        task: name of the task.
        reader: name of the reader; empty where a task has but one.
        counts: how often each option is the label, shape ``[K]``.
        modes: the fit of each parameter, by the names of the channel and the parameter's site.
        spread: of the readings, nats.
    """

    task: str
    reader: str
    counts: Int[np.ndarray, " K"]
    modes: Mapping[str, Mapping[str, ModeFit]]
    spread: float = TYPICAL_SPREAD

    @property
    def size(self) -> int:
        """Number of options K."""
        return len(self.counts)

    @property
    def name(self) -> str:
        """The task, and the reader if it has a name."""
        return f"{self.task}, {self.reader}" if self.reader else self.task


def fit_mode(target: Target, texts: Labelled) -> tuple[ModeFit, float]:
    """Fit a channel to all labels of a data set.

    Args:
        target: the channel.
        texts: the labelled texts.

    Returns:
        The fit, and the largest component of the gradient at the mode in prior-whitened
        coordinates, which is zero at a mode.
    """
    loc, scale = target.prior
    histogram = label_histogram(texts.labels, target.options)
    data = pad(texts, texts.labels, histogram, np.float64)
    (found,) = find_modes(target, target.prior, [data])
    spread = np.sqrt(np.sum(found.factor**2, axis=1))
    return ModeFit(loc + scale * found.mean, scale * spread), found.gradient_norm

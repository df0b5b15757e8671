"""What a prior is learned from: the fit of each channel to all labels of a task and reader."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.compilation import compiled
from cordial_ppl.inference.lanes import Lanes
from cordial_ppl.inference.laplace import find_mode
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.priors.units import TYPICAL_SPREAD


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


def fit_mode(target: Target, lanes: Lanes) -> tuple[ModeFit, float]:
    """Fit a channel to all labels of a data set.

    Args:
        target: the channel.
        lanes: the data; its first lane is used.

    Returns:
        The fit, and the largest component of the gradient at the mode in prior-whitened
        coordinates, which is zero at a mode.
    """
    with jax.enable_x64(True):
        mode, spread, gradient = _fitter(target)(target.prior, lanes)
    return ModeFit(np.asarray(mode), np.asarray(spread)), float(gradient)


@lru_cache(maxsize=256)
def _fitter(target: Target) -> Callable[..., Any]:
    def run(prior: Prior, lanes: Lanes) -> tuple[Array, Array, Array]:
        problem = lanes.problem(target, prior, lanes.labels[0], lanes.histograms[0])
        found = find_mode(problem)
        spread = jnp.sqrt(jnp.sum(found.factor**2, axis=1))
        return problem.colour(found.mean), jnp.asarray(prior.scale) * spread, found.gradient_norm

    return compiled(run)

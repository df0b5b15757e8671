"""Weighted draws of a channel's parameters, by name and in their own units, beside their prior."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Shaped

from cordial_ppl.channels.channel import Channel
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings
from cordial_ppl.inference.diagnostics import Diagnostics
from cordial_ppl.inference.target import Prior, Target, build_target


@dataclass(frozen=True, eq=False)
class ParameterDraws:
    """Weighted draws of the parameters of one channel.

    Attributes:
        channel: the channel.
        histogram: smoothed label histogram that the channel falls back on, shape ``[K]``.
        draws: unconstrained parameters, shape ``[S, P]``.
        weights: weights of the draws, which sum to one, shape ``[S]``.
        diagnostics: how the draws were found and whether they can be believed.
        covariates: names of the covariates that the channel was fitted with.
        readers: number of readers of each text; None for a channel of one reader.
        prior: location and scale of the unconstrained parameters; None for the channel's own.
        data: the labelled texts that it was fitted to.
        transitions: of NUTS, figures of the step that led to each draw, each of shape ``[S]``.
    """

    channel: Channel
    histogram: Float[np.ndarray, " K"]
    draws: Float[np.ndarray, "S P"]
    weights: Float[np.ndarray, " S"]
    diagnostics: Diagnostics
    covariates: tuple[str, ...] = ()
    readers: int | None = None
    prior: Prior | None = None
    data: Labelled | None = None
    transitions: Mapping[str, Shaped[np.ndarray, " S"]] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the density, which a copy finds again: programs are known by it."""
        return {name: value for name, value in vars(self).items() if name != "target"}

    @cached_property
    def target(self) -> Target:
        """The channel's density, which knows the names of the parameters."""
        return build_target(self.channel, len(self.histogram), self.covariates, self.readers)

    def parameters(self) -> dict[str, np.ndarray]:
        """Return draws of the named parameters in their own units, each of shape ``[S, ...]``."""
        return self.target.name(self.draws)

    def mean(self) -> dict[str, np.ndarray]:
        """Compute the posterior mean of each parameter in its own units."""
        return {
            name: np.tensordot(self.weights, value, axes=1)
            for name, value in self.parameters().items()
        }

    def quantile(self, level: float) -> dict[str, np.ndarray]:
        """Compute the weighted quantile of each parameter in its own units.

        Args:
            level: between 0 and 1.
        """
        return {
            name: np.quantile(value, level, axis=0, weights=self.weights, method="inverted_cdf")
            for name, value in self.parameters().items()
        }

    def uninformative_reading(self) -> Readings:
        """Return readings of one text that say nothing, for priors that do not look at any."""
        size = len(self.histogram)
        shape = (1, size) if self.readers is None else (1, self.readers, size)
        extra = dict.fromkeys(self.covariates, np.zeros(1))
        return Readings(np.zeros(shape), self.histogram, extra)

    @property
    def replaced_prior(self) -> Prior:
        """Location and scale of the unconstrained parameters, whether replaced or the channel's."""
        return self.target.prior if self.prior is None else self.prior

    def draw_prior(self, draws: int, seed: int) -> Float[np.ndarray, "S P"]:
        """Draw unconstrained parameters from the prior."""
        arguments = self.replaced_prior, self.uninformative_reading(), draws
        with jax.enable_x64(True):
            return np.asarray(self.target.sample_prior(jax.random.key(seed), *arguments))

    def sample_prior(self, draws: int, seed: int = 0) -> dict[str, np.ndarray]:
        """Draw the named parameters from the prior, in their own units, each ``[S, ...]``.

        Args:
            draws: how many.
            seed: seed of the random numbers.
        """
        return self.target.name(self.draw_prior(draws, seed))

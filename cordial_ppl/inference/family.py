"""Families: targets of one size that share a compiled program, which is told which of them to fit.

Nine tenths of the default's program does not depend on the channel.  A program for two channels
compiles in little more time than one for either.
"""

import jax
from jaxtyping import Array, Float, Int

from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.readings import Readings


class OneOf:
    """One target of a family, as functions of a flat vector like `Target`.

    Args:
        family: targets of one size.
        index: which of them, an integer that a program may learn when it runs.
    """

    def __init__(self, family: tuple[Target, ...], index: Int[Array, ""]):
        """Note the size that all of them have."""
        self.family = family
        self.index = index
        self.size = family[0].size

    def log_prior(
        self, flat: Float[Array, " P"], prior: Prior, readings: Readings
    ) -> Float[Array, ""]:
        """Log prior density in nats, as `Target.log_prior`."""
        return self._switch([each.log_prior for each in self.family], flat, prior, readings)

    def log_likelihood(
        self, flat: Float[Array, " P"], readings: Readings, labels: Int[Array, " n"]
    ) -> Float[Array, ""]:
        """Log likelihood of the labels in nats, as `Target.log_likelihood`."""
        return self._switch([each.log_likelihood for each in self.family], flat, readings, labels)

    def probs(self, flat: Float[Array, " P"], readings: Readings) -> Float[Array, "n K"]:
        """Probabilities of the options for each text, as `Target.probs`."""
        return self._switch([each.probs for each in self.family], flat, readings)

    def _switch(self, branches, *arguments):
        if len(branches) == 1:
            return branches[0](*arguments)
        return jax.lax.switch(self.index, branches, *arguments)

"""Families: targets of one size that share a compiled program, which is told which of them to fit.

Much of the default's program does not depend on the channel, and is compiled once for all of them.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
from jaxtyping import Array, Int

from cordial_ppl.inference.target import Target


class OneOf(NamedTuple):
    """One target of a family.

    Attributes:
        family: targets of one size.
        index: which of them, an integer that a program may learn when it runs.
    """

    family: tuple[Target, ...]
    index: Int[Array, ""]

    @property
    def size(self) -> int:
        """Number of unconstrained parameters P, the same for all."""
        return self.family[0].size

    @property
    def gaussian(self) -> bool:
        """Whether every prior is a fixed Gaussian in the unconstrained space."""
        return all(each.gaussian for each in self.family)


def of_target[T](target: Target | OneOf, function: Callable[[Target], T]) -> T:
    """Compute something of a target, or of the one that is chosen while the program runs.

    Whole computations go into it: what a branch returns is not fused with what uses it.

    Args:
        target: the target, or a family of them.
        function: arrays of one target.
    """
    if isinstance(target, Target):
        return function(target)
    if len(target.family) == 1:
        return function(target.family[0])
    return jax.lax.switch(target.index, [partial(function, each) for each in target.family])

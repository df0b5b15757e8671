"""The paper's form of the shift: a mode for each user, under a sigma that other users choose."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.channels.users import SHIFT
from cordial_ppl.estimators.users.spreads import Spreads

DIGITS = 9
"""Digits after which numbers are equal: shifts of whole classes have many ties."""


class Modes(Spreads):
    """Standard deviations of which one is chosen; ``evidence`` is by predictions in order."""

    __slots__ = ()

    @staticmethod
    def log_prior(
        grid: Float[np.ndarray, " G"], deviations: Float[np.ndarray, " S"]
    ) -> Float[np.ndarray, "S G"]:
        """Compute the penalty of each value, `-Delta^2 / (2 sigma^2)`."""
        return -0.5 * np.square(grid[None, :] / deviations[:, None])

    @property
    def mean(self) -> float:
        """The standard deviation that the labels of all users choose; of several, the smallest."""
        return float(self.deviations[self.log_shares.round(DIGITS).argmax()])

    def weigh(
        self, totals: Float[np.ndarray, "n G"], users: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n G"]:
        """Put all weight on each user's mode; of several, on the one nearest to zero."""
        logs = totals + self.logs[self.held_out_shares(users).round(DIGITS).argmax(axis=1)]
        size = logs.shape[1]
        nearest = np.argsort(np.abs(np.arange(size) - size // 2), kind="stable")
        return np.eye(size)[nearest[logs[:, nearest].argmax(axis=1)]]


def nearest_matrices(deltas: Float[Any, "*n"], size: int) -> Float[Any, "*n K K"]:
    r"""Make the matrices of the affine channel that the paper's shift is the limit of.

    .. math:: T(z \mid y) = \lim_{\kappa \to \infty} G(z \mid y + \Delta)

    All mass goes to the option nearest to y + Delta, or half of it to either of two, and what would
    pass an end stays there.  Fractions of a class move none: the default's shift divides them.

    Args:
        deltas: shifts Delta in classes.
        size: number of options K.

    Returns:
        Shares of the mass of option y (last axis) that go to option z (second to last axis).
    """
    options = np.arange(size)
    centres = np.asarray(deltas)[..., None] + options
    far = np.abs(options[:, None] - centres[..., None, :]).round(DIGITS)
    nearest = far == far.min(axis=-2, keepdims=True)
    return nearest / nearest.sum(axis=-2, keepdims=True)


NEAREST = SHIFT._replace(name="shift to the nearest option", matrices=nearest_matrices)
FRACTIONS = {"nearest": NEAREST, "divided": SHIFT}
"""What becomes of fractions of a class."""

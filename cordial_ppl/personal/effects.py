r"""What may differ from user to user: one number each, which turns the population's prediction.

An effect maps the population's probabilities of one text and a user's value to the user's
probabilities; a value of zero leaves the text as it is.  Users' values are normal around zero.
The shift is the paper's.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Rule = Callable[[Float[Array, " K"], Float[Array, ""], Float[Array, " K"]], Float[Array, " K"]]


class Effect(NamedTuple):
    """A family of calibrations with one value a user.

    Attributes:
        name: what tables and messages call it.
        apply: probabilities of a text, a user's value and the label histogram, to probabilities.
        low: smallest value for a number of options K.
        high: largest value for a number of options K.
        step: distance of the values that are told apart, for a number of options K.
        unit: size of a large value, in which the spread of users is measured, likewise.
        linear: whether, at any one value, it is a matrix on the probabilities, as a channel is.
    """

    name: str
    apply: Rule
    low: Callable[[int], float]
    high: Callable[[int], float]
    step: Callable[[int], float]
    unit: Callable[[int], float] = lambda _: 1.0
    linear: bool = False

    def grid(self, size: int) -> Float[np.ndarray, " G"]:
        """Values that are told apart, in order; zero is among them."""
        step = self.step(size)
        first, last = round(self.low(size) / step), round(self.high(size) / step)
        return step * np.arange(first, last + 1)


def shift(
    probs: Float[Array, " K"], delta: Float[Array, ""], histogram: Float[Array, " K"] | None = None
) -> Float[Array, " K"]:
    r"""Move probability mass along the scale (Section 2.7 of the paper, Personalization).

    .. math:: p_\Delta(z) = \sum_y p(y)\, \max(0, 1 - |z - c(y)|),
        \qquad c(y) = \min(\max(y + \Delta, 0), K - 1)

    Mass moves by Delta classes, a fractional part is divided between two neighbours, and what would
    pass an end stays there: the affine channel with gain and strength one and no spread.

    Args:
        probs: probabilities of the options.
        delta: Delta, in classes.
        histogram: not used.
    """
    del histogram
    options = jnp.arange(probs.shape[0], dtype=probs.dtype)
    centres = jnp.clip(options + delta, 0, probs.shape[0] - 1)
    shares = jnp.maximum(1 - jnp.abs(options[None, :] - centres[:, None]), 0)
    return jnp.sum(probs[:, None] * shares, axis=0)


def _shift_step(size: int) -> float:
    """A twentieth of a class; on long scales, such that no more than 801 shifts are told apart."""
    return 0.05 * max(1.0, (size - 1) / 20)


def _shift_unit(size: int) -> float:
    """One class of five to eight; else the power of two next below a quarter of the scale.

    People who differ much differ by a share of the scale, and with powers of two the spreads that
    are told apart are the same ones on every scale.
    """
    return 2.0 ** math.floor(math.log2((size - 1) / 4))


SHIFT = Effect(
    "shift",
    shift,
    low=lambda size: 1.0 - size,
    high=lambda size: size - 1.0,
    step=_shift_step,
    unit=_shift_unit,
    linear=True,
)
"""A shift along the scale, in classes."""

r"""What may differ from user to user: one number each, which turns the population's prediction.

An effect maps the population's probabilities of one text and a user's value to the user's
probabilities; a value of zero leaves the text as it is.  Users' values are normal around zero.
The shift is the paper's; the others are what it is compared with.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
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


def temper(
    probs: Float[Array, " K"], value: Float[Array, ""], histogram: Float[Array, " K"] | None = None
) -> Float[Array, " K"]:
    r"""Make a prediction more or less confident: a temperature of one's own.

    .. math:: p_u(z) \propto p(z)^{1 / e^{v}}

    Args:
        probs: probabilities of the options.
        value: v, the log temperature.
        histogram: not used.
    """
    del histogram
    return jax.nn.softmax(_log(probs) * jnp.exp(-value))


def intercept(
    probs: Float[Array, " K"], value: Float[Array, ""], histogram: Float[Array, " K"] | None = None
) -> Float[Array, " K"]:
    r"""Random intercept of ordinal regression, on the cumulative logits of a prediction.

    .. math:: \operatorname{logit} P_u(z \le t) = \operatorname{logit} P(z \le t) - v

    On the predictions of a proportional-odds regression this is the regression with a random
    intercept (Agresti 2010, "Analysis of Ordinal Categorical Data", Section 10.1).

    Args:
        probs: probabilities of the options.
        value: v, in units of the logit; positive moves mass up the scale.
        histogram: not used.
    """
    del histogram
    below = jnp.cumsum(probs)[:-1]
    above = jnp.cumsum(probs[::-1])[::-1][1:]
    moved = jax.nn.sigmoid(_log(below) - _log(above) - value)
    ends = jnp.zeros(1, probs.dtype), jnp.ones(1, probs.dtype)
    return jnp.diff(jnp.concatenate([ends[0], moved, ends[1]]))


def rely(
    probs: Float[Array, " K"], value: Float[Array, ""], histogram: Float[Array, " K"]
) -> Float[Array, " K"]:
    r"""Draw a prediction to the label histogram: a reliability of one's own (Remark 1).

    .. math:: p_u(z) = \beta p(z) + (1 - \beta) \pi(z), \qquad \beta = e^{-|v|}

    Args:
        probs: probabilities of the options.
        value: v; its sign does not matter.
        histogram: pi, the smoothed label histogram.
    """
    reliability = jnp.exp(-jnp.abs(value))
    return reliability * probs + (1 - reliability) * histogram


def _log(probs: Array) -> Array:
    return jnp.log(jnp.maximum(probs, jnp.finfo(probs.dtype).tiny))


def _shift_step(size: int) -> float:
    """A twentieth of a class; on long scales, such that no more than 801 shifts are told apart."""
    return 0.05 * max(1.0, (size - 1) / 20)


def _shift_unit(size: int) -> float:
    """One class of five to eight; else the power of two next below a quarter of the scale.

    People who differ much differ by a share of the scale, and with powers of two the spreads that
    are told apart are the same ones on every scale.
    """
    return 2.0 ** math.floor(math.log2((size - 1) / 4))


EFFECTS: dict[str, Effect] = {
    effect.name: effect
    for effect in (
        Effect(
            "shift",
            shift,
            low=lambda size: 1.0 - size,
            high=lambda size: size - 1.0,
            step=_shift_step,
            unit=_shift_unit,
            linear=True,
        ),
        Effect("temperature", temper, lambda _: -3.0, lambda _: 3.0, lambda _: 0.05),
        Effect("intercept", intercept, lambda _: -8.0, lambda _: 8.0, lambda _: 0.1, lambda _: 2.0),
        Effect("reliability", rely, lambda _: 0.0, lambda _: 6.0, lambda _: 0.05, linear=True),
    )
}

"""What the shift of users is compared with: three more effects of one number a user."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from cordial_ppl.personal import UserEffect
from cordial_ppl.personal.effects import Effect


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


class UserTemperature(UserEffect):
    """Per-user temperature: makes a user's predictions more or less confident."""

    effect = Effect("temperature", temper, lambda _: -3.0, lambda _: 3.0, lambda _: 0.05)


class UserIntercept(UserEffect):
    """Per-user intercept on the cumulative logits.

    On the predictions of ``ProportionalOdds`` it is random-intercept ordinal regression.
    """

    effect = Effect(
        "intercept", intercept, lambda _: -8.0, lambda _: 8.0, lambda _: 0.1, lambda _: 2.0
    )


class UserReliability(UserEffect):
    """Per-user reliability: how far a user's prediction is drawn to the label histogram."""

    effect = Effect("reliability", rely, lambda _: 0.0, lambda _: 6.0, lambda _: 0.05, linear=True)

r"""Per-user effects as a NumPyro model, which the grid of :mod:`evidence` integrates exactly."""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import FLOOR
from cordial_ppl.channel import observe
from cordial_ppl.personal.effects import Effect


def user_effects(
    effect: Effect,
    probs: Float[Any, "n K"],
    users: Int[Any, " n"],
    count: int,
    histogram: Float[Any, " K"],
    labels: Int[Any, " n"] | None = None,
) -> None:
    r"""Model of labels by several users on top of a population's predictions.

    .. math:: \sigma \sim \mathrm{HalfNormal}(\mathrm{unit}), \qquad v_u \sim N(0, \sigma^2),
        \qquad z_i \sim f(p_i, v_{u(i)})

    The values are sampled in units of sigma, in which the posterior has no funnel.

    Args:
        effect: the effect f and its unit.
        probs: the population's probabilities.
        users: number of each text's user, 0..count-1.
        count: number of users.
        histogram: smoothed label histogram.
        labels: options 0..K-1, or -1 for a text without label; None to draw them.
    """
    sigma = numpyro.sample("sigma", dist.HalfNormal(effect.unit(len(histogram))))
    with numpyro.plate("user", count):
        scaled = numpyro.sample("scaled", dist.Normal(0.0, 1.0))
    values: Any = numpyro.deterministic("value", sigma * scaled)

    def own(text: Array, user: Array) -> Array:
        return effect.apply(text, values[user], jnp.asarray(histogram))

    moved = jax.vmap(own)(jnp.asarray(probs), jnp.asarray(users))
    observed = None if labels is None else jnp.asarray(labels)
    observe(jnp.log(jnp.maximum(moved, FLOOR)), observed)

r"""Per-user effects as a channel, which the grid of :mod:`evidence` integrates exactly.

It is fitted as any channel: by ``fit_channel``, ``fit_laplace`` and ``fit_nuts``.
"""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Int

from cordial_ppl.arrays import FLOOR
from cordial_ppl.channel import Channel, observe
from cordial_ppl.errors import InputError
from cordial_ppl.personal.effects import SHIFT, Effect
from cordial_ppl.readings import Readings

USER = "user"
"""Name of the covariate that says whose label a text has."""


@lru_cache(maxsize=64)
def user_channel(users: int, effect: Any = SHIFT, sigma: float | None = None) -> Channel:
    r"""Channel of labels by several users on top of a population's predictions.

    .. math:: \sigma \sim \mathrm{HalfNormal}(\mathrm{unit}), \qquad \Delta_u \sim N(0, \sigma^2),
        \qquad z_i \sim f(p_i, \Delta_{u(i)}), \qquad p_i = \mathrm{softmax}(\ell_i)

    The shift f moves probability mass by Delta classes, a fractional part divided between two
    neighbours; what would pass an end stays there.  Readings are the logarithms of the population's
    probabilities, and the covariate ``user`` numbers the users: ``fit_nuts(user_channel(12),
    np.log(probs), labels, covariates={"user": numbers})``.

    Without ``sigma`` its parameters are ``sigma`` and ``scaled``, users' values in units of sigma,
    in which the posterior has no funnel; with it, ``value``, whose prior is a fixed Gaussian.

    Args:
        users: how many users there are.  A target knows no data, so their number is part of the
            channel; one more than have labels leaves room for a user of whom nothing is known.
        effect: what differs between users, an ``Effect``; by default the shift (Section 2.7 of the
            paper).
        sigma: standard deviation of users' values, where it is known.

    Returns:
        The channel, always the same one for these arguments.

    Raises:
        InputError: there is no user, the effect is none, or sigma is not above 0.
    """
    if not isinstance(effect, Effect):
        raise InputError(f"effect must be a cordial_ppl.personal.effects.Effect; got {effect!r}.")
    if users < 1 or (sigma is not None and not sigma > 0):
        raise InputError(f"there must be a user, and sigma above 0; got {users} and {sigma}.")

    def model(readings: Readings, labels: Int[Any, " n"] | None = None) -> None:
        spread: Any = sigma
        if sigma is None:
            spread = numpyro.sample("sigma", dist.HalfNormal(effect.unit(len(readings.histogram))))
        with numpyro.plate(USER, users):
            if sigma is None:
                values = spread * jnp.asarray(numpyro.sample("scaled", dist.Normal(0.0, 1.0)))
            else:
                values = jnp.asarray(numpyro.sample("value", dist.Normal(0.0, spread)))
        whose = jnp.asarray(readings.covariates[USER]).astype(int)

        def moved(text: Array, user: Array) -> Array:
            return effect.apply(text, values[user], jnp.asarray(readings.histogram))

        probs = jax.vmap(moved)(jax.nn.softmax(jnp.asarray(readings.logits), axis=1), whose)
        floored = jnp.maximum(probs, FLOOR)
        observe(None, labels, probs=floored / jnp.sum(floored, axis=1, keepdims=True))

    return Channel(f"user {effect.name}", model, levels=((USER, users),))

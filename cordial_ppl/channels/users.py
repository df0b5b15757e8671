"""Users' shifts as a channel, for every method of inference; `UserShift` is exact and faster."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Int

from cordial_ppl.channels.channel import Channel, observe
from cordial_ppl.channels.effects import SHIFT
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.arrays import FLOOR

USER = "user"
"""Name of the covariate that says who gave a label."""


@lru_cache(maxsize=64)
def user_channel(users: int, *, sigma: float | None = None) -> Channel:
    r"""Channel of labels by several users, on top of a population's predictions.

    .. math:: \sigma \sim \mathrm{HalfNormal}(\mathrm{unit}), \qquad \Delta_u \sim N(0, \sigma^2),
        \qquad z_i \sim M(\Delta_{u(i)})\, p_i, \qquad p_i = \mathrm{softmax}(\ell_i)

    M moves probability mass along the scale (:func:`effects.shift_matrices`).  Readings are the
    logarithms of the population's probabilities, and the covariate ``user`` numbers the users:
    ``fit_nuts(user_channel(12), np.log(probs), labels, covariates={"user": numbers})``.

    Without ``sigma`` its parameters are ``sigma`` and ``scaled``, shifts in units of sigma, in
    which the posterior has no funnel; with it, ``value``, whose prior is a fixed Gaussian.

    Args:
        users: number of users; one more than have labels, to predict for an unknown user too.
        sigma: standard deviation of the shifts in classes, if it is known.

    Returns:
        The channel; equal arguments give the same one.

    Raises:
        InputError: there is no user, or sigma is not above 0.

    Source: Section 2.7 of the paper, Personalization.
    """
    if users < 1 or (sigma is not None and not sigma > 0):
        raise InputError(f"there must be a user, and sigma above 0; got {users} and {sigma}.")

    def model(readings: Readings, labels: Int[Any, " n"] | None = None) -> None:
        size, spread = len(readings.histogram), sigma
        if sigma is None:
            spread = numpyro.sample("sigma", dist.HalfNormal(SHIFT.unit(size)))
        with numpyro.plate(USER, users):
            if sigma is None:
                values = jnp.asarray(spread) * numpyro.sample("scaled", dist.Normal(0.0, 1.0))
            else:
                values = jnp.asarray(numpyro.sample("value", dist.Normal(0.0, sigma)))
        deltas = values[jnp.asarray(readings.covariates[USER]).astype(int)]
        matrices = jax.vmap(lambda delta: SHIFT.matrices(delta, size))(deltas)
        population = jax.nn.softmax(jnp.asarray(readings.logits), axis=1)
        floored = jnp.maximum(jnp.einsum("nzy,ny->nz", matrices, population), FLOOR)
        observe(None, labels, probs=floored / jnp.sum(floored, axis=1, keepdims=True))

    return Channel("user shift", model, levels=((USER, users),))

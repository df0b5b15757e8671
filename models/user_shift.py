r"""Shifts of the population's prediction for users who rate higher or lower than others.

.. math:: \hat p(z) = \sum_y p(y)\, \max\bigl(0, 1 - |z - c(y)|\bigr), \qquad
   c(y) = \min\bigl(\max(y + \Delta_u, 0), K - 1\bigr), \quad \Delta_u = \sigma\, \xi_u

Readings are the logarithms of the population's predictions p, such as those of a fit to other
people's labels. Probabilities below 1e-4 are set to 1e-4 before each row is normalised. Parameters:
``sigma`` (classes), and for each user u ``scaled`` xi, the shift in units of sigma, which avoids a
funnel in the posterior. The prior of sigma is half-normal; its scale is one class for five to eight
options, otherwise the largest power of two that is at most a quarter of K - 1.
`cp.channels.user_channel` is this channel; `UserShift` averages over the same shifts on a grid.

The covariate ``user`` numbers the users; set ``LEVELS`` one higher to predict for a new user.
Source: the paper's Section 2.7, which takes the mode of each shift and cross-validates sigma.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

LEVELS = {"user": 12}
"""How many users there are."""

PARAMETERS = {
    "sigma": "classes by which users differ, as a standard deviation",
    "scaled": "how much higher this user rates than the population, in units of sigma",
}
"""What its own parameters mean, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample a shift for each user; observe the labels."""
    size = readings.logits.shape[1]
    unit = 2.0 ** jnp.floor(jnp.log2((size - 1) / 4))
    sigma = numpyro.sample("sigma", dist.HalfNormal(unit))
    with numpyro.plate("user", LEVELS["user"]):
        scaled = numpyro.sample("scaled", dist.Normal(0.0, 1.0))

    options = jnp.arange(size)
    shift = (sigma * scaled)[readings.covariates["user"].astype(int)]
    # Mass moves by the shift and stays at the ends; between options it is divided by nearness.
    centres = jnp.clip(options[None, :] + shift[:, None], 0, options[-1])
    nearness = jnp.maximum(1 - jnp.abs(options[None, None, :] - centres[:, :, None]), 0)
    population = jax.nn.softmax(readings.logits, axis=1)
    moved = jnp.maximum(jnp.sum(population[:, :, None] * nearness, axis=1), 1e-4)
    with numpyro.plate("texts", len(moved)):
        probs = moved / jnp.sum(moved, axis=1, keepdims=True)
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

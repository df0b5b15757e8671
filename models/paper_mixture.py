r"""The paper's mixture channel (Eq. 3), which shifts and spreads each option of the reading.

.. math:: \hat p(z) = \rho \sum_y q(y)\, G(z \mid s\, y + d) + (1 - \rho)\, \pi(z), \qquad
   q = \mathrm{softmax}(\ell / \tau), \quad G(z \mid c) \propto \exp[-\kappa (z - c)^2]

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes), ``gain`` s,
``concentration`` kappa (1 / classes^2), ``strength`` rho. The built-in channel "mixture" is the
same model.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def model(readings, labels=None):
    """Sample the five parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    stated = jax.nn.softmax(readings.logits / temperature, axis=1)
    distance = options[None, :] - (gain * options + offset)[:, None]
    kernel = jax.nn.softmax(-concentration * distance**2, axis=1)  # A row for each stated option.
    profile = stated @ kernel
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

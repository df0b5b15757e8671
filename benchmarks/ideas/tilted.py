r"""Location channel whose kernel is tilted towards the labels that are common.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \pi(z)^{\gamma} \exp[-\kappa (z - c)^2], \quad c = s\, m(x) + d

With gamma = 1 the kernel is Bayes' rule for a Gaussian measurement of a label that pi is the prior
of; with 0 it is the location channel.  One parameter more, ``power`` gamma, which unlike the tilt
of "bridge" may exceed one.  Order is kept: the factor depends on the option alone.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from cordial_ppl import observe, sample_log_odds


def model(readings, labels=None):
    """Sample the six parameters and state the probabilities; options first, texts last inside."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = sample_log_odds("strength", jnp.log(19.0), 2.0)
    power = numpyro.sample("power", dist.LogNormal(jnp.log(0.5), 0.75))

    options = jnp.arange(readings.logits.shape[-1], dtype=readings.logits.dtype)
    reading = jax.nn.softmax(readings.logits.T / temperature, axis=0)
    centre = gain * (options @ reading) + offset
    tilt = power * jnp.log(readings.histogram)
    gaps = options[:, None] - centre[None, :]
    profile = jax.nn.softmax(tilt[:, None] - concentration * gaps**2, axis=0)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[:, None]
    observe(None, labels, probs=(jax.nn.sigmoid(log_odds) * profile + share).T)

r"""Location channel whose gain turns the scale about its middle.

.. math:: \hat p(z) = \rho\, G(z \mid c) + (1 - \rho)\, \pi(z), \qquad
   c = c_0 + s\, (m(x) - c_0) + d, \quad c_0 = (K - 1) / 2

The parameters are those of the location channel; the same gain and offset mean another map, and
the priors of the two are less entangled where readings lie about the middle.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from cordial_ppl import observe, sample_log_odds


def model(readings, labels=None):
    """Sample the five parameters and state the probabilities; options first, texts last inside."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = sample_log_odds("strength", jnp.log(19.0), 2.0)

    options = jnp.arange(readings.logits.shape[-1], dtype=readings.logits.dtype)
    reading = jax.nn.softmax(readings.logits.T / temperature, axis=0)
    middle = 0.5 * (len(options) - 1)
    centre = middle + gain * (options @ reading - middle) + offset
    gaps = options[:, None] - centre[None, :]
    profile = jax.nn.softmax(-(concentration * gaps**2), axis=0)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[:, None]
    observe(None, labels, probs=(jax.nn.sigmoid(log_odds) * profile + share).T)

r"""One sentence: which fault of a reader this channel is about.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (z - c)^2],
   \qquad c = s\, m(x) + d

Parameters: ``temperature`` tau (a factor on the logits), ``offset`` d (classes),
``gain`` s, ``concentration`` kappa (1 / classes^2), ``strength`` rho.

What this file holds is the paper's location channel (Eq. 4). Copy it, change what your channel does
otherwise, and run ``cordial check`` on it.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from cordial_ppl import expected, observe, sample_log_odds, softmax

PARAMETERS = {
    # "verbosity": "classes by which a text that is twice as long is rated too high",
}
"""What each parameter of your own means, with its unit, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the parameters, then state the probabilities of the K options for each text."""
    # Every parameter has a name and a prior; Normal and LogNormal can be replaced by name.
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = sample_log_odds("strength", jnp.log(19.0), 2.0)

    # The reading's mean, corrected.  Logits are [n, K]; transposed, texts are the long last axis.
    options = jnp.arange(readings.logits.shape[-1], dtype=readings.logits.dtype)
    reading = softmax(readings.logits.T / temperature)
    centre = gain * expected(reading) + offset

    # How labels spread around it, and the share of texts for which the reading says nothing.
    profile = softmax(-(concentration * (options[:, None] - centre[None, :]) ** 2))
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[:, None]
    observe(None, labels, probs=(jax.nn.sigmoid(log_odds) * profile + share).T)

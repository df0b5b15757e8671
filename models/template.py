r"""One sentence: the fault of a reader that this channel models.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (z - c)^2],
   \qquad c = s\, m(x) + d

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes), ``gain`` s,
``concentration`` kappa (1 / classes^2), ``strength`` rho.

This file implements the paper's location channel (Eq. 4). Copy the file, change the parts in which
your channel differs, and run ``cordial check`` on the copy.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    # "verbosity": "classes by which a text that is twice as long is rated too high",
}
"""What each parameter of your own means, with its unit, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the parameters; observe the labels."""
    # Every parameter has a name and a prior; Normal and LogNormal can be replaced by name.
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    # Of a parameter between 0 and 1 the log odds are sampled, and what they are of is recorded.
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    # The reading's mean, corrected; how labels spread around it.
    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    distance = options[None, :] - (gain * mean + offset)[:, None]
    profile = jax.nn.softmax(-concentration * distance**2, axis=1)
    # The share of texts for which the reading says nothing: 1 - strength, with all of its digits.
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

r"""Location channel whose offset drifts with time or position.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (z - c)^2],
   \qquad c = s\, m(x) + d + \delta\, t(x)

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes, where t = 0), ``gain``
s, ``drift`` delta, ``concentration`` kappa (1 / classes^2), ``strength`` rho. Scale the covariate
``time`` t so that a change of half a class per unit would be plausible, for example from 0 to 1
over the labelled period or over the positions of texts in the prompt.

Human ratings drift too (Myford and Wolfe 2009, J. Educational Measurement 46). The channel
extrapolates the drift beyond the labelled period. At delta = 0 this is the location channel. Order
is kept among texts with the same time.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {"drift": "classes by which labels rise against readings in one unit of time"}
"""What its own parameter means, as a summary and a report put it."""

EXAMPLES = {"time": (0, 1)}
"""Range of the covariate in texts that are made up to check this channel."""


def model(readings, labels=None):
    """Sample the six parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    drift = numpyro.sample("drift", dist.Normal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    centre = gain * mean + offset + drift * readings.covariates["time"]
    profile = jax.nn.softmax(-concentration * (options[None, :] - centre[:, None]) ** 2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

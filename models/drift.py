r"""Location channel for labels, or a reader, that drift: the offset changes with time or position.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (z - c)^2],
   \qquad c = s\, m(x) + d + \delta\, t(x)

Parameters: ``temperature`` tau (a factor on the logits), ``offset`` d (classes, where t = 0),
``gain`` s, ``drift`` delta, ``concentration`` kappa (1 / classes^2),
``strength`` rho. The covariate ``time`` t is in units in which a change of half a class would be no
surprise: from 0 to 1 over the period that was labelled, or the place of a text in the prompt from
first to last.

People's ratings drift too (Myford and Wolfe 2009, J. Educational Measurement 46). Beyond the times
that were labelled the drift is taken to go on. At delta = 0 this is the location channel; order is
kept among texts of one time.
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

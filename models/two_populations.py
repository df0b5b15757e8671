r"""Location channel for labels by two groups of people, one of which rates higher than the other.

.. math:: \hat p(z) = \rho\, [(1 - \lambda)\, g(z; c) + \lambda\, g(z; c + \Delta)]
   + (1 - \rho)\, \pi(z), \qquad g(z; c) \propto \exp[-\kappa (z - c)^2], \quad c = s\, m(x) + d

where each g is normalised over z. Parameters: ``temperature`` tau (divides the logits), ``offset``
d (classes), ``gain`` s, ``concentration`` kappa (1 / classes^2), ``minority`` lambda,
``difference`` Delta, ``strength`` rho.

Modelling raters as a mixture of classes follows Rost (1990, Applied Psychological Measurement 14).
The same model describes a reader that misjudges a share of the texts in one direction. Exchanging
the two groups turns lambda into 1 - lambda; the prior distinguishes the two. At Delta = 0 this is
the location channel. Order is kept, because both components increase with c and their shares do not
depend on c.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "minority": "share of the people, or texts, that are rated by another standard",
    "difference": "classes by which this minority rates higher; below zero, lower",
}
"""What its own parameters mean, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the seven parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    minority_log_odds = numpyro.sample("minority_log_odds", dist.Normal(-jnp.log(4.0), 0.7))
    minority = numpyro.deterministic("minority", jax.nn.sigmoid(minority_log_odds))
    difference = numpyro.sample("difference", dist.Normal(0.0, 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    distance = options[None, :] - (gain * mean + offset)[:, None]
    most = jax.nn.softmax(-concentration * distance**2, axis=1)
    others = jax.nn.softmax(-concentration * (distance - difference) ** 2, axis=1)
    profile = (1 - minority) * most + minority * others
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

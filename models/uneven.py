r"""Location channel for scales on which people do not see the options as equally spaced.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (y_z - c)^2],
   \qquad c = s\, m(x) + d, \quad y_z = (K - 1) \sum_{k < z} \mathrm{softmax}(h)_k

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes), ``gain`` s, ``steps``
h, ``concentration`` kappa (1 / classes^2), ``strength`` rho.

A short step means that people hardly distinguish two neighbouring options, so the concentration in
units of options differs from class to class. The y_z are the ordered scores of the stereotype model
(Anderson 1984, J. R. Stat. Soc. B 46). With equal steps this is the location channel. Order is
kept, because the derivative of the log profile with respect to c, 2 kappa (y_z - c), increases with
z. A concentration that depends directly on the class would not keep order.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {"steps": "log length of each step between neighbouring options, up to a constant"}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the K + 4 parameters; observe the labels."""
    top = readings.logits.shape[1] - 1
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    steps = numpyro.sample("steps", dist.Normal(0.0, 0.4).expand([top]).to_event(1))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    places = top * jnp.append(0.0, jnp.cumsum(jax.nn.softmax(steps)))
    distance = places[None, :] - (gain * mean + offset)[:, None]
    profile = jax.nn.softmax(-concentration * distance**2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

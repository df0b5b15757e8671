r"""Location channel for labels that stray further to one side of the reading than to the other.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa e^{\mp \gamma} (z - c)^2],
   \qquad c = s\, m(x) + d

with ``-`` above the centre (z > c) and ``+`` below it. Parameters: ``temperature`` tau (divides the
logits), ``offset`` d (classes), ``gain`` s, ``concentration`` kappa (1 / classes^2, the geometric
mean of the two sides), ``skew`` gamma, ``strength`` rho.

The kernel is a two-piece normal (Fernandez and Steel 1998, J. Am. Stat. Assoc. 93). At gamma = 0
this is the location channel. Order is kept for every gamma: the derivative of the log profile with
respect to c, ``2 kappa e^(-+gamma) (z - c)``, increases with z, so a higher mean never lowers the
prediction.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "skew": "log of how many times further labels stray above the corrected reading than below it"
}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the six parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    skew = numpyro.sample("skew", dist.Normal(0.0, 0.7))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    distance = options[None, :] - (gain * mean + offset)[:, None]
    side = jnp.exp(jnp.where(distance > 0, -skew, skew))
    profile = jax.nn.softmax(-concentration * side * distance**2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

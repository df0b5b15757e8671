r"""Location channel for a reader that compresses one end of the scale and stretches the other.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa (z - c)^2],
   \qquad c = s\, (K - 1)\, \frac{u e^\beta}{1 + u (e^\beta - 1)} + d, \quad u = \frac{m(x)}{K - 1}

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes), ``gain`` s, ``bend``
beta, ``concentration`` kappa (1 / classes^2), ``strength`` rho.

If beta > 0, a step between low readings corresponds to more than one step between labels, and a
step between high readings to less, because the reader compresses the low end. In the log odds of u
the bend is an offset, log(u / (1 - u)) + beta, a form that also describes how people judge
proportions (Zhang and Maloney 2012, Frontiers in Neuroscience 6). At beta = 0 this is the location
channel. Order is kept, because the bent mean increases with m.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "bend": "log of how many times more a stated class is worth at the low end of the scale, at "
    "the high end as many times less"
}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the six parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    bend = numpyro.sample("bend", dist.Normal(0.0, 0.7))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    stated = jax.nn.softmax(readings.logits / temperature, axis=1)
    # Both ends are summed for themselves: 1 - u would lose the digits of a saturated reading.
    high, low = stated @ options, stated @ options[::-1]
    centre = gain * options[-1] * high / (high + low / jnp.exp(bend)) + offset
    distance = options[None, :] - centre[:, None]
    profile = jax.nn.softmax(-concentration * distance**2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

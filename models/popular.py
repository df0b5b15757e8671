r"""People favour some options whatever the text; a channel in plain NumPyro.

.. math:: \hat p(z) \propto \exp[-\kappa (z - c)^2 + b_z], \qquad c = s\, m(x) + d

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes), ``gain`` s,
``concentration`` kappa (1 / classes^2), ``popularity`` b (nats).

Order is kept, because for any b the ratio of two options' probabilities depends on c as in the
location channel.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {"popularity": "nats by which people choose this option more than its reading says"}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the parameters; observe the labels."""
    size = readings.logits.shape[-1]
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(2.0), 1.0))
    popularity = numpyro.sample("popularity", dist.Normal(0.0, 0.5).expand([size]).to_event(1))

    options = jnp.arange(size, dtype=readings.logits.dtype)
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    distance = options[None, :] - (gain * mean + offset)[:, None]
    with numpyro.plate("texts", len(mean)):
        logits = popularity[None, :] - concentration * distance**2
        numpyro.sample("label", dist.Categorical(logits=logits), obs=labels)

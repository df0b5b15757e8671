r"""Proportional odds in plain NumPyro: cut points divide the corrected reading into the options.

.. math:: \mathrm{logit}\, P(Z > k) = s \Bigl(m(x) - \frac{K - 1}{2}\Bigr) - \theta_k, \qquad
   \theta_0 < \dots < \theta_{K-2}

Parameters: ``temperature`` tau (divides the logits), ``slope`` s (nats per class), ``cuts`` theta
(nats), which are close if people hardly distinguish two options.

Order is kept, because every P(Z > k) increases with m. Source: McCullagh (1980), J. R. Stat. Soc. B
42.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import OrderedTransform

PARAMETERS = {
    "slope": "nats that the odds of a higher label gain with a stated class",
    "cuts": "log odds of a label no higher than this one, for a reading in the middle",
}
"""What its own parameters mean, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample temperature, slope and cuts; observe the labels."""
    size = readings.logits.shape[-1]
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    slope = numpyro.sample("slope", dist.LogNormal(jnp.log(3.0), 0.7))
    # The first cut, and the logarithms of the steps from one to the next.
    loc = jnp.full(size - 1, jnp.log(2.0)).at[0].set(2.0 - size)
    steps = dist.Normal(loc, 1.0).to_event(1)
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(steps, OrderedTransform()))

    options = jnp.arange(size, dtype=readings.logits.dtype)
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    with numpyro.plate("texts", len(mean)):
        fn = dist.OrderedLogistic(slope * (mean - (size - 1) / 2), cuts)
        numpyro.sample("label", fn, obs=labels)

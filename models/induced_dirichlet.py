r"""Proportional odds with a prior on the shares of the options instead of the cut points.

.. math:: \mathrm{logit}\, P(Z > k) = s \Bigl(m(x) - \frac{K - 1}{2}\Bigr) - \theta_k, \qquad
   \bigl(P(Z = 0), \dots, P(Z = K - 1)\bigr) \sim \mathrm{Dirichlet}(2, \dots, 2)

where the Dirichlet prior applies to the shares pi of the options for a reading in the middle of the
scale, and theta_k is the log odds of a label of at most k for such a reading. Parameters:
``temperature`` tau (divides the logits), ``slope`` s (nats a class), ``shares`` pi, and ``cuts``
theta (nats), which follow from the shares.

It is easier to state a prior on how often options are used than on cut points. Order is kept,
because every P(Z > k) increases with m. Source: Betancourt (2019), "Ordinal regression", a case
study.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "slope": "nats that the odds of a higher label gain with a stated class",
    "shares": "share of labels that are this option, for a reading in the middle",
}
"""What its own parameters mean, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample temperature, slope and cuts; observe the labels."""
    size = readings.logits.shape[1]
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    slope = numpyro.sample("slope", dist.LogNormal(jnp.log(3.0), 0.7))
    shares = numpyro.sample("shares", dist.Dirichlet(jnp.full(size, 2.0)))

    # Both tails are summed for themselves, from their ends, and keep their digits.
    positive = jnp.maximum(shares, 1e-30)
    below, above = jnp.cumsum(positive)[:-1], jnp.cumsum(positive[::-1])[:-1][::-1]
    cuts = numpyro.deterministic("cuts", jnp.log(below) - jnp.log(above))
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ jnp.arange(size)
    with numpyro.plate("texts", len(mean)):
        fn = dist.OrderedLogistic(slope * (mean - (size - 1) / 2), cuts)
        numpyro.sample("label", fn, obs=labels)

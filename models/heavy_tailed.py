r"""Location channel for labels with outliers: the log density falls linearly in the tails.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp\bigl[-2 \kappa w^2 (\sqrt{1 + ((z - c) / w)^2} - 1)\bigr],
   \qquad c = s\, m(x) + d

Parameters: ``temperature`` tau (divides the logits), ``offset`` d (classes), ``gain`` s,
``concentration`` kappa (1 / classes^2), ``width`` w, ``strength`` rho.

The exponent is the pseudo-Huber loss (Charbonnier et al. 1997, IEEE Trans. Image Processing 6). For
large w this is the location channel. Order is kept, because the exponent is concave in z - c; with
Student-t tails, which are not log-concave, a higher reading could lower the prediction.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "width": "classes within which labels spread like a Gaussian; beyond, like a double exponential"
}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the six parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    width = numpyro.sample("width", dist.LogNormal(0.0, 1.0))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    squares = (options[None, :] - (gain * mean + offset)[:, None]) ** 2
    # w^2 (sqrt(1 + d^2 / w^2) - 1) without the difference, which loses digits where w is large.
    exponent = 2.0 * squares / (jnp.sqrt(1.0 + squares / width**2) + 1.0)
    profile = jax.nn.softmax(-concentration * exponent, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

r"""Location channel for several readers: the average of their means is corrected like one mean.

.. math:: \hat p(z) = \rho\, G\Bigl(z \Bigm| s \sum_r w_r\, m_r(x) + d\Bigr) + (1 - \rho)\, \pi(z),
   \qquad w = \mathrm{softmax}(a), \quad G(z \mid c) \propto \exp[-\kappa (z - c)^2]

The 2R + 3 parameters for R readers are ``temperature`` tau (one per reader), ``contrast`` a (R
numbers that sum to zero, R - 1 of them free), ``offset`` d (classes), ``gain`` s, ``concentration``
kappa (1 / classes^2) and ``strength`` rho. `Fusion` uses the same model, the built-in channel
"location-readers".

Logits are [n, R, K]. They are NaN if a reader has not read a text; the other readers' weights are
then rescaled.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

SEVERAL = True
"""It takes several readers: ``cp.fit_channel("models/readers.py", logits, labels)``."""

PARAMETERS = {"contrast": "log weight of this reader against the average of all"}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the 2R + 3 parameters; observe the labels."""
    _, readers, size = readings.logits.shape
    with numpyro.plate("readers", readers):
        temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    contrast = numpyro.sample("contrast", dist.ZeroSumNormal(1.0, (readers,)))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(size)
    read = ~jnp.isnan(readings.logits[:, :, 0])
    logits = jnp.where(read[:, :, None], readings.logits, 0.0)
    means = jax.nn.softmax(logits / temperature[None, :, None], axis=2) @ options
    weights = jnp.where(read, jax.nn.softmax(contrast)[None, :], 0.0)
    mean = jnp.sum(weights * means, axis=1) / jnp.sum(weights, axis=1)
    distance = options[None, :] - (gain * mean + offset)[:, None]
    profile = jax.nn.softmax(-concentration * distance**2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

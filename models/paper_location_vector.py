r"""The paper's location channel with the vector-scaled reading: each option has a scale and a bias.

.. math:: \hat p(z) = \rho\, G(z \mid s \textstyle\sum_y y\, q(y) + d) + (1 - \rho)\, \pi(z), \qquad
   q = \mathrm{softmax}(e^{\epsilon} \odot \ell / \tau + b), \quad
   G(z \mid c) \propto \exp[-\kappa (z - c)^2]

Parameters: those of `template.py`, and for each option ``log_scale`` epsilon and ``bias`` b (nats).
The built-in channel "location-vector" is the same model.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

PARAMETERS = {
    "log_scale": "log of how many times more the judge's logit of this option counts",
    "bias": "nats that are added to the judge's logit of this option",
}
"""What its own parameters mean, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the 5 + 2K parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))
    size = readings.logits.shape[1]
    log_scale = numpyro.sample("log_scale", dist.Normal(0.0, 0.5).expand([size]).to_event(1))
    bias = numpyro.sample("bias", dist.Normal(0.0, 1.0).expand([size]).to_event(1))

    options = jnp.arange(size)
    scores = jnp.exp(log_scale)[None, :] * readings.logits / temperature + bias[None, :]
    stated = jax.nn.softmax(scores, axis=1)
    distance = options[None, :] - (gain * (stated @ options) + offset)[:, None]
    profile = jax.nn.softmax(-concentration * distance**2, axis=1)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

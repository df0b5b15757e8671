r"""Cumulative-probit channel: cut points divide a noisy latent quality into the options.

.. math:: \hat p(z) = \rho\, \Bigl[\Phi\bigl(\tfrac{z + 1/2 - c}{\sigma}\bigr)
   - \Phi\bigl(\tfrac{z - 1/2 - c}{\sigma}\bigr)\Bigr] + (1 - \rho)\, \pi(z), \qquad
   c = s\, m(x) + d

where the first option has no lower cut point and the last no upper one. Parameters: ``temperature``
tau (divides the logits), ``offset`` d (classes), ``gain`` s, ``spread`` sigma, ``strength`` rho.

Unlike a kernel on the options, all noise beyond an end of the scale adds to the end option, as in
human ratings (McKelvey and Zavoina 1975, J. Math. Sociology 4). Order is kept, because every
cumulative probability decreases with c.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import erfc

PARAMETERS = {
    "spread": "standard deviation, in classes, of labels before they are cut into options"
}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the five parameters; observe the labels."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    spread = numpyro.sample("spread", dist.LogNormal(jnp.log(0.5), 0.75))
    log_odds = numpyro.sample("strength_log_odds", dist.Normal(jnp.log(19.0), 2.0))
    numpyro.deterministic("strength", jax.nn.sigmoid(log_odds))

    options = jnp.arange(readings.logits.shape[1])
    mean = jax.nn.softmax(readings.logits / temperature, axis=1) @ options
    # The ends lie far out, and not at infinity, where gradients are no numbers.
    edges = jnp.concatenate([jnp.array([-1e3]), options[1:] - 0.5, jnp.array([1e3])])
    cuts = (edges[None, :] - (gain * mean + offset)[:, None]) / (spread * jnp.sqrt(2.0))
    low, high = cuts[:, :-1], cuts[:, 1:]
    # Of the tails beyond both cuts the smaller ones are subtracted, which keep their digits.
    near, far = jnp.where(low > 0, low, -high), jnp.where(low > 0, high, -low)
    profile = (erfc(near) - erfc(far)) / 2
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[None, :]
    with numpyro.plate("texts", len(profile)):
        probs = jax.nn.sigmoid(log_odds) * profile + share
        numpyro.sample("label", dist.Categorical(probs=probs), obs=labels)

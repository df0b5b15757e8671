r"""Cumulative-probit channel: a latent quality, seen with Gaussian noise, is cut into the options.

.. math:: \hat p(z) = \rho\, \Bigl[\Phi\bigl(\tfrac{z + 1/2 - c}{\sigma}\bigr)
   - \Phi\bigl(\tfrac{z - 1/2 - c}{\sigma}\bigr)\Bigr] + (1 - \rho)\, \pi(z), \qquad
   c = s\, m(x) + d

in which the first option has no lower cut and the last no upper one.  Parameters: ``temperature``
tau (a factor on the logits), ``offset`` d (classes), ``gain`` s, ``spread`` sigma, ``strength``
rho.

Unlike a kernel on the options, the noise carries all that lies beyond an end into that end, so that
the end options collect labels as they do when people rate (McKelvey and Zavoina 1975, J. Math.
Sociology 4).  Order is kept: every cumulative probability falls in c.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import ndtr

from cordial_ppl import expected, observe, sample_log_odds, softmax

PARAMETERS = {
    "spread": "standard deviation, in classes, of labels before they are cut into options"
}
"""What its own parameter means, as a summary and a report put it."""


def model(readings, labels=None):
    """Sample the five parameters and state the probabilities; options first, texts last inside."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    spread = numpyro.sample("spread", dist.LogNormal(jnp.log(0.5), 0.75))
    log_odds = sample_log_odds("strength", jnp.log(19.0), 2.0)

    options = jnp.arange(readings.logits.shape[-1], dtype=readings.logits.dtype)
    reading = softmax(readings.logits.T / temperature)
    centre = gain * expected(reading) + offset
    cuts = ((options[1:] - 0.5)[:, None] - centre[None, :]) / spread
    # Above the mean the upper tails are subtracted, which are small and keep their digits.
    below, above, none = ndtr(cuts), ndtr(-cuts), jnp.zeros((1, *centre.shape), centre.dtype)
    upper, lower = jnp.concatenate([below, none + 1]), jnp.concatenate([none, below])
    tail, beyond = jnp.concatenate([none + 1, above]), jnp.concatenate([above, none])
    high = jnp.concatenate([cuts, cuts[-1:]]) + jnp.concatenate([cuts[:1], cuts]) > 0
    profile = jnp.where(high, tail - beyond, upper - lower)
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[:, None]
    observe(None, labels, probs=(jax.nn.sigmoid(log_odds) * profile + share).T)

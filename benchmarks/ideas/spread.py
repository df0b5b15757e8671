r"""Location channel that trusts a reading less where the prompts that it is averaged over disagree.

.. math:: \hat p(z) = \rho\, g(z) + (1 - \rho)\, \pi(z), \qquad
   g(z) \propto \exp[-\kappa e^{-\beta s} (z - c)^2], \quad c = s\, m(x) + d

The covariate ``spread`` is the standard deviation over prompts of the expected class, in classes.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from cordial_ppl import expected, observe, sample_log_odds, softmax

EXAMPLES = {"spread": (0, 1)}


def model(readings, labels=None):
    """Sample the six parameters and state the probabilities; options first, texts last inside."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    gain = numpyro.sample("gain", dist.LogNormal(0.0, 0.5))
    concentration = numpyro.sample("concentration", dist.LogNormal(jnp.log(4.0), 1.5))
    doubt = numpyro.sample("doubt", dist.Normal(0.0, 1.0))
    log_odds = sample_log_odds("strength", jnp.log(19.0), 2.0)

    options = jnp.arange(readings.logits.shape[-1], dtype=readings.logits.dtype)
    centre = gain * expected(softmax(readings.logits.T / temperature)) + offset
    sharpness = concentration * jnp.exp(doubt * -readings.covariates["spread"])
    profile = softmax(-(sharpness * (options[:, None] - centre[None, :]) ** 2))
    share = jax.nn.sigmoid(-log_odds) * readings.histogram[:, None]
    observe(None, labels, probs=(jax.nn.sigmoid(log_odds) * profile + share).T)

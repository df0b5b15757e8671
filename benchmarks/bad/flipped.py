"""The reading upside down, and believed: a channel that predicts badly."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from cordial_ppl import observe


def model(readings, labels=None):
    """Softmax of the logits in the wrong order."""
    temperature = numpyro.sample("temperature", dist.LogNormal(jnp.log(2.0), 0.5))
    observe(jax.nn.log_softmax(readings.logits[:, ::-1] / temperature, axis=1), labels)

"""The reading nearly as it is, and believed: a channel that is far too sure."""

import jax
import numpyro
import numpyro.distributions as dist

from cordial_ppl import observe


def model(readings, labels=None):
    """Softmax of the logits at a temperature near one."""
    temperature = numpyro.sample("temperature", dist.LogNormal(0.0, 0.3))
    observe(jax.nn.log_softmax(readings.logits / temperature, axis=1), labels)

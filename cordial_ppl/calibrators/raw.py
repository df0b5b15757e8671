"""The raw reading: what the reader says, taken at its word."""

import jax.numpy as jnp
from jaxtyping import Int

from cordial_ppl.arrays import AnyArray, Logits
from cordial_ppl.calibrators.temperature import Temperature


def fit_raw(logits: Logits, labels: Int[AnyArray, " n"]) -> Temperature:
    """Learn nothing: the prediction is `softmax(logits)`, temperature scaling with `tau = 1`.

    Args:
        logits: readings `[n, K]`, nats.
        labels: not looked at.

    Returns:
        The temperature one.
    """
    del labels
    return Temperature(jnp.ones((), jnp.asarray(logits).dtype))

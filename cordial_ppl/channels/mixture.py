r"""Mixture form of the affine channel: every option that the reader states is moved and spread.

.. math:: \hat p(z) = \rho \sum_y q(y \mid x)\, G(z \mid s y + d) + (1 - \rho)\, \pi(z)

It keeps the shape of the reading (Eq. 3 of the paper); ``d = 0``, ``s = 1`` and a large
concentration recover the scalar channel, which only trusts or distrusts the reader.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.channel import observe
from cordial_ppl.channels.kernel import blend, kernel, reading, spread
from cordial_ppl.channels.parameters import (
    Affine,
    sample_affine,
    sample_temperature,
    sample_vector_scaling,
)
from cordial_ppl.readings import Readings


def mixture_probs(
    probs: Float[Array, "K n"], affine: Affine, histogram: Float[Array, " K"]
) -> Float[Array, "K n"]:
    """Probabilities of the mixture form for given parameters (Eq. 3).

    Args:
        probs: the reading q, shape ``[K, n]``.
        affine: offset, gain, concentration and strength.
        histogram: smoothed label histogram pi.
    """
    size = histogram.shape[0]
    centres = affine.gain * jnp.arange(size, dtype=histogram.dtype) + affine.offset
    moved = spread(kernel(centres, affine.concentration, size), probs)
    return blend(moved, histogram, affine.strength_log_odds)


def mixture(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Mixture channel on the temperature reading: five parameters."""
    temperature = sample_temperature()
    affine = sample_affine()
    probs = reading(readings.logits, temperature)
    observe(None, labels, probs=[*mixture_probs(probs, affine, readings.histogram)])


def mixture_vector(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Mixture channel on the vector-scaled reading: 5 + 2K parameters."""
    temperature = sample_temperature()
    affine = sample_affine()
    vector = sample_vector_scaling(readings.logits.shape[-1])
    probs = reading(readings.logits, temperature, vector)
    observe(None, labels, probs=[*mixture_probs(probs, affine, readings.histogram)])

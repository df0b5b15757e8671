r"""Location form of the affine channel: only the reading's mean is used.

.. math:: \hat p(z) = \rho\, G(z \mid s\, m(x) + d) + (1 - \rho)\, \pi(z),
   \qquad m(x) = \sum_y y\, q(y \mid x)

It is unimodal (Eq. 4 of the paper), which suits labels that are rounded averages.
"""

from jaxtyping import Array, Float, Int

from cordial_ppl.channel import observe
from cordial_ppl.channels.kernel import blend, expected, kernel, reading
from cordial_ppl.channels.parameters import (
    Affine,
    sample_affine,
    sample_temperature,
    sample_vector_scaling,
)
from cordial_ppl.readings import Readings


def location_probs(
    probs: Float[Array, "K n"], affine: Affine, histogram: Float[Array, " K"]
) -> Float[Array, "K n"]:
    """Probabilities of the location form for given parameters (Eq. 4).

    Args:
        probs: the reading q, shape ``[K, n]``.
        affine: offset, gain, concentration and strength.
        histogram: smoothed label histogram pi.
    """
    size = histogram.shape[0]
    centres = affine.gain * expected(probs) + affine.offset
    placed = kernel(centres, affine.concentration, size)
    return blend(placed, histogram, affine.strength_log_odds)


def location(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Location channel on the temperature reading: five parameters."""
    temperature = sample_temperature()
    affine = sample_affine()
    probs = reading(readings.logits, temperature)
    observe(None, labels, probs=[*location_probs(probs, affine, readings.histogram)])


def location_vector(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Location channel on the vector-scaled reading: 5 + 2K parameters."""
    temperature = sample_temperature()
    affine = sample_affine()
    vector = sample_vector_scaling(readings.logits.shape[-1])
    probs = reading(readings.logits, temperature, vector)
    observe(None, labels, probs=[*location_probs(probs, affine, readings.histogram)])

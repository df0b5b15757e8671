r"""Scalar channel: it trusts or distrusts the reader, and cannot move mass along the scale.

.. math:: \hat p(z) = \beta\, q(z \mid x) + (1 - \beta)\, \pi(z)

What the paper compares the affine channel with (Section 2.2): a reliability against the label
histogram, on a reading with a temperature or with vector scaling.
"""

from jaxtyping import Array, Int

from cordial_ppl.channel import observe
from cordial_ppl.channels.kernel import blend, reading
from cordial_ppl.channels.parameters import (
    sample_strength,
    sample_temperature,
    sample_vector_scaling,
)
from cordial_ppl.readings import Readings


def scalar(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Scalar channel on the temperature reading: two parameters."""
    temperature = sample_temperature()
    strength = sample_strength()
    probs = reading(readings.logits, temperature)
    observe(None, labels, probs=[*blend(probs, readings.histogram, strength)])


def scalar_vector(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Scalar channel on the vector-scaled reading: 2 + 2K parameters."""
    temperature = sample_temperature()
    strength = sample_strength()
    vector = sample_vector_scaling(readings.logits.shape[-1])
    probs = reading(readings.logits, temperature, vector)
    observe(None, labels, probs=[*blend(probs, readings.histogram, strength)])

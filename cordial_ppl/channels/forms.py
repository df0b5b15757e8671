r"""The paper's channels, one between its two forms, and the scalar ones it is compared with.

With ``q`` the reading, ``m(x) = sum_y y q(y | x)`` its mean, and ``G`` the kernel (Eq. 2):

.. math::
    \text{mixture (Eq. 3)} &: \rho \sum_y q(y \mid x)\, G(z \mid s y + d) + (1 - \rho)\, \pi(z) \\
    \text{location (Eq. 4)} &: \rho\, G(z \mid s\, m(x) + d) + (1 - \rho)\, \pi(z) \\
    \text{bridge} &: \rho \sum_y q(y \mid x)\,
        G_\gamma(z \mid s\, [\lambda y + (1 - \lambda)\, m(x)] + d) + (1 - \rho)\, \pi(z), \quad
        G_\gamma(z \mid c) \propto \pi(z)^\gamma\, G(z \mid c) \\
    \text{scalar} &: \rho\, q(z \mid x) + (1 - \rho)\, \pi(z)

The mixture form keeps the shape of the reading; with ``d = 0``, ``s = 1`` and a large concentration
it is the scalar channel, which trusts or distrusts the reader and cannot move mass along the scale
(Section 2.2).  The location form is unimodal, which suits labels that are rounded averages.  Which
form suits a task is a parameter of the bridge, averaged over its posterior, where a stack of the
two has to choose from a few held-out labels.  Its kernel is tilted towards the options that are
common: with a power gamma of 1 it is Bayes' rule for a Gaussian measurement of a label whose prior
is pi, with 0 it is G.  An option that nobody uses then gets little mass, however wide the kernel.

On the plain reading order is kept (Proposition 1): a higher reading raises m(x), and puts more of
its weight on higher options; the ratio of a tilted kernel at two centres does not contain pi.
Factors and biases of single options may break it.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.channels.channel import observe, sample_log_odds
from cordial_ppl.channels.kernel import blend, expected, kernel, kernels, reading, spread
from cordial_ppl.channels.parameters import (
    Affine,
    sample_affine,
    sample_strength,
    sample_temperature,
    sample_vector_scaling,
)
from cordial_ppl.data.readings import Readings

Labels = Int[Array, " n"] | None
Move = Callable[[Float[Array, "K n"], Affine], Float[Array, "K n"]]
"""From the reading, and the affine map, to where its mass goes."""


def move_each(probs: Float[Array, "K n"], affine: Affine) -> Float[Array, "K n"]:
    """The mixture form: every option that the reader states is moved and spread."""
    profiles = kernels(affine.gain, affine.offset, affine.concentration, len(probs))
    return spread(profiles, probs)


def move_mean(probs: Float[Array, "K n"], affine: Affine) -> Float[Array, "K n"]:
    """The location form: the reading's mean is moved and spread."""
    centres = affine.gain * expected(probs) + affine.offset
    return kernel(centres, affine.concentration, len(probs))


def move_between(
    probs: Float[Array, "K n"], affine: Affine, form: Float[Array, ""], tilt: Float[Array, " K"]
) -> Float[Array, "K n"]:
    """Between the two forms, 1 the mixture form and 0 the location form, with a tilted kernel."""
    base = affine.gain * (1 - form) * expected(probs) + affine.offset

    def add(option: Array, moved: Array) -> Array:
        centres = base + affine.gain * form * option.astype(base.dtype)
        return moved + probs[option][None] * kernel(centres, affine.concentration, len(probs), tilt)

    # A loop, because K copies of the kernel would take K times as long to compile.
    return jax.lax.fori_loop(0, len(probs), add, jnp.zeros_like(probs))


def _affine(readings: Readings, labels: Labels, move: Move, vector: bool) -> None:
    """The model of a form, on the temperature reading or on the vector-scaled one."""
    temperature, affine = sample_temperature(), sample_affine()
    scaling = sample_vector_scaling(readings.logits.shape[-1]) if vector else None
    moved = move(reading(readings.logits, temperature, scaling), affine)
    observe(None, labels, probs=[*blend(moved, readings.histogram, affine.strength_log_odds)])


def mixture(readings: Readings, labels: Labels = None) -> None:
    """Mixture channel on the temperature reading: five parameters."""
    _affine(readings, labels, move_each, vector=False)


def mixture_vector(readings: Readings, labels: Labels = None) -> None:
    """Mixture channel on the vector-scaled reading: 5 + 2K parameters."""
    _affine(readings, labels, move_each, vector=True)


def location(readings: Readings, labels: Labels = None) -> None:
    """Location channel on the temperature reading: five parameters."""
    _affine(readings, labels, move_mean, vector=False)


def location_vector(readings: Readings, labels: Labels = None) -> None:
    """Location channel on the vector-scaled reading: 5 + 2K parameters."""
    _affine(readings, labels, move_mean, vector=True)


def bridge(readings: Readings, labels: Labels = None) -> None:
    """Bridge channel on the vector-scaled reading: 7 + 2K parameters.

    ``logit form ~ N(0, 1.5)`` and ``logit tilt ~ N(-1, 1.5)``.
    """
    temperature, affine = sample_temperature(), sample_affine()
    form = jax.nn.sigmoid(sample_log_odds("form", 0.0, 1.5))
    power = jax.nn.sigmoid(sample_log_odds("tilt", -1.0, 1.5))
    scaling = sample_vector_scaling(readings.logits.shape[-1])
    tilt = jnp.exp(power * jnp.log(readings.histogram))
    moved = move_between(reading(readings.logits, temperature, scaling), affine, form, tilt)
    observe(None, labels, probs=[*blend(moved, readings.histogram, affine.strength_log_odds)])


def scalar(readings: Readings, labels: Labels = None, vector: bool = False) -> None:
    """Scalar channel on the temperature reading: two parameters."""
    temperature, strength = sample_temperature(), sample_strength()
    scaling = sample_vector_scaling(readings.logits.shape[-1]) if vector else None
    probs = reading(readings.logits, temperature, scaling)
    observe(None, labels, probs=[*blend(probs, readings.histogram, strength)])


def scalar_vector(readings: Readings, labels: Labels = None) -> None:
    """Scalar channel on the vector-scaled reading: 2 + 2K parameters."""
    scalar(readings, labels, vector=True)

r"""The paper's channels, one between its two forms, and the scalar ones it is compared with.

With ``q`` the reading, ``m(x) = sum_y y q(y | x)`` its mean, and ``G`` the kernel (Eq. 2):

.. math::
    \text{mixture (Eq. 3)} &: \rho \sum_y q(y \mid x)\, G(z \mid s y + d) + (1 - \rho)\, \pi(z) \\
    \text{location (Eq. 4)} &: \rho\, G(z \mid s\, m(x) + d) + (1 - \rho)\, \pi(z) \\
    \text{bridge} &: \rho \sum_y q(y \mid x)\,
        G_\gamma(z \mid s\, [\lambda y + (1 - \lambda)\, m(x)] + d) + (1 - \rho)\, \pi(z), \quad
        G_\gamma(z \mid c) \propto \pi(z)^\gamma\, G(z \mid c) \\
    \text{scalar} &: \rho\, q(z \mid x) + (1 - \rho)\, \pi(z) \\
    \text{location of readers} &: \rho\, G\big(z \mid s \textstyle\sum_r w_r m_r(x) + d\big)
        + (1 - \rho)\, \pi(z)

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

The means of several readers, :math:`m_r(x) = \sum_y y\, \mathrm{softmax}(\ell_r / \tau_r)_y`, are
averaged before the scale is mapped: R readers have R temperatures and R - 1 free weights, 2R + 3
parameters (Section 2.7 of the paper).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.channels.channel import observe
from cordial_ppl.channels.kernel import blend, expected, kernel, kernels, reading, spread
from cordial_ppl.channels.parameters import (
    Affine,
    sample,
    sample_affine,
    sample_share,
    sample_vector_scaling,
)
from cordial_ppl.data.readings import Readings

Labels = Int[Array, " n"] | None
Move = Callable[[Float[Array, "K n"], Affine], Float[Array, "K n"]]
"""From the reading, and the affine map, to where its mass goes."""


def move_each(probs: Float[Array, "K n"], affine: Affine) -> Float[Array, "K n"]:
    """The mixture form: every option that the reader states is moved and spread."""
    return spread(kernels(affine.gain, affine.offset, affine.concentration, len(probs)), probs)


def move_mean(probs: Float[Array, "K n"], affine: Affine) -> Float[Array, "K n"]:
    """The location form: the reading's mean is moved and spread."""
    return kernel(affine.gain * expected(probs) + affine.offset, affine.concentration, len(probs))


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
    temperature, affine = sample("temperature"), sample_affine()
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
    """Bridge channel on the vector-scaled reading: 7 + 2K parameters."""
    temperature, affine = sample("temperature"), sample_affine()
    form = jax.nn.sigmoid(sample_share("form"))
    tilt = jnp.exp(jax.nn.sigmoid(sample_share("tilt")) * jnp.log(readings.histogram))
    scaling = sample_vector_scaling(readings.logits.shape[-1])
    moved = move_between(reading(readings.logits, temperature, scaling), affine, form, tilt)
    observe(None, labels, probs=[*blend(moved, readings.histogram, affine.strength_log_odds)])


def scalar(readings: Readings, labels: Labels = None, vector: bool = False) -> None:
    """Scalar channel on the temperature reading: two parameters."""
    temperature, strength = sample("temperature"), sample_share("strength")
    scaling = sample_vector_scaling(readings.logits.shape[-1]) if vector else None
    probs = reading(readings.logits, temperature, scaling)
    observe(None, labels, probs=[*blend(probs, readings.histogram, strength)])


def scalar_vector(readings: Readings, labels: Labels = None) -> None:
    """Scalar channel on the vector-scaled reading: 2 + 2K parameters."""
    scalar(readings, labels, vector=True)


def reader_weights(contrast: Float[Any, "... free"]) -> Float[Array, "... R"]:
    """Weights on the simplex, ``softmax(V a)``; the columns of V are orthonormal and sum to zero.

    Column j of V contrasts reader j + 1 with the average of those before it (Helmert).

    Args:
        contrast: the R - 1 free coordinates a.
    """
    from scipy.linalg import helmert  # Slow to import.

    contrast = jnp.asarray(contrast)
    basis = jnp.asarray(helmert(contrast.shape[-1] + 1), contrast.dtype)
    return jax.nn.softmax(contrast @ basis, axis=-1)


def location_readers(readings: Readings, labels: Labels = None) -> None:
    """Location channel of R readers: 2R + 3 parameters.

    Each reader has a temperature, their weights R - 1 contrasts.  A reader with NaN for a text has
    not read it: the others' weights are scaled to sum to one.
    """
    texts, readers, size = readings.logits.shape
    temperature = sample("temperature", readers)
    weights = jnp.ones(1, readings.logits.dtype)
    if readers > 1:
        weights = reader_weights(sample("contrast", readers - 1))
    affine = sample_affine()
    present = ~jnp.isnan(readings.logits[:, :, 0]).T
    # The readings of all readers in one long row: the program has the same size for every R.
    logits = jnp.where(present[:, :, None], readings.logits.swapaxes(0, 1), 0.0)
    rows = reading(logits.reshape(readers * texts, size), jnp.repeat(temperature, texts))
    means = expected(rows).reshape(readers, texts)
    shares = jnp.where(present, weights[:, None], 0.0)
    average = jnp.sum(shares * means, axis=0) / jnp.sum(shares, axis=0)
    placed = kernel(affine.gain * average + affine.offset, affine.concentration, size)
    observe(None, labels, probs=[*blend(placed, readings.histogram, affine.strength_log_odds)])

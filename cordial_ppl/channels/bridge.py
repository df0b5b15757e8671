r"""Both forms of the affine channel in one: what is moved lies between each option and the mean.

.. math:: \hat p(z) = \rho \sum_y q(y \mid x)\, G(z \mid c_{xy}) + (1 - \rho)\, \pi(z),
   \qquad c_{xy} = s\, [\lambda y + (1 - \lambda)\, m(x)] + d

With the form ``lambda = 1`` it is the mixture form, with 0 the location form (Eqs. 3 and 4 of the
paper).  Which of them suits a task is then a parameter like the others, averaged over its
posterior, where a stack of the two has to choose from a few held-out labels.

On the plain reading order is kept (Proposition 1): a higher reading raises m(x), and with it every
c, and puts more of its weight on higher options.  Factors and biases of single options may break
it, as in the paper's vector-scaled channels.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.channel import observe, sample_log_odds
from cordial_ppl.channels.kernel import blend, expected, kernel, reading
from cordial_ppl.channels.parameters import (
    Affine,
    sample_affine,
    sample_temperature,
    sample_vector_scaling,
)
from cordial_ppl.readings import Readings


def bridge_probs(
    probs: Float[Array, "K n"],
    form: Float[Array, ""],
    affine: Affine,
    histogram: Float[Array, " K"],
) -> Float[Array, "K n"]:
    """Probabilities between the two forms for given parameters.

    Args:
        probs: the reading q, shape ``[K, n]``.
        form: lambda, 1 for the mixture and 0 for the location form.
        affine: offset, gain, concentration and strength.
        histogram: smoothed label histogram pi.
    """
    size = len(probs)
    base = affine.gain * (1 - form) * expected(probs) + affine.offset
    slope = affine.gain * form

    def add(option: Array, moved: Array) -> Array:
        centres = base + slope * option.astype(base.dtype)
        return moved + probs[option][None] * kernel(centres, affine.concentration, size)

    # A loop, because K copies of the kernel would take K times as long to compile.
    moved = jax.lax.fori_loop(0, size, add, jnp.zeros_like(probs))
    return blend(moved, histogram, affine.strength_log_odds)


def bridge(readings: Readings, labels: Int[Array, " n"] | None = None) -> None:
    """Bridge channel on the vector-scaled reading: 6 + 2K parameters.

    ``logit form ~ N(0, 1.5)``; the others as in the paper's channels.
    """
    temperature = sample_temperature()
    affine = sample_affine()
    form = jax.nn.sigmoid(sample_log_odds("form", 0.0, 1.5))
    vector = sample_vector_scaling(readings.logits.shape[-1])
    probs = reading(readings.logits, temperature, vector)
    observe(None, labels, probs=[*bridge_probs(probs, form, affine, readings.histogram)])

r"""Location channel of several readers: their means are averaged before the scale is mapped.

.. math:: \hat p(z) = \rho\, G\big(z \mid s \textstyle\sum_r w_r m_r(x) + d\big)
   + (1 - \rho)\, \pi(z), \qquad m_r(x) = \sum_y y\, \mathrm{softmax}(\ell_r / \tau_r)_y

R readers have R temperatures and R - 1 free weights: 2R + 3 parameters (Section 2.7 of the paper).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int
from scipy.linalg import helmert

from cordial_ppl.channels.channel import observe
from cordial_ppl.channels.kernel import blend, expected, kernel, reading
from cordial_ppl.channels.parameters import sample_affine
from cordial_ppl.data.readings import Readings


def reader_weights(contrast: Float[Any, "... free"]) -> Float[Array, "... R"]:
    """Weights on the simplex, ``softmax(V a)``; the columns of V are orthonormal and sum to zero.

    Column j of V contrasts reader j + 1 with the average of those before it (Helmert).

    Args:
        contrast: the R - 1 free coordinates a.
    """
    contrast = jnp.asarray(contrast)
    basis = jnp.asarray(helmert(contrast.shape[-1] + 1), contrast.dtype)
    return jax.nn.softmax(contrast @ basis, axis=-1)


def location_readers(readings: Readings, labels: Int[Any, " n"] | None = None) -> None:
    """Location channel of R readers: 2R + 3 parameters.

    ``temperature ~ LogNormal(log 2, 1)`` for each reader, ``contrast ~ N(0, 1)`` in R - 1
    dimensions, and the parameters of the affine map.  A reader with NaN for a text has not read it:
    the others' weights are scaled to sum to one.
    """
    texts, readers, size = readings.logits.shape
    temperature = numpyro.sample(
        "temperature", dist.LogNormal(jnp.log(2.0), 1.0).expand([readers]).to_event(1)
    )
    weights = jnp.ones(1, readings.logits.dtype)
    if readers > 1:
        contrast = numpyro.sample(
            "contrast", dist.Normal(0.0, 1.0).expand([readers - 1]).to_event(1)
        )
        weights = reader_weights(contrast)
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

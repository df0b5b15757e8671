"""The pieces that both forms of the affine channel are built from.

A distribution over the options is an array ``[K, n]``, options first and texts last.  Sums over
the few options are written out, and barriers keep the compiler from computing an exponential once
for each sum that it enters: a channel is then a few short loops over texts, which compile and run
faster than ``[n, K]`` arrays reduced along their short axis.

Probabilities are sums of positive terms: nothing cancels and every digit is kept; a term that
underflows is far below the label histogram's share, which bounds each probability away from zero.
"""

from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import optimization_barrier
from jax.nn import sigmoid
from jaxtyping import Array, Float

from cordial_ppl.channels.parameters import VectorParameters
from cordial_ppl.runtime.arrays import AnyArray

MOST_WRITTEN_OUT = 16
"""Options beyond which a sum over them is a reduction: it compiles faster."""


def reading(
    logits: Float[Array, "n K"],
    temperature: Float[Array, "*one_each"],
    vector: VectorParameters | None = None,
) -> Float[Array, "K n"]:
    r"""Distribution that the reader states, ``q = softmax(exp(eps) * l / tau + b)``.

    Without ``vector`` this is the temperature reading ``softmax(l / tau)`` (Section 2.1).

    Args:
        logits: centred option logits, shape ``[n, K]``.
        temperature: tau > 0; or one for each row, shape ``[n]``.
        vector: per-option log scales and biases, or None.

    Returns:
        Probabilities, shape ``[K, n]``.
    """
    if vector is None:
        return softmax(logits.T / jnp.reshape(temperature, (1, -1)))
    scale = jnp.exp(vector.log_scale) / temperature
    return softmax(scale[:, None] * logits.T + vector.bias[:, None])


def kernel(
    centres: Float[Array, "*n"],
    concentration: Float[Array, ""],
    size: int,
    tilt: Float[Array, " K"] | None = None,
) -> Float[Array, "K *n"]:
    r"""Gaussian profile on the scale around each centre (Eq. 2).

    .. math:: G(z \mid c) = \exp[-\kappa (z - c)^2] / \sum_v \exp[-\kappa (v - c)^2]

    Args:
        centres: where on the scale the profile is centred, in classes.
        concentration: kappa > 0, in 1 / classes^2.
        size: number of options K.
        tilt: factor of each option before all are normalised; one by default.

    Returns:
        Probabilities, of the centres' shape with the options in front.
    """
    centres = optimization_barrier(centres)[None]
    options = jnp.arange(size, dtype=centres.dtype).reshape(-1, *(1 for _ in centres.shape[1:]))
    terms = _terms(options, centres, concentration, size)
    if tilt is not None:
        terms = optimization_barrier(terms * tilt.reshape(options.shape))
    return terms * (1 / _total(terms))[None]


def kernels(
    gain: Float[Array, ""], offset: Float[Array, ""], concentration: Float[Array, ""], size: int
) -> Float[Array, "K K"]:
    """Profiles around the places ``gain * y + offset`` of all options y, a column for each.

    Arguments are those of `kernel`, with the affine map of the scale in place of centres.
    """
    # In one row, which the compiler vectorises, where rows of K are too short.
    options, stated = np.divmod(np.arange(size**2, dtype=concentration.dtype), size)
    terms = _terms(options, gain * stated + offset, concentration, size).reshape(size, size)
    return terms * (1 / _total(terms))[None]


def _terms(
    options: Float[AnyArray, "*#places"],
    centres: Float[Array, "*#places"],
    concentration: Float[Array, ""],
    size: int,
) -> Float[Array, "*places"]:
    """Profiles around centres, by the probability of the nearest option."""
    nearest = jnp.clip(jnp.round(centres), 0, size - 1)
    # Squared distances less that of the nearest option, factored so that none comes out negative:
    # zero at that option, so that the largest term is one.
    excess = (options - nearest) * (options + nearest - 2 * centres)
    return optimization_barrier(jnp.exp(-concentration * excess))


@jax.custom_jvp
def softmax(scores: Float[AnyArray, "K *n"]) -> Float[Array, "K *n"]:
    r"""Softmax over the options, :math:`e^{x_k} / \sum_j e^{x_j}`, fast for many draws at a time.

    Args:
        scores: options first, nats.

    Returns:
        Probabilities, of the same shape.
    """
    # Computed once: of scores of 1e10, computed anew and rounded another way, the largest would not
    # be zero less itself, but a thousand.
    scores, few = optimization_barrier(jnp.asarray(scores)), len(scores) <= MOST_WRITTEN_OUT
    largest = reduce(jnp.maximum, scores) if few else jnp.max(scores, axis=0)
    terms = optimization_barrier(jnp.exp(scores - largest[None]))
    return terms * (1 / _total(terms))[None]


@softmax.defjvp
def _softmax_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The derivative by the probabilities themselves, which do not overflow."""
    probs, (change,) = softmax(*primals), tangents
    return probs, probs * (change - _total(probs * change)[None])


def expected(probs: Float[AnyArray, "K *n"]) -> Float[Array, "*n"]:
    r"""Expected class, :math:`\sum_k k\, p_k`, of distributions over the options.

    Args:
        probs: probabilities, options first.

    Returns:
        Positions on the scale, in classes.
    """
    probs = jnp.asarray(probs)
    options = jnp.arange(len(probs), dtype=probs.dtype)
    return _total(options.reshape(-1, *(1 for _ in probs.shape[1:])) * probs)


def spread(profiles: Float[Array, "K K"], probs: Float[Array, "K n"]) -> Float[Array, "K n"]:
    r"""Sum over the stated options, :math:`\sum_y G(z \mid y)\, q(y)`.

    Args:
        profiles: where the mass of each stated option goes, a column a stated option.
        probs: the reading q, shape ``[K, n]``.

    Returns:
        Probabilities, shape ``[K, n]``.
    """
    if len(probs) > MOST_WRITTEN_OUT:
        return profiles @ probs
    return reduce(add, [profiles[:, y, None] * column[None] for y, column in enumerate(probs)])


def blend(
    probs: Float[Array, "K n"], histogram: Float[Array, " K"], log_odds: Float[Array, ""]
) -> Float[Array, "K n"]:
    r"""Strength-weighted mixture with the label histogram.

    .. math:: \rho\, p(z) + (1 - \rho)\, \pi(z), \qquad \rho = 1 / (1 + e^{-u})

    Args:
        probs: the channel's distribution of each text, shape ``[K, n]``.
        histogram: smoothed label histogram pi.
        log_odds: u, the log odds of the strength rho.

    Returns:
        Probabilities, shape ``[K, n]``.
    """
    return sigmoid(log_odds) * probs + (sigmoid(-log_odds) * histogram)[:, None]


def _total(values: Float[Array, "K *n"]) -> Float[Array, "*n"]:
    return reduce(add, values) if len(values) <= MOST_WRITTEN_OUT else jnp.sum(values, axis=0)

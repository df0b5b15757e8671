"""The pieces that both forms of the affine channel are built from.

A distribution over the options is an array ``[K, n]``, options first and texts last.  Sums over
the few options are written out, and barriers keep the compiler from computing an exponential once
for each sum that it enters: a channel is then a few short loops over texts, which compile in a
tenth of the time of ``[n, K]`` arrays reduced along their short axis, and run several times faster.

Probabilities are sums of positive terms: nothing cancels and every digit is kept; a term that
underflows is far below the label histogram's share, which bounds each probability away from zero.
"""

from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
from jax.lax import optimization_barrier
from jax.nn import sigmoid
from jaxtyping import Array, Float

from cordial_ppl.channels.parameters import VectorParameters

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
    stated = logits.T
    if vector is None:
        # With their maximum at zero before they are scaled, the largest term is one exactly.
        return softmax((stated - _largest(stated)[None]) / jnp.reshape(temperature, (1, -1)))
    scale = jnp.exp(vector.log_scale) / temperature
    scaled = scale[:, None] * stated + vector.bias[:, None]
    # A softmax does not depend on what is subtracted, so neither do its derivatives.
    return softmax(scaled - jax.lax.stop_gradient(_largest(scaled))[None])


def kernel(
    centres: Float[Array, "*n"], concentration: Float[Array, ""], size: int
) -> Float[Array, "K *n"]:
    r"""Gaussian profile on the scale around each centre (Eq. 2).

    .. math:: G(z \mid c) = \exp[-\kappa (z - c)^2] / \sum_v \exp[-\kappa (v - c)^2]

    Args:
        centres: where on the scale the profile is centred, in classes.
        concentration: kappa > 0, in 1 / classes^2.
        size: number of options K.

    Returns:
        Probabilities, of the centres' shape with the options in front.
    """
    centres = optimization_barrier(centres)
    nearest = jnp.clip(jnp.round(centres), 0, size - 1)[None]
    options = jnp.arange(size, dtype=centres.dtype).reshape(-1, *(1 for _ in centres.shape))
    # Squared distances less that of the nearest option, factored so that none comes out negative.
    excess = (options - nearest) * (options + nearest - 2 * centres[None])
    return softmax(-concentration * excess)


def softmax(scores: Float[Array, "K *n"]) -> Float[Array, "K *n"]:
    """Softmax over the options of scores whose largest is about zero."""
    terms = optimization_barrier(jnp.exp(scores))
    return terms * (1 / total(terms))[None]


def total(values: Float[Array, "K *n"]) -> Float[Array, "*n"]:
    """Sum over the options."""
    return reduce(add, values) if _few(values) else jnp.sum(values, axis=0)


def mean(probs: Float[Array, "K n"]) -> Float[Array, " n"]:
    """Expected class of each text, in classes."""
    return total(jnp.arange(len(probs), dtype=probs.dtype)[:, None] * probs)


def spread(profiles: Float[Array, "K K"], probs: Float[Array, "K n"]) -> Float[Array, "K n"]:
    r"""Sum over the stated options, :math:`\sum_y G(z \mid y)\, q(y)`.

    Args:
        profiles: where the mass of each stated option goes, a column a stated option.
        probs: the reading q, shape ``[K, n]``.

    Returns:
        Probabilities, shape ``[K, n]``.
    """
    if not _few(probs):
        return profiles @ probs
    return reduce(add, [profiles[:, y, None] * own[None] for y, own in enumerate(probs)])


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


def _largest(values: Float[Array, "K n"]) -> Float[Array, " n"]:
    return reduce(jnp.maximum, values) if _few(values) else jnp.max(values, axis=0)


def _few(values: Array) -> bool:
    return len(values) <= MOST_WRITTEN_OUT

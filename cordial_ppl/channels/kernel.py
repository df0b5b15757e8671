"""The pieces that both forms of the affine channel are built from.

A distribution over the options is K rows, one for each option with a number for each text.  Sums
over the few options are written out and barriers part what is computed once for each text from what
is computed once for each draw: the compiler then makes a few long loops over texts of a whole
channel, which is three times as fast as arrays whose short axis is summed.

Probabilities are sums of positive terms: nothing cancels and every digit is kept; a term that
underflows is far below the label histogram's share, which bounds each probability away from zero.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
from jax.lax import optimization_barrier
from jax.nn import sigmoid
from jaxtyping import Array, Float

from cordial_ppl.channels.parameters import VectorParameters

MOST_WRITTEN_OUT = 16
"""Options beyond which a sum over pairs of them is a matrix product: it compiles faster."""

Rows = Sequence[Float[Array, "*all n"]]


def reading(
    logits: Float[Array, "n K"],
    temperature: Float[Array, "*one_each"],
    vector: VectorParameters | None = None,
) -> Rows:
    r"""Distribution that the reader states, ``q = softmax(exp(eps) * l / tau + b)``.

    Without ``vector`` this is the temperature reading ``softmax(l / tau)`` (Section 2.1).

    Args:
        logits: centred option logits, shape ``[n, K]``.
        temperature: tau > 0; or one for each row, shape ``[n]``.
        vector: per-option log scales and biases, or None.

    Returns:
        Probabilities, K rows of shape ``[n]``.
    """
    # Barriers lay each option's logits side by side in memory, once for all draws.
    if vector is None:
        # With their maximum at zero before they are scaled, the largest term is one exactly.
        shifted = optimization_barrier([*(logits - jnp.max(logits, axis=1, keepdims=True)).T])
        return softmax([row / temperature for row in shifted])
    scales = jnp.exp(vector.log_scale) / temperature
    scaling = zip(optimization_barrier([*logits.T]), scales, vector.bias, strict=True)
    scaled = [scale * row + bias for row, scale, bias in scaling]
    # A softmax does not depend on what is subtracted, so neither do its derivatives.
    largest = optimization_barrier(jax.lax.stop_gradient(reduce(jnp.maximum, scaled)))
    return softmax([row - largest for row in scaled])


def kernel(centres: Float[Array, "*all n"], concentration: Float[Array, ""], size: int) -> Rows:
    r"""Gaussian profile on the scale around each centre (Eq. 2).

    .. math:: G(z \mid c) = \exp[-\kappa (z - c)^2] / \sum_v \exp[-\kappa (v - c)^2]

    Args:
        centres: where on the scale the profile is centred, in classes.
        concentration: kappa > 0, in 1 / classes^2.
        size: number of options K.

    Returns:
        Probabilities, K rows of the centres' shape.
    """
    centres = optimization_barrier(centres)
    nearest = jnp.clip(jnp.round(centres), 0, size - 1)
    # Squared distances less that of the nearest option, factored so that none comes out negative.
    excess = [(option - nearest) * (option + nearest - 2 * centres) for option in range(size)]
    return softmax([-concentration * square for square in excess])


def softmax(rows: Rows) -> Rows:
    """Softmax over the options, of rows whose largest is about zero."""
    terms = [jnp.exp(row) for row in rows]
    scale = 1 / reduce(add, terms)
    return [term * scale for term in terms]


def mean(rows: Rows) -> Float[Array, " n"]:
    """Expected class of each text, in classes."""
    return reduce(add, [option * row for option, row in enumerate(rows)])


def spread(profiles: Sequence[Float[Array, " K"]], rows: Rows) -> Rows:
    r"""Sum over the stated options, :math:`\sum_y G(z \mid y)\, q(y)`.

    Args:
        profiles: where the mass of each stated option goes, K rows of shape ``[K]``.
        rows: the reading q, K rows of shape ``[n]``.

    Returns:
        Probabilities, K rows of shape ``[n]``.
    """
    if len(rows) > MOST_WRITTEN_OUT:
        return list(jnp.stack(profiles) @ jnp.stack(rows))
    # Without the barrier the sums over texts in a gradient are repeated for every parameter.
    shares = optimization_barrier([list(profile) for profile in profiles])
    rows = _apart(list(rows))
    return [
        reduce(add, [share * row for share, row in zip(own, rows, strict=True)]) for own in shares
    ]


def blend(rows: Rows, histogram: Float[Array, " K"], log_odds: Float[Array, ""]) -> Rows:
    r"""Strength-weighted mixture with the label histogram.

    .. math:: \rho\, p(z) + (1 - \rho)\, \pi(z), \qquad \rho = 1 / (1 + e^{-u})

    Args:
        rows: the channel's distribution of each text, K rows of shape ``[n]``.
        histogram: smoothed label histogram pi.
        log_odds: u, the log odds of the strength rho.

    Returns:
        Probabilities, K rows of shape ``[n]``.
    """
    strength, shares = sigmoid(log_odds), sigmoid(-log_odds) * histogram
    return [strength * row + share for row, share in zip(rows, shares, strict=True)]


@jax.custom_jvp
def _apart(rows: list[Float[Array, " n"]]) -> list[Float[Array, " n"]]:
    """The same rows, computed once where they are differentiated.

    For few fits at a time the compiler would rather repeat them for every sum they are part of,
    which makes second derivatives three times as slow; without derivatives it does well.
    """
    return rows


@_apart.defjvp
def _apart_jvp(primals: tuple, tangents: tuple) -> tuple:
    return optimization_barrier(primals[0]), optimization_barrier(tangents[0])

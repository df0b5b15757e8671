"""The pieces that both forms of the affine channel are built from.

Options come first and texts last, ``[K, n]``: the long axis is contiguous.  Probabilities are sums
of positive terms, so nothing cancels and every digit is kept; a term that underflows is far below
the label histogram's share, which bounds each probability away from zero.
"""

import jax
import jax.numpy as jnp
from jax.nn import sigmoid
from jaxtyping import Array, Float

from cordial_ppl.channels.parameters import VectorScaling


def reading(
    logits: Float[Array, "n K"],
    temperature: Float[Array, ""],
    vector: VectorScaling | None = None,
) -> Float[Array, "K n"]:
    r"""Distribution that the reader states, ``q = softmax(exp(eps) * l / tau + b)``.

    Without ``vector`` this is the temperature reading ``softmax(l / tau)`` (Section 2.1).

    Args:
        logits: centred option logits, shape ``[n, K]``.
        temperature: tau > 0.
        vector: per-option log scales and biases, or None.

    Returns:
        Probabilities, options first, shape ``[K, n]``.
    """
    tempered = logits.T / temperature
    if vector is not None:
        tempered = jnp.exp(vector.log_scale)[:, None] * tempered + vector.bias[:, None]
    return jax.nn.softmax(tempered, axis=0)


def kernel(
    centres: Float[Array, " m"], concentration: Float[Array, ""], size: int
) -> Float[Array, "K m"]:
    r"""Gaussian profile on the scale, one column for each centre (Eq. 2).

    .. math:: G(z \mid c) = \exp[-\kappa (z - c)^2] / \sum_v \exp[-\kappa (v - c)^2]

    Args:
        centres: where on the scale the profile is centred, in classes.
        concentration: kappa > 0, in 1 / classes^2.
        size: number of options K.
    """
    options = jnp.arange(size, dtype=centres.dtype)
    distance = options[:, None] - centres[None, :]
    return jax.nn.softmax(-concentration * distance**2, axis=0)


def blend(
    probs: Float[Array, "K n"],
    histogram: Float[Array, " K"],
    log_odds: Float[Array, ""],
) -> Float[Array, "n K"]:
    r"""Strength-weighted mixture with the label histogram, texts first.

    .. math:: \rho\, p(z) + (1 - \rho)\, \pi(z), \qquad \rho = 1 / (1 + e^{-u})

    Args:
        probs: the channel's distribution of each text, options first.
        histogram: smoothed label histogram pi.
        log_odds: u, the log odds of the strength rho.
    """
    mixed = sigmoid(log_odds) * probs + sigmoid(-log_odds) * histogram[:, None]
    return mixed.T

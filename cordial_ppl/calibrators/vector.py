"""Vector scaling: a weight and a bias for each option's logit."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import AnyArray, Logits, LogProbabilities
from cordial_ppl.inference.newton import minimise

RIDGE = 1e-3
"""Default pull toward the reading as it is; without it a class that is missing has no optimum."""


class Vector(NamedTuple):
    """Fitted weights (one: as read) and biases (nats; zero: as read) of the options."""

    weights: Float[AnyArray, " K"]
    bias: Float[AnyArray, " K"]


def fit_vector(logits: Logits, labels: Int[AnyArray, " n"], ridge: float = RIDGE) -> Vector:
    """Fit `softmax(w * logits + b)` by ridge-penalised maximum likelihood.

    Minimises the strictly convex `mean log loss + ridge / 2 (|w - 1|^2 + |b|^2)`.

    Args:
        logits: readings `[n, K]`, nats.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.
        ridge: strength of the penalty, positive.

    Returns:
        The weights and biases; ones and zeros if there are no labels.

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    logits = jnp.asarray(logits)
    labels = jnp.asarray(labels)
    size = logits.shape[1]
    share = (labels >= 0).astype(logits.dtype)
    share = share / jnp.maximum(jnp.sum(share), 1.0)
    chosen = jax.nn.one_hot(labels, size, dtype=logits.dtype)

    def objective(x: Array) -> Array:
        scores = x[None, :size] * logits + x[None, size:]
        losses = jax.nn.logsumexp(scores, axis=1) - jnp.sum(chosen * scores, axis=1)
        return jnp.sum(share * losses) + 0.5 * ridge * jnp.sum((x - start) ** 2)

    start = jnp.concatenate([jnp.ones(size, logits.dtype), jnp.zeros(size, logits.dtype)])
    x = minimise(objective, start).x
    return Vector(x[:size], x[size:])


def vector_log_probs(params: Vector, logits: Logits) -> LogProbabilities:
    """Log probabilities `log softmax(w * logits + b)`.

    Args:
        params: weights and biases of the options.
        logits: readings `[n, K]`, nats.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    scores = jnp.asarray(params.weights)[None] * logits + jnp.asarray(params.bias)[None]
    return jax.nn.log_softmax(scores, axis=1)

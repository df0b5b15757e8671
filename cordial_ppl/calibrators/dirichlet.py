"""Dirichlet calibration: every option's score is a weighted sum of all log probabilities."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import AnyArray, LogProbabilities
from cordial_ppl.calibrators.crossvalidation import cross_validate
from cordial_ppl.calibrators.regression import fit_softmax

Readings = Float[AnyArray, "n *readers K"]

OFF_DIAGONALS = tuple(10.0**power for power in range(-4, 2))
INTERCEPTS = (1e-3, 0.1, 10.0)
"""Penalties that cross-validation chooses from."""

RIDGE = 1e-6
"""Pull of the diagonal toward one: few labels are separable, and would take it to infinity."""


class Dirichlet(NamedTuple):
    """Fitted weights (row: the option that is scored) and intercepts (nats)."""

    weights: Float[AnyArray, "K features"]
    bias: Float[AnyArray, " K"]


class Penalty(NamedTuple):
    """Strengths of the penalties on the off-diagonal weights and on the intercepts."""

    off_diagonal: Float[AnyArray, "*grid"]
    intercept: Float[AnyArray, "*grid"]


def fit_dirichlet(
    logits: Readings, labels: Int[AnyArray, " n"], penalty: Penalty, ridge: float = RIDGE
) -> Dirichlet:
    r"""Fit `softmax(W log q + b)`, `q = softmax(logits)`, by penalised maximum likelihood.

    .. math:: \min_{W, b}\; \mathrm{mean}_i\,[-\log \hat p(z_i)]
        + \frac{\lambda}{K (K - 1)} \sum_{j \ne k} W_{jk}^2 + \frac{\mu}{K} \sum_k b_k^2
        + \frac{\mathrm{ridge}}{2} \sum_k (W_{kk} - 1)^2

    Args:
        logits: readings ``[n, K]``, nats; or ``[n, R, K]``, with a matrix W for each of R readers,
            whose scores are added, and the reading as it is their geometric mean.
        labels: positions ``[n]`` on the scale, 0..K-1; -1 marks texts to ignore.
        penalty: lambda and mu, positive.
        ridge: keeps the diagonal finite, positive.

    Returns:
        The weights and intercepts; the reading as it is if there are no labels.

    Source:
        Kull et al. (2019), "Beyond temperature scaling: obtaining well-calibrated multiclass
        probabilities with Dirichlet calibration" (ODIR).
    """
    logs, size = _logs(logits), logits.shape[-1]
    rows, width = logs.shape
    identity = jnp.tile(jnp.eye(size, dtype=logs.dtype), width // size)
    off = 2.0 * jnp.asarray(penalty.off_diagonal, logs.dtype) / (size * (size - 1))
    free = 2.0 * jnp.asarray(penalty.intercept, logs.dtype) / size
    strengths = jnp.where(identity > 0.0, ridge, off)
    found = fit_softmax(
        jnp.hstack([logs, jnp.ones((rows, 1), logs.dtype)]),
        labels,
        jnp.hstack([strengths, jnp.full((size, 1), free)]),
        jnp.hstack([identity * (size / width), jnp.zeros((size, 1), logs.dtype)]),
    )
    return Dirichlet(found[:, :width], found[:, width])


def fit_dirichlet_validated(logits: Readings, labels: Int[AnyArray, " n"]) -> Dirichlet:
    """Fit Dirichlet calibration with cross-validated penalties.

    `lambda` is of {1e-4, 1e-3, ..., 10} and `mu` of {1e-3, 0.1, 10}: the pair with the lowest log
    loss out of four folds, ties to the larger `lambda`, then `mu`.  All pairs and folds are fitted
    in one batched call.

    Args:
        logits: readings `[n, K]` or `[n, R, K]`, nats.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The weights and intercepts.

    Source:
        Kull et al. (2019), "Beyond temperature scaling".
    """
    strengths = jnp.asarray(OFF_DIAGONALS, logits.dtype), jnp.asarray(INTERCEPTS, logits.dtype)
    grid = Penalty(*(axis.ravel() for axis in jnp.meshgrid(*strengths, indexing="ij")))
    return cross_validate(fit_dirichlet, dirichlet_log_probs, logits, labels, grid)


def dirichlet_log_probs(params: Dirichlet, logits: Readings) -> LogProbabilities:
    """Log probabilities `log softmax(W log q + b)`, `q = softmax(logits)`.

    Args:
        params: weights and intercepts.
        logits: readings `[n, K]` or `[n, R, K]`, nats.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    scores = _logs(logits) @ jnp.asarray(params.weights).T + jnp.asarray(params.bias)[None]
    return jax.nn.log_softmax(scores, axis=1)


def _logs(logits: Readings) -> Float[Array, "n features"]:
    """Log probabilities of all readings of a text, one after the other."""
    logs = jax.nn.log_softmax(jnp.asarray(logits), axis=-1)
    return logs.reshape(logs.shape[0], -1)

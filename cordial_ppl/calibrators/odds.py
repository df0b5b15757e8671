"""Proportional odds: ordinal logistic regression of the label on the logits."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import AnyArray, Logits, LogProbabilities
from cordial_ppl.calibrators.crossvalidation import cross_validate
from cordial_ppl.inference.newton import minimise

PENALTY, RIDGE = 100.0, 1e-3
DECADES = tuple(10.0**power for power in range(-4, 3))
"""Penalties that cross-validation chooses from, each per label: the fixed one is `100 / n`."""

FIRST_THRESHOLD_SCALE = 3.0
"""The first threshold lies a few nats from zero, the log gaps that follow it a few tenths."""


class Odds(NamedTuple):
    """Fitted thresholds (nats, increasing) and weights of the logits."""

    thresholds: Float[AnyArray, " K-1"]
    weights: Float[AnyArray, " K"]


def fit_odds(
    logits: Logits,
    labels: Int[AnyArray, " n"],
    penalty: Float[Array, ""] | float = PENALTY,
    ridge: float = RIDGE,
) -> Odds:
    """Fit `P(z <= t) = sigmoid(theta_t - w . logits)` by penalised maximum likelihood.

    Minimises `mean log loss + penalty / (2 n) |w|^2 + ridge / 2 ((theta_1 / 3)^2 + |gamma|^2)` for
    the `n` labels, where `gamma` are the logs of the gaps between thresholds.  It begins where the
    model without weights predicts the histogram of the labels, one added to each class.

    Args:
        logits: readings `[n, K]`, nats, centred.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.
        penalty: 100 is a Gaussian prior on the weights with standard deviation 0.1.
        ridge: keeps the thresholds beside a missing class finite; positive.

    Returns:
        The thresholds and weights; the uniform prediction if there are no labels.

    Source:
        McCullagh (1980), "Regression models for ordinal data".
    """
    logits = jnp.asarray(logits)
    labels = jnp.asarray(labels)
    size = logits.shape[1]
    seen = (labels >= 0).astype(logits.dtype)
    total = jnp.sum(seen)
    count = jnp.maximum(total, 1.0)
    chosen = jax.nn.one_hot(labels, size, dtype=logits.dtype)

    def unpack(x: Array) -> Odds:
        steps = jnp.concatenate([x[:1], jnp.exp(x[1 : size - 1])])
        return Odds(jnp.cumsum(steps), x[size - 1 :])

    def objective(x: Array) -> Array:
        params = unpack(x)
        loss = -jnp.sum(chosen * odds_log_probs(params, logits)) / count
        near = (x[0] / FIRST_THRESHOLD_SCALE) ** 2 + jnp.sum(x[1 : size - 1] ** 2)
        weight = jnp.sum(params.weights**2)
        return loss + 0.5 * penalty / count * weight + 0.5 * ridge * near

    histogram = (jnp.sum(chosen, axis=0) + 1.0) / (total + size)
    below = jnp.cumsum(histogram)[:-1]
    thresholds = jnp.log(below) - jnp.log1p(-below)
    zeros = jnp.zeros(size, logits.dtype)
    start = jnp.concatenate([thresholds[:1], jnp.log(jnp.diff(thresholds)), zeros])
    return unpack(jnp.where(total > 0.0, minimise(objective, start).x, start))


def fit_odds_validated(logits: Logits, labels: Int[AnyArray, " n"]) -> Odds:
    """Fit proportional odds with a cross-validated penalty on the weights.

    Minimises `mean log loss + c / 2 |w|^2` and the ridge on the thresholds, as :func:`fit_odds`,
    where `c` in {1e-4, 1e-3, ..., 100} has the lowest log loss out of four folds; ties go to the
    larger.  All penalties and folds are fitted in one batched call.

    Args:
        logits: readings `[n, K]`, nats, centred.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The thresholds and weights.

    Source:
        McCullagh (1980), "Regression models for ordinal data".
    """

    def fit(logits: Array, labels: Array, strength: Array) -> Odds:
        count = jnp.maximum(jnp.sum(labels >= 0, dtype=strength.dtype), 1.0)
        return fit_odds(logits, labels, strength * count)

    grid = jnp.asarray(DECADES, logits.dtype)
    return cross_validate(fit, odds_log_probs, logits, labels, grid)


def odds_log_probs(params: Odds, logits: Logits) -> LogProbabilities:
    """Log probabilities `log(sigmoid(a_t) - sigmoid(a_(t-1)))`, `a_t = theta_t - w . logits`.

    Computed as `log sigmoid(a_t) + log sigmoid(-a_(t-1)) + log(1 - exp(a_(t-1) - a_t))`, in which
    nothing cancels.

    Args:
        params: thresholds and weights.
        logits: readings `[n, K]`, nats, centred.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    thresholds = jnp.asarray(params.thresholds)
    edges = thresholds[None] - (logits @ jnp.asarray(params.weights))[:, None]
    between = jnp.log(-jnp.expm1(-jnp.diff(thresholds)))
    up_to = jnp.pad(jax.nn.log_sigmoid(edges), ((0, 0), (0, 1)))
    above = jnp.pad(jax.nn.log_sigmoid(-edges), ((0, 0), (1, 0)))
    return up_to + above + jnp.pad(between, 1)[None]

"""Proportional odds: ordinal logistic regression of the label on the logits."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, log_expit

from cordial_ppl.runtime.arrays import AnyArray
from cordial_ppl.stack.calibrators.regression import newton
from cordial_ppl.stack.calibrators.samples import (
    BatchLabels,
    BatchLogits,
    BatchLogProbs,
    BatchWeights,
    Samples,
    as_samples,
    some,
)

PENALTY, RIDGE = 100.0, 1e-3
DECADES = np.array([10.0**power for power in range(-4, 3)])
"""Penalties that cross-validation chooses from, per label: the fixed one is `100 / n`."""

FIRST_THRESHOLD_SCALE = 3.0
"""Scale of the first threshold (nats) in the ridge; that of the log gaps is one."""


class Odds(NamedTuple):
    """Fitted thresholds (nats, increasing) and weights of the logits."""

    thresholds: Float[AnyArray, "*sets K-1"]
    weights: Float[AnyArray, "*sets K"]


def fit_odds(
    data: Samples, penalty: Float[np.ndarray, "..."] | float = PENALTY, ridge: float = RIDGE
) -> Odds:
    """Fit `P(z <= t) = sigmoid(theta_t - w . logits)` by penalised maximum likelihood.

    Minimises `mean log loss + penalty / (2 n) |w|^2 + ridge / 2 ((theta_1 / 3)^2 + |gamma|^2)` for
    labels of total weight `n`, where `gamma` are the logs of the gaps between thresholds.  It
    begins where the model without weights predicts the histogram of the labels, one added to each
    class.

    Args:
        data: centred readings and labels.
        penalty: 100 is a Gaussian prior on the weights with standard deviation 0.1; one for all
            fits, or what is broadcast against the leading axes.
        ridge: keeps the thresholds beside a missing class finite; positive.

    Returns:
        The thresholds and weights; the uniform prediction if there are no labels.

    Source:
        McCullagh (1980), "Regression models for ordinal data".
    """
    count, size, rows = data.chosen.shape
    # A label has an edge above it and one below; the gap between them is the same for all texts.
    shares = data.shares
    above, below, inner = shares[:, :-1], shares[:, 1:], shares[:, 1:-1].sum(axis=2)
    pulls = np.full((count, 2 * size - 1), ridge)
    pulls[:, 0] /= FIRST_THRESHOLD_SCALE**2
    pulls[:, size - 1 :] = (penalty / data.divisors.reshape(data.shape)).reshape(-1, 1)
    reached = np.tri(size - 1).T[None, :, :, None]

    def parts(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, ...]:
        """Compute gaps between thresholds, edges, their derivatives, and the slopes at them."""
        logits, gaps = some(data.logits, at), np.exp(x[:, 1 : size - 1])
        apart = _thresholds(x[:, :1], gaps)[:, :, None] - x[:, None, size - 1 :] @ logits
        steps = np.concatenate([np.ones((len(x), 1)), gaps], axis=1)
        slopes = np.empty((len(x), 2 * size - 1, size - 1, rows))
        slopes[:, : size - 1] = steps[:, :, None, None] * reached
        slopes[:, size - 1 :] = -logits[:, :, None]
        excess = below[at] * expit(apart) - above[at] * expit(-apart)
        return gaps, apart, slopes.reshape(len(x), 2 * size - 1, -1), excess

    def loss(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gaps, apart, slopes, excess = parts(x, at)
        inside = np.expm1(-gaps)
        value = 0.5 * (pulls[at] * x**2).sum(axis=1) - (inner[at] * np.log(-inside)).sum(axis=1)
        value -= (above[at] * log_expit(apart) + below[at] * log_expit(-apart)).sum(axis=(1, 2))
        slope = pulls[at] * x + (slopes @ excess.reshape(len(x), -1, 1))[:, :, 0]
        slope[:, 1 : size - 1] -= inner[at] * gaps / np.expm1(gaps)
        return value, slope

    def hessian(x: np.ndarray, at: np.ndarray) -> np.ndarray:
        gaps, apart, slopes, excess = parts(x, at)
        bend = ((above + below)[at] * expit(apart) * expit(-apart)).reshape(len(x), 1, -1)
        curvature = (bend * slopes) @ slopes.swapaxes(1, 2)
        ratio = gaps / np.expm1(gaps)
        further = pulls[at]
        # Thresholds are convex in the log gaps; only positive curvature is kept.
        curved = np.maximum((slopes[:, 1 : size - 1] @ excess.reshape(len(x), -1, 1))[:, :, 0], 0.0)
        further[:, 1 : size - 1] += inner[at] * ratio * (gaps + ratio - 1.0) + curved
        diagonal = np.arange(2 * size - 1)
        curvature[:, diagonal, diagonal] += further
        return curvature

    start = _histogram_start(data)
    x, _ = newton(loss, hessian, start)
    x = np.where(data.counts[:, None] > 0.0, x, start)
    thresholds = _thresholds(x[:, :1], np.exp(x[:, 1 : size - 1]))
    return Odds(data.unfold(thresholds), data.unfold(x[:, size - 1 :]))


def fit_odds_by_label(
    logits: BatchLogits,
    labels: BatchLabels,
    weights: BatchWeights,
    penalty: Float[np.ndarray, "..."],
) -> Odds:
    """Fit proportional odds with penalties on the weights that grow with the labels.

    Minimises `mean log loss + c / 2 |w|^2` and the ridge on the thresholds, as :func:`fit_odds`,
    for penalties c of `DECADES`.
    """
    data = as_samples(logits, labels, weights)
    return fit_odds(data, penalty * data.divisors.reshape(data.shape))


def odds_log_probs(params: Odds, logits: BatchLogits) -> BatchLogProbs:
    """Compute `log(sigmoid(a_t) - sigmoid(a_(t-1)))`, `a_t = theta_t - w . logits`, nats.

    Computed as `log sigmoid(a_t) + log sigmoid(-a_(t-1)) + log(1 - exp(a_(t-1) - a_t))`, in which
    nothing cancels; nats, of readings `[*sets, m, K]`.
    """
    thresholds, weights = (np.asarray(part) for part in params)
    edges = thresholds[..., None, :] - np.asarray(logits) @ weights[..., None]
    gaps = np.diff(thresholds)[..., None, :]
    log_probs = np.zeros((*edges.shape[:-1], weights.shape[-1]))
    log_probs[..., :-1] += log_expit(edges)
    log_probs[..., 1:] += log_expit(-edges)
    log_probs[..., 1:-1] += np.log(-np.expm1(-gaps))
    return log_probs


def _histogram_start(data: Samples) -> np.ndarray:
    """Return parameters without weights that predict the histogram, one added to each class."""
    count, size, _ = data.chosen.shape
    histogram = (data.chosen.sum(axis=2) + 1.0) / (data.counts + size)[:, None]
    below = np.cumsum(histogram, axis=1)[:, :-1]
    thresholds = np.log(below) - np.log1p(-below)
    start = np.zeros((count, 2 * size - 1))
    start[:, 0], start[:, 1 : size - 1] = thresholds[:, 0], np.log(np.diff(thresholds))
    return start


def _thresholds(first: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    return np.cumsum(np.concatenate([first, gaps], axis=1), axis=1)

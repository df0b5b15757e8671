"""Dirichlet calibration: every option's score is a weighted sum of all log probabilities."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from cordial_ppl.runtime.arrays import AnyArray
from cordial_ppl.stack.calibrators.regression import TOLERANCE, fit_softmax
from cordial_ppl.stack.calibrators.samples import (
    BatchLabels,
    BatchLogits,
    BatchLogProbs,
    BatchWeights,
    as_samples,
)

MUS = 1e-3, 0.1, 10.0
GRID = np.array([(10.0**power, mu) for power in range(-4, 2) for mu in MUS])
"""Penalties lambda and mu that cross-validation chooses from."""

CHOICE = 1e-6
"""Largest slope at the end of a fit that is compared with others: their losses differ by more."""

RIDGE = 1e-6
"""Pull of the diagonal towards one: without it, separable labels would take it to infinity."""


class Dirichlet(NamedTuple):
    """Fitted weights (row: the option that is scored) and intercepts (nats)."""

    weights: Float[AnyArray, "*sets K features"]
    bias: Float[AnyArray, "*sets K"]


def fit_dirichlet(
    logits: BatchLogits,
    labels: BatchLabels,
    weights: BatchWeights,
    penalty: Float[np.ndarray, "... 2"],
    start: Dirichlet | None = None,
    tolerance: float = TOLERANCE,
) -> Dirichlet:
    r"""Fit `softmax(W log q + b)`, `q = softmax(logits)`, by penalised maximum likelihood.

    .. math:: \min_{W, b}\; \mathrm{mean}_i\,[-\log \hat p(z_i)]
        + \frac{\lambda}{K (K - 1)} \sum_{j \ne k} W_{jk}^2 + \frac{\mu}{K} \sum_k b_k^2
        + \frac{\mathrm{ridge}}{2} \sum_k (W_{kk} - 1)^2

    Args:
        logits: readings ``[*sets, n, K]``, nats.
        labels: positions ``[*sets, n]`` on the scale, 0..K-1; -1 marks texts to ignore.
        weights: of the labels, `[*sets, n]`; None for one each.
        penalty: lambda and mu, positive; a pair for all fits, or pairs that are broadcast against
            the leading axes.
        start: where the search begins: fits to as many samples; by default at equal probabilities.
        tolerance: largest slope at its end.

    Returns:
        The weights and intercepts; those of the raw reading if there are no labels.

    Source:
        Kull et al. (2019), "Beyond temperature scaling: obtaining well-calibrated multiclass
        probabilities with Dirichlet calibration" (ODIR).
    """
    data = as_samples(_logs(logits), labels, weights)
    size = logits.shape[-1]
    features = np.concatenate([data.logits, np.ones_like(data.logits[:, :1])], axis=1)
    shape = np.broadcast_shapes(np.shape(penalty), (*data.shape, 2))
    pairs = np.broadcast_to(penalty, shape).reshape(-1, 2, 1, 1)
    off = np.where(np.eye(size) > 0.0, RIDGE, 2.0 / (size * (size - 1)) * pairs[:, 0])
    free = np.broadcast_to(2.0 / size * pairs[:, 1], (len(pairs), size, 1))
    centre = np.hstack([np.eye(size), np.zeros((size, 1))])
    penalties = np.concatenate([off, free], axis=2)
    begin = None
    if start is not None:
        both = np.concatenate([start.weights, start.bias[..., None]], axis=-1)
        begin = both.reshape(-1, *centre.shape)
    coefs = fit_softmax(features[:, None], data.chosen, penalties, centre, begin, tolerance)
    return Dirichlet(data.unfold(coefs[:, :, :size]), data.unfold(coefs[:, :, size]))


def fit_dirichlet_path(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray, penalties: np.ndarray
) -> Dirichlet:
    """Fit with penalties from the strongest lambda on, from where the fits before ended.

    What is compared is fitted to the tolerance of a choice, a single penalty to the last digit.
    """
    count, fits, start = len(penalties), [], None
    tolerance = TOLERANCE if count == 1 else CHOICE
    for rows in np.split(np.arange(count), range(len(MUS), count, len(MUS)))[::-1]:
        start = fit_dirichlet(logits, labels[rows], weights, penalties[rows], start, tolerance)
        fits.append(start)
    return Dirichlet(*(np.concatenate(parts) for parts in zip(*fits[::-1], strict=True)))


def dirichlet_log_probs(params: Dirichlet, logits: BatchLogits) -> BatchLogProbs:
    """Compute `log softmax(W log q + b)`, nats, of readings `[*sets, m, K]`."""
    weights, bias = (np.asarray(part) for part in params)
    return log_softmax(_logs(logits) @ weights.swapaxes(-1, -2) + bias[..., None, :], axis=-1)


def _logs(logits: AnyArray) -> np.ndarray:
    return log_softmax(np.asarray(logits, np.float64), axis=-1)

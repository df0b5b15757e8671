"""Batch calibration: takes out what a reader says on average, without labels."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, logsumexp

from cordial_ppl.arrays import AnyArray
from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits, BatchLogProbs


class Batch(NamedTuple):
    """Log of the mean prediction over a batch of texts, nats; zero for an empty one."""

    log_mean: Float[AnyArray, "*sets K"]


def fit_batch(logits: BatchLogits, labels: BatchLabels) -> Batch:
    """Average the predictions, `m(z) = mean_i softmax(logits_i)(z)`.

    Args:
        logits: readings `[*sets, n, K]`, nats.
        labels: -1 marks texts that are not of the batch; nothing else of them is looked at.

    Returns:
        The log of the mean.

    Source:
        Zhou et al. (2024), "Batch calibration: rethinking calibration for in-context learning and
        prompt engineering".
    """
    logs = log_softmax(np.asarray(logits, np.float64), axis=-1)
    seen = (np.asarray(labels) >= 0)[..., None]
    total = seen.sum(axis=-2)
    # A sum of exponentials: an option that no text believes in has a mean far below rounding.
    kept = np.where(seen | (total == 0)[..., None, :], logs, -np.inf)
    log_mean = logsumexp(kept, axis=-2) - np.log(np.maximum(total, 1))
    return Batch(np.where(total > 0, log_mean, 0.0))


def batch_log_probs(params: Batch, logits: BatchLogits) -> BatchLogProbs:
    """Log probabilities of `p(z) = softmax(logits)(z) / m(z)`, normalised.

    Args:
        params: the log of the mean prediction.
        logits: readings `[*sets, m, K]`, nats.

    Returns:
        Log probabilities `[*sets, m, K]`, nats.
    """
    return log_softmax(np.asarray(logits) - np.asarray(params.log_mean)[..., None, :], axis=-1)

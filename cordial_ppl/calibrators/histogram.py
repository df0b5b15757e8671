"""The label histogram: what is known of the labels without any reader."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.arrays import AnyArray
from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits, BatchLogProbs, as_samples


class Shares(NamedTuple):
    """Log share of each option, nats."""

    log_shares: Float[AnyArray, "*sets K"]


def fit_histogram(logits: BatchLogits, labels: BatchLabels) -> Shares:
    """Count the labels, `(count_k + 1) / (n + K)`.

    Args:
        logits: readings `[*sets, n, K]`; only their number of options is looked at.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The logs of the shares; equal ones without labels.
    """
    data = as_samples(logits, labels)
    counts = data.chosen.sum(axis=2) + 1.0
    return Shares(data.unfold(np.log(counts / counts.sum(axis=1, keepdims=True))))


def histogram_log_probs(params: Shares, logits: BatchLogits) -> BatchLogProbs:
    """Log probabilities, the same for every text.

    Args:
        params: the logs of the shares.
        logits: readings `[*sets, m, K]`, nats.

    Returns:
        Log probabilities `[*sets, m, K]`, nats.
    """
    return np.asarray(params.log_shares)[..., None, :] + np.zeros(np.shape(logits))

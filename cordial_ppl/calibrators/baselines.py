"""What needs no search: the reading as it is, without its average, and the labels' histogram."""

import numpy as np
from scipy.special import log_softmax, logsumexp

from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits
from cordial_ppl.calibrators.vector import Vector


def fit_raw(logits: BatchLogits, labels: BatchLabels) -> Vector:
    """Learn nothing: the prediction is `softmax(logits)`.

    Args:
        logits: readings `[*sets, n, K]`, nats; only their shape is looked at.
        labels: the same.

    Returns:
        Weights of one and biases of zero.
    """
    zeros = np.zeros(_seen(logits, labels).shape[:-2] + logits.shape[-1:])
    return Vector(zeros + 1.0, zeros)


def fit_batch(logits: BatchLogits, labels: BatchLabels) -> Vector:
    """Divide by the mean prediction m: `softmax(logits) / m`, `m = mean_i softmax(logits_i)`.

    Args:
        logits: readings `[*sets, n, K]`, nats.
        labels: -1 marks texts that are not of the batch; nothing else of them is looked at.

    Returns:
        Weights of one and biases `-log m`, zero for an empty batch.

    Source:
        Zhou et al. (2024), "Batch calibration: rethinking calibration for in-context learning and
        prompt engineering".
    """
    seen = _seen(logits, labels)
    total = seen.sum(axis=-2)
    # A sum of exponentials: an option that no text believes in has a mean far below rounding.
    logs = np.where(seen | (total == 0)[..., None, :], log_softmax(logits, axis=-1), -np.inf)
    log_mean = logsumexp(logs, axis=-2) - np.log(np.maximum(total, 1))
    return Vector(np.ones_like(log_mean), np.where(total > 0, -log_mean, 0.0))


def fit_histogram(logits: BatchLogits, labels: BatchLabels) -> Vector:
    """Count the labels, `(count_k + 1) / (n + K)`: the prediction for every text.

    Args:
        logits: readings `[*sets, n, K]`; only their shape is looked at.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        Weights of zero; as biases the logs of the shares, equal ones without labels.
    """
    own = np.asarray(labels)[..., None] == np.arange(logits.shape[-1])
    counts = (own & _seen(logits, labels)).sum(axis=-2) + 1.0
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return Vector(np.zeros_like(shares), np.log(shares))


def _seen(logits: BatchLogits, labels: BatchLabels) -> np.ndarray:
    """Which texts count, `[*sets, n, 1]`."""
    seen = np.asarray(labels)[..., None] >= 0
    return np.broadcast_to(seen, np.broadcast_shapes(seen.shape, (*logits.shape[:-1], 1)))

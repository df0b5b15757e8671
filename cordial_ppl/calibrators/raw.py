"""The raw reading: what the reader says, taken at its word."""

import numpy as np

from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits
from cordial_ppl.calibrators.temperature import Temperature


def fit_raw(logits: BatchLogits, labels: BatchLabels) -> Temperature:
    """Learn nothing: the prediction is `softmax(logits)`, temperature scaling with `tau = 1`.

    Args:
        logits: readings `[*sets, n, K]`, nats; only the leading axes are looked at.
        labels: the same.

    Returns:
        The temperature one.
    """
    return Temperature(np.ones(np.broadcast_shapes(logits.shape[:-2], labels.shape[:-1])))

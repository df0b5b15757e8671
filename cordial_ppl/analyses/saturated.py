"""Whether a calibrator keeps the order of sure readings: one saturated reading for each class."""

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl import scores


def saturated_readings(logits: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "K K"]:
    """Return a centred reading for each class that is as sure as the reader usually is.

    Reading y has `m` at y and `-m / (K - 1)` elsewhere, with m the median over texts of the
    largest centred logit.

    Args:
        logits: Readings [n, K] (nats), centred or not.

    Returns:
        Logits [K, K], lowest class first.
    """
    size = logits.shape[1]
    height = np.median(logits.max(axis=1) - logits.mean(axis=1))
    return height * (size * np.eye(size) - 1) / (size - 1)


def reversed_fits(
    probs: Float[np.ndarray, "fits K K"], tolerance: float = 0.05
) -> Bool[np.ndarray, " fits"]:
    """Return which fits map saturated readings of some adjacent classes in the wrong order.

    Args:
        probs: For each fit, its predictions for `saturated_readings`, lowest class first.
        tolerance: How much cumulative probability may be out of order.

    Returns:
        One truth value a fit; their mean is the share that the paper reports.

    Raises:
        InputError: rows are no probabilities.
    """
    return np.array([scores.reversals(fit, tolerance).any() for fit in probs], dtype=bool)

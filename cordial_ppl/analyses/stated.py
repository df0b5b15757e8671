"""What texts get for each class that the reader states: from people, and from a calibrator.

Both are tables [K, K] whose rows are stated classes; `scores.class_weighted_kl` measures how far
apart they are. A saturated reading of each class shows whether a calibrator keeps their order.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import scores


def predictions_given_stated(
    probs: Float[np.ndarray, "n K"], stated: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "K K"]:
    """Return the mean prediction for each stated class, `mean_{i: c_i = c} p_i`.

    Args:
        probs: Probabilities [n, K].
        stated: The most probable option [n] of the raw reading, 0..K-1.

    Returns:
        Probabilities [K, K], row c for stated class c; NaN where no text has that class.
    """
    size = probs.shape[1]
    totals = np.zeros((size, size))
    np.add.at(totals, stated, probs)
    texts = np.bincount(stated, minlength=size)[:, None].astype(float)
    return np.divide(totals, texts, out=np.full((size, size), np.nan), where=texts > 0)


def labels_given_stated(
    labels: Int[np.ndarray, " n"], stated: Int[np.ndarray, " n"], size: int
) -> Float[np.ndarray, "K K"]:
    """Return the label histogram of each stated class.

    Args:
        labels: Positions [n] on the scale, 0..K-1.
        stated: The most probable option [n] of the raw reading, 0..K-1.
        size: Number of options, K.

    Returns:
        Shares [K, K], row c for stated class c; NaN where no text has that class.
    """
    return predictions_given_stated(np.eye(size)[labels], stated)


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

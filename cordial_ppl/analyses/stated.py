"""What texts get for each class that the reader states.

Labels and predictions give tables [K, K] whose rows are stated classes; `scores.class_weighted_kl`
measures how far apart two of them are. Saturated readings show whether a calibrator keeps the order
of the classes (`scores.reversals`).
"""

import numpy as np
from jaxtyping import Float, Int


def predictions_given_stated(
    probs: Float[np.ndarray, "n K"], stated: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "K K"]:
    """Return the mean prediction for each stated class, `mean_{i: c_i = c} p_i`.

    Args:
        probs: Probabilities [n, K]; one-hot rows give the label histogram of each class.
        stated: The most probable option [n] of the raw reading, 0..K-1.

    Returns:
        Probabilities [K, K], row c for stated class c; NaN where no text has that class.
    """
    size = probs.shape[1]
    totals = np.zeros((size, size))
    np.add.at(totals, stated, probs)
    texts = np.bincount(stated, minlength=size)[:, None].astype(float)
    return np.divide(totals, texts, out=np.full((size, size), np.nan), where=texts > 0)


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

"""What texts get, grouped by the class that the reader states: by people, and by a calibrator.

Both are [K, K] tables whose rows are stated classes; `scores.class_weighted_kl` sums up how far
they are apart.
"""

import numpy as np
from jaxtyping import Float, Int


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

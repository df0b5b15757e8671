"""P values of several statistics at once, from their values in permutations or simulations."""

import numpy as np
from jaxtyping import Float


def adjusted_p(statistics: Float[np.ndarray, "S_and_1 T"]) -> Float[np.ndarray, " T"]:
    r"""P values that account for the number of statistics: with no effect, one is at most alpha.

    .. math:: p_t = \frac{1}{S + 1} \#\{ s : \min_u q_{su} \le q_{0t} \}

    with q the share of rows whose statistic is as large.  Equal statistics count as such, so that
    the error rate holds for data of few different values.

    Args:
        statistics: what was observed, and a row for each permutation; large where something
            differs.

    Returns:
        The p value of each; the least is that of all statistics together.

    Source: Westfall and Young (1993), Resampling-based multiple testing (single-step minP).
    """
    # Equal values may differ in their last digits.
    values = statistics / np.maximum(statistics.max(axis=0), np.finfo(float).tiny)
    ordered = np.sort(values + 1e-9, axis=0)
    higher = len(values) - np.stack([*map(np.searchsorted, ordered.T, values.T)], axis=1)
    return np.mean(higher.min(axis=1)[:, None] <= higher[0], axis=0)

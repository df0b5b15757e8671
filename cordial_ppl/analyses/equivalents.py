"""How many labels a method is worth: where another method's learning curve reaches its loss."""

import numpy as np
from numpy.typing import ArrayLike

from cordial_ppl.errors import InputError


def label_equivalents(budgets: ArrayLike, losses: ArrayLike, reached: float) -> float:
    """Return the labels with which a method first reaches a loss, read off its learning curve.

    Between two budgets the curve is straight in `log n`:
    `log N = log n_0 + (L_0 - reached) / (L_0 - L_1) log(n_1 / n_0)`.

    Args:
        budgets: Numbers of labels, positive and rising.
        losses: The method's mean log loss (nats) at each.
        reached: The log loss (nats) to match.

    Returns:
        A number of labels; the least budget where the curve begins at or below the loss, infinite
        where it never gets there.

    Raises:
        InputError: budgets and losses do not match, budgets do not rise, or a number is not finite.
    """
    n, curve = np.asarray(budgets, dtype=float), np.asarray(losses, dtype=float)
    if n.ndim != 1 or n.shape != curve.shape or not len(n):
        raise InputError(
            f"budgets and losses must be two lists of one length; got {n.shape}, {curve.shape}."
        )
    if not np.isfinite([*n, *curve, reached]).all() or n[0] <= 0 or (np.diff(n) <= 0).any():
        raise InputError(
            "budgets must be positive and rise, and losses be finite; "
            f"got budgets {n.tolist()}, losses {curve.tolist()} and {reached}."
        )
    below = np.flatnonzero(curve <= reached)
    if not len(below):
        return float("inf")
    k = int(below[0])
    if k == 0:
        return float(n[0])
    share = (curve[k - 1] - reached) / (curve[k - 1] - curve[k])
    return float(n[k - 1] * (n[k] / n[k - 1]) ** share)

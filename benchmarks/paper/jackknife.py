"""Standard errors over draws of labels of what is no mean: what leaving out one draw changes."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool


def jackknife_error(statistic: Callable[[Bool[np.ndarray, " S"]], float], draws: int) -> float:
    r"""Return the jackknife standard error of a statistic of S draws.

    .. math:: \sqrt{\tfrac{S - 1}{S} \textstyle\sum_d (T_{-d} - \bar T)^2}

    Of a mean it is the usual one.  Draws that are shared by budgets, readers or methods stay
    together: each is left out of everything at once.

    Args:
        statistic: value for the draws of a mask.
        draws: their number S.

    Returns:
        The error; NaN for fewer than two draws, or where a value is not finite.
    """
    every = np.arange(draws)
    values = np.array([statistic(every != draw) for draw in every], float)
    if draws < 2 or not np.isfinite(values).all():
        return float("nan")
    return float(np.sqrt((draws - 1) * np.mean((values - values.mean()) ** 2)))

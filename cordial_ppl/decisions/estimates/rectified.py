"""The mean of all texts from predictions of all and labels of some, right in repeated sampling.

It leans on how the labelled texts were chosen and on no model: however wrong the predictions are,
only the interval grows.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import stdtrit

from cordial_ppl.data.containers import as_numbers
from cordial_ppl.errors import InputError, name_rows, quote

TUNED = 3
"""Labels, beyond one a stratum, from which on the predictions' weight is estimated."""


class RectifiedMean(NamedTuple):
    """An estimate of the mean of all texts, in the units of the labels.

    Attributes:
        mean: the estimate.
        lower: lower end of its interval.
        upper: upper end.
        weight: weight of the predictions, 0 (labels alone) to 1.
    """

    mean: float
    lower: float
    upper: float
    weight: float


def rectified_mean(
    values: Any,
    rows: Any,
    labels: Any,
    *,
    strata: Any = None,
    probabilities: Any = None,
    level: float = 0.9,
) -> RectifiedMean:
    r"""Estimate the mean of all labels from predictions of all and labels of a sample.

    The predictions' mean over all N texts, corrected by their mean error on the labelled ones,

    $$\hat\mu = \frac{1}{N} \Bigl(\lambda \sum_{j \le N} f_j
        + \sum_{i \in S} w_i (y_i - \lambda f_i)\Bigr),$$

    where the weights w sum to the number of texts of each stratum and are as 1 / probability within
    it. Lambda is the slope of labels on predictions within [0, 1], over all strata together; in a
    simple random sample it has the least variance (the power tuning of PPI++, whose labelled texts
    here are among the N). The interval is Student's t's, with n - strata - 1 degrees of freedom
    (one more where lambda is 0) and the correction for a finite population: with all texts labelled
    it is a point.

    Strata with fewer than two labels are joined with the next. Where labels and corrections do not
    vary, as with labels all equal, the spread of the predictions stands in for theirs; where that
    is none, or with a single label, the interval is infinite.

    Args:
        values: predictions f of all texts, [N]: expected scores, or probabilities of an event.
        rows: positions of the labelled texts, [n], each once.
        labels: their labels y as numbers, [n], in the units of `values`.
        strata: stratum of each of the N texts, such as `score_strata` gives; by default one.
        probabilities: inclusion probabilities of the labelled texts, [n], as a plan gives them, or
            others in their ratios; by default equal within a stratum.
        level: probability that the interval holds the mean, in (0, 1).

    Returns:
        The mean and its interval.

    Raises:
        InputError: an array has another shape or an invalid value.

    References:
        Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference.
        Särndal, Swensson and Wretman (1992), Model assisted survey sampling, chapters 5 to 7.
    """
    f, y = _finite(values, "values"), _finite(labels, "labels")
    rows = _as_rows(rows, len(f), len(y))
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1; found {quote(level)}.")
    size, n, predicted = len(f), len(y), f[rows]
    codes = _join_sparse(strata, rows, size)
    stratum, texts = codes[rows], np.bincount(codes)
    w = 1 / _as_shares(probabilities, n)
    w *= (texts / np.bincount(stratum, w))[stratum]
    count = np.bincount(stratum)
    weight = 0.0
    if n >= len(count) + TUNED and np.ptp(y) > 0:
        apart = predicted - w @ predicted / size
        spread = w @ apart**2
        weight = float(np.clip(w @ (apart * y) / spread, 0, 1)) if spread > 0 else 0.0
    mean = weight * f.mean() + w @ (y - weight * predicted) / size
    free = n - len(count) - (weight > 0)
    error, least = np.inf, 1e-9 * max(np.abs(f).max(), np.abs(y).max())
    for varying in (y - weight * predicted, predicted) if free > 0 else ():
        rest = w * (varying - (np.bincount(stratum, w * varying) / texts)[stratum])
        left = np.maximum(1 - 1 / w, 0) * (count / (count - 1))[stratum]
        result = np.sqrt(left @ rest**2 * (n - len(count)) / free) / size
        if result > least:
            error = result
            break
    half = 0.0 if n == size else stdtrit(max(free, 1), (1 + level) / 2) * error
    return RectifiedMean(float(mean), float(mean - half), float(mean + half), weight)


def _join_sparse(strata: Any, rows: np.ndarray, size: int) -> Int64[np.ndarray, " N"]:
    """Number the strata, those with fewer than two labels joined with the next."""
    if strata is None:
        return np.zeros(size, np.int64)
    codes = np.unique(np.asarray(strata), return_inverse=True)[1]
    if codes.shape != (size,):
        raise InputError(f"strata must be given for each of {size} texts; got {len(codes)}.")
    homes, home, seen = [], 0, 0
    for labels in np.bincount(codes[rows], minlength=codes.max() + 1):
        homes.append(home)
        seen += labels
        if seen > 1:
            home, seen = home + 1, 0
    # What is left over at the end belongs to the last that is complete.
    return np.minimum(homes, max(home - 1, 0))[codes]


def _as_shares(probabilities: Any, n: int) -> Float64[np.ndarray, " n"]:
    if probabilities is None:
        return np.ones(n)
    shares = _finite(probabilities, "probabilities")
    wrong = np.flatnonzero((shares <= 0) | (shares > 1))
    if len(shares) != n or wrong.size:
        result = f"{quote(shares[wrong[0]])} in {name_rows(wrong)}" if wrong.size else len(shares)
        raise InputError(
            f"probabilities must be one for each of {n} labels, above 0 and at most 1; found "
            f"{result}."
        )
    return shares


def _as_rows(rows: Any, size: int, n: int) -> Int64[np.ndarray, " n"]:
    result = np.asarray(rows)
    inside = result.dtype.kind in "iu" and result.size and 0 <= result.min() and result.max() < size
    if result.shape != (n,) or not inside or len(np.unique(result)) < n:
        raise InputError(
            f"rows must be {n} different positions in 0..{size - 1}, one a label; found "
            f"{quote(rows)}."
        )
    return result.astype(np.int64)


def _finite(values: Any, name: str) -> Float64[np.ndarray, " n"]:
    try:
        numbers = as_numbers(values)
    except ValueError as error:
        raise InputError(f"{name} must be numbers: {error}.") from error
    wrong = np.flatnonzero(~np.isfinite(numbers.ravel()))
    if numbers.ndim != 1 or not numbers.size or wrong.size:
        where = f" in {name_rows(wrong)}" if wrong.size else ""
        raise InputError(
            f"{name} must be finite numbers of shape [n]; found {list(numbers.shape)}"
            f"{' with others' if where else ''}{where}."
        )
    return numbers

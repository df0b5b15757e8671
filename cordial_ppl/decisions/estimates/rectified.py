"""The mean of all texts from predictions of all and labels of some, right in repeated sampling.

It leans on how the labelled texts were chosen and on no model: however wrong the predictions are,
only the interval grows.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import stdtrit

from cordial_ppl.data.checks import check_cells, check_level
from cordial_ppl.data.containers import as_numbers, unmasked
from cordial_ppl.errors import InputError, name_rows, quote

TUNED = 3
"""Labels, beyond one a stratum, from which on the predictions' weight is estimated."""


EVEN = np.log(1.5)
"""Inclusion probabilities of a plan differ by up to this ratio where groups differ by one label."""


POOLED = 3
"""Labels that the variance of all strata counts as in that of each, where texts weigh unequally."""


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


def rectified_means(
    values: Any,
    rows: Any,
    labels: Any,
    *,
    strata: Any = None,
    clusters: Any = None,
    probabilities: Any = None,
    level: float = 0.9,
) -> dict[str, RectifiedMean]:
    r"""Estimate the mean of all labels from predictions of all and labels of a sample.

    The predictions' mean over all N texts, corrected by their mean error on the labelled ones,

    $$\hat\mu = \frac{1}{N} \Bigl(\lambda \sum_{j \le N} f_j
        + \sum_{i \in S} w_i (y_i - \lambda f_i)\Bigr),$$

    where the weights w sum to the number of texts of each stratum and are as 1 / probability within
    it. Lambda is the slope of labels on predictions within [0, 1], over all strata together; in a
    simple random sample it has the least variance (the power tuning of PPI++, whose labelled texts
    here are among the N). The interval is Student's t's, with n - strata - 1 degrees of freedom
    (one more where lambda is 0; Satterthwaite's where labels stand for very different numbers of
    texts) and the correction for a finite population: with all texts labelled it is a point. The
    mean of texts like these varies by the labels' variance / N besides.

    Strata with fewer than two labels are joined with the next; they do not count where
    probabilities differ within one. Where labels and corrections do not vary, as with labels all
    equal, the spread of the predictions stands in for theirs; where that is none, or with a single
    label, the interval is infinite.

    Args:
        values: predictions f of all texts, [N]: expected scores, or probabilities of an event.
        rows: positions of the labelled texts, [n], each once.
        labels: their labels y as numbers, [n], in the units of `values`.
        strata: stratum of each of the N texts, such as `score_strata` gives; by default one.
        clusters: cluster of each of the N texts, whose labels are alike: sums over clusters take
            the place of labels, n is the number of clusters with labels, and strata do not count.
        probabilities: inclusion probabilities of the labelled texts, [n], as a plan gives them, or
            others in their ratios; by default equal within a stratum.
        level: probability that the interval holds the mean, in (0, 1).

    Returns:
        The mean and its interval, of "these" texts and of texts "like-these", the population that
        they were drawn from.

    Raises:
        InputError: an array has another shape or an invalid value.

    References:
        Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference.
        Särndal, Swensson and Wretman (1992), Model assisted survey sampling, chapters 3 to 8.
    """
    f, y = _finite(values, "values"), _finite(labels, "labels")
    rows = _as_rows(rows, len(f), len(y))
    check_level(level)
    size, n, predicted = len(f), len(y), f[rows]
    w = 1 / as_probabilities(probabilities, n)
    codes, units = _join_sparse(strata, rows, size, w), number_cells(clusters, "clusters", size)
    if units is not None or not is_even(w, codes[rows]):
        codes = np.zeros(size, np.int64)
    stratum, texts = codes[rows], np.bincount(codes)
    w *= (texts / np.bincount(stratum, w))[stratum]
    weight = 0.0
    if n >= len(texts) + TUNED and np.ptp(y) > 0:
        apart = predicted - w @ predicted / size
        spread = w @ apart**2
        weight = float(np.clip(w @ (apart * y) / spread, 0, 1)) if spread > 0 else 0.0
    mean = weight * f.mean() + w @ (y - weight * predicted) / size
    sample = Sample(w, stratum, texts, None if units is None else units[rows])
    variance, free, least = np.inf, 1.0, (1e-9 * max(np.abs(f).max(), np.abs(y).max())) ** 2
    for varying in (y - weight * predicted, predicted):
        result, free = sample.variance(varying, weight > 0)
        if least < result < np.inf:
            variance = result
            break
    if n == size:
        variance = 0.0
    means, quantile = {}, stdtrit(free, (1 + level) / 2)
    for of, more in (("these", 0.0), ("like-these", _population_variance(f, y, w, rows, units))):
        half = quantile * np.sqrt(variance + more)
        means[of] = RectifiedMean(float(mean), float(mean - half), float(mean + half), weight)
    return means


class Sample(NamedTuple):
    """How the labelled texts were drawn.

    Attributes:
        weights: what each stands for, [n].
        stratum: of each, 0..H-1.
        texts: number of texts of each stratum.
        clusters: of each; None where texts were drawn one by one.
    """

    weights: Float64[np.ndarray, " n"]
    stratum: Int64[np.ndarray, " n"]
    texts: Int64[np.ndarray, " H"]
    clusters: Int64[np.ndarray, " n"] | None

    def variance(self, varying: Float64[np.ndarray, " n"], tuned: bool) -> tuple[float, float]:
        """Estimate the variance of the weighted mean, with its degrees of freedom.

        Args:
            varying: what is weighed.
            tuned: whether the predictions' weight was estimated, which takes one degree.
        """
        w, size, drop = self.weights, self.texts.sum(), tuned
        rest = w * (varying - (np.bincount(self.stratum, w * varying) / self.texts)[self.stratum])
        left = np.maximum(1 - 1 / w, 0)
        if self.clusters is None:
            count = np.bincount(self.stratum)
            parts = np.bincount(self.stratum, left * rest**2)
        else:
            sums, drop = np.bincount(self.clusters, np.sqrt(left) * rest), False
            # Clusters of very unlike sizes tell as much as fewer of one size (Kish).
            sizes = np.bincount(self.clusters, w)
            count = np.array([sizes.sum() ** 2 / np.sum(sizes**2)])
            parts = np.array([sums @ sums])
        free = count.sum() - len(count) - drop
        if free < 1:
            return np.inf, 1.0
        alone, lost = np.maximum(count - 1, 1), (free + drop) / free
        if len(count) > 1 and parts.sum() > 0 and not is_even(w):
            # Few labels may stand for most texts: their variance is drawn to that of all, as by
            # `POOLED` labels more, and the degrees of freedom are Satterthwaite's. Labels of a
            # stratum that is labelled to the last vary, too.
            squares, scale = np.bincount(self.stratum, rest**2), (self.texts / count) ** 2
            pooled = np.sum(squares / scale) / (count.sum() - len(count))
            parts = (squares + POOLED * pooled * scale) * (1 - count / self.texts)
            parts *= count / (count - 1 + POOLED)
            free = min(free, parts.sum() ** 2 / np.sum(parts**2 / (count - 1 + POOLED)))
            return float(parts.sum() * lost / size**2), float(max(free, 1))
        return float(np.sum(parts * count / alone) * lost / size**2), float(free)


def _population_variance(
    f: np.ndarray, y: np.ndarray, w: np.ndarray, rows: np.ndarray, units: np.ndarray | None
) -> float:
    """Estimate the variance of the mean label of N texts, or of whole clusters of them."""
    size, n = len(f), len(y)
    centre = w @ y / w.sum()
    variance = w @ (y - centre) ** 2 / w.sum() * n / max(n - 1, 1)
    if not variance > 0:
        variance = f.var()
    if units is None:
        return float(variance / size)
    sizes, alike = np.bincount(units), _correlation(y, units[rows])
    alike = _correlation(f, units) if alike is None else alike
    return float(variance * (1 + (sizes @ sizes / size - 1) * (alike or 0.0)) / size)


def _correlation(values: np.ndarray, units: np.ndarray) -> float | None:
    """Estimate how alike values of a cluster are (the analysis of variance's correlation)."""
    units, count = np.unique(units, return_inverse=True, return_counts=True)[1:]
    within, between = len(values) - len(count), len(count) - 1
    if within < 1 or between < 1:
        return None
    means = np.bincount(units, values) / count
    inner = np.sum((values - means[units]) ** 2) / within
    outer = np.sum((means[units] - values.mean()) ** 2) / between
    typical = (len(values) - count @ count / len(values)) / between
    spread = outer + (typical - 1) * inner
    return float(np.clip((outer - inner) / spread, 0, 1)) if spread > 0 else 0.0


def number_cells(cells: Any, noun: str, size: int) -> Int64[np.ndarray, " N"] | None:
    """Number strata or clusters, 0, 1, ..., one for each text; None where there are none."""
    if cells is None:
        return None
    cells = np.asarray(unmasked(cells))
    if cells.dtype.kind not in "iu":
        check_cells(noun, cells, size)
    codes = np.unique(cells, return_inverse=True)[1]
    if codes.shape != (size,):
        raise InputError(f"{noun} must have one entry per text: expected {size}; got {len(codes)}.")
    return codes


def is_even(weights: Float64[np.ndarray, " n"], strata: Any = 0) -> bool:
    """Return whether the weights within each stratum are about equal."""
    strata = np.broadcast_to(strata, len(weights))
    return all(np.ptp(np.log(weights[strata == s])) <= EVEN + 1e-9 for s in np.unique(strata))


def _join_sparse(
    strata: Any, rows: np.ndarray, size: int, weights: np.ndarray
) -> Int64[np.ndarray, " N"]:
    """Number the strata, those with fewer than two labels joined with the next.

    Where labels weigh unlike one is enough, as the variance of all strata counts, and strata
    without labels come after those whose labels stand for most texts.
    """
    codes = number_cells(strata, "strata", size)
    if codes is None:
        return np.zeros(size, np.int64)
    counts = np.bincount(codes[rows], minlength=codes.max() + 1)
    if not is_even(weights):
        sums = np.bincount(codes[rows], weights, minlength=len(counts))
        order = np.argsort(np.where(counts, sums / np.maximum(counts, 1), np.inf), kind="stable")
        codes, counts = np.argsort(order)[codes], counts[order]
    homes, home, seen, least = [], 0, 0, 2 if is_even(weights) else 1
    for labels in counts:
        homes.append(home)
        seen += labels
        if seen >= least:
            home, seen = home + 1, 0
    # What is left over at the end belongs to the last that is complete.
    return np.minimum(homes, max(home - 1, 0))[codes]


def as_probabilities(probabilities: Any, n: int) -> Float64[np.ndarray, " n"]:
    """Validate inclusion probabilities; ones where there are none.

    Raises:
        InputError: there are not n, or one is not above 0 and at most 1.
    """
    if probabilities is None:
        return np.ones(n)
    shares = _finite(probabilities, "probabilities")
    wrong = np.flatnonzero((shares <= 0) | (shares > 1))
    if len(shares) != n or wrong.size:
        result = f"{quote(shares[wrong[0]])} in {name_rows(wrong)}" if wrong.size else len(shares)
        raise InputError(
            f"probabilities must have one value in (0, 1] for each of the {n} labels; got {result}."
        )
    return shares


def _as_rows(rows: Any, size: int, n: int) -> Int64[np.ndarray, " n"]:
    result = np.asarray(unmasked(rows))
    inside = result.dtype.kind in "iu" and result.size and 0 <= result.min() and result.max() < size
    if result.shape != (n,) or not inside or len(np.unique(result)) < n:
        raise InputError(
            f"rows must list a distinct position (0..{size - 1}) for each of the {n} labels; got "
            f"{quote(rows)}."
        )
    return result.astype(np.int64)


def _finite(values: Any, name: str) -> Float64[np.ndarray, " n"]:
    numbers = as_numbers(values, name)
    wrong = np.flatnonzero(~np.isfinite(numbers.ravel()))
    if numbers.ndim != 1 or not numbers.size or wrong.size:
        more = f" with non-finite values in {name_rows(wrong)}" if wrong.size else ""
        raise InputError(
            f"{name} must be an array [n] of finite numbers; got shape {list(numbers.shape)}{more}."
        )
    return numbers

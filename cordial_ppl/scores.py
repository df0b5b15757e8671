"""Scores of predictions on an ordered scale, and intervals for differences between two scores.

Predictions are probabilities [n, K]; labels are positions 0..K-1 on the scale, [n]. Every function
validates its input and raises an `InputError` that names the first invalid row.
"""

from itertools import batched
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from cordial_ppl.data.checks import check_level, check_number, check_seed
from cordial_ppl.data.containers import as_cells, as_numbers
from cordial_ppl.data.frames import aligned
from cordial_ppl.data.labelling import as_weights, sum_at
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded, name_rows, quote
from cordial_ppl.runtime.arrays import FLOOR

SUM_TOLERANCE = 1e-6
"""Largest distance from one of the sum of a row of probabilities."""

CHUNK = 1 << 22
"""Most resampling weights that are held at a time."""


def log_loss(
    probs: ArrayLike, labels: ArrayLike, floor: float = FLOOR, *, per_text: bool = False
) -> Any:
    """Compute the log loss of the labels, `mean_i -log max(p_i[z_i], floor)`, in nats.

    Args:
        probs: probabilities [n, K]; not renormalised after the floor is applied.
        labels: positions [n] on the scale, 0..K-1.
        floor: lower bound on probabilities, in (0, 1).
        per_text: return the n losses instead of their mean.
    """
    p, z = _predictions(probs, labels)
    losses = -np.log(np.maximum(p[np.arange(len(z)), z], check_level(floor, "floor", FLOOR)))
    return losses if per_text else float(losses.mean())


def neg_log_loss(estimator: Any, logits: Any, labels: Any) -> float:
    """Score a fitted estimator by its negative log loss, for scikit-learn's `scoring=`.

    Columns are matched to `estimator.classes_`, in the scale's order, so the labels of a fold may
    lack some options. scikit-learn's own "neg_log_loss" needs every option, sorted by name.

    Args:
        estimator: A fitted classifier of options, with `predict_proba` and `classes_`.
        logits: option logits [n, K].
        labels: the labels, in the form that `estimator.fit` accepts.

    Returns:
        Minus the log loss, in nats; greater is better.
    """
    probs = np.asarray(estimator.predict_proba(logits))
    scale = Scale.of(list(estimator.classes_), probs.shape[1])
    return -log_loss(probs, scale.encode(aligned(logits, labels, "labels")))


def rps(probs: ArrayLike, labels: ArrayLike, *, per_text: bool = False) -> Any:
    """Compute the ranked probability score, `mean_i sum_{t<K-1} (P_i(z <= t) - 1{z_i <= t})^2`.

    The sum is not divided by the number of thresholds: 0 is perfect, K - 1 is the worst score
    (Epstein, 1969).

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
        per_text: return the n scores instead of their mean.
    """
    p, z = _predictions(probs, labels)
    reached = z[:, None] <= np.arange(p.shape[1] - 1)
    scores = ((p.cumsum(axis=1)[:, :-1] - reached) ** 2).sum(axis=1)
    return scores if per_text else float(scores.mean())


def accuracy(probs: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Compute the share of texts whose most probable option is the label (ties: lowest option).

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
        weights: weight of each text [n]; one by default.
    """
    p, z = _predictions(probs, labels)
    counted = as_weights(aligned(probs, weights, "weights"), np.arange(len(z)), noun="weights")
    return float(np.average(p.argmax(axis=1) == z, weights=counted))


def quadratic_weighted_kappa(probs: ArrayLike, labels: ArrayLike) -> float:
    """Compute the agreement between the most probable option and the label, beyond chance.

    `1 - sum_i (y_i - z_i)^2 / E sum_i (y_i - z_i)^2`, where chance pairs predictions and labels
    at random. The result is 0 if either is constant (Cohen, 1968).

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
    """
    p, z = _predictions(probs, labels)
    y = p.argmax(axis=1)
    if np.ptp(z) == 0 or np.ptp(y) == 0:
        return 0.0
    chance = y.var() + z.var() + (y.mean() - z.mean()) ** 2
    return float(1 - ((y - z) ** 2).mean() / chance)


def mean_absolute_error(probs: ArrayLike, labels: ArrayLike) -> float:
    """Compute the mean error of predicted means, `mean_i |sum_k k p_i[k] - z_i|`, classes.

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
    """
    p, z = _predictions(probs, labels)
    return float(np.abs(p @ np.arange(p.shape[1]) - z).mean())


def class_weighted_kl(
    probs: ArrayLike, labels: ArrayLike, stated: ArrayLike, floor: float = FLOOR
) -> float:
    """Compute miscalibration by stated class, `sum_c n_c / n KL(h_c || mean p_c)`, in nats.

    `h_c` is the label histogram of the `n_c` texts whose raw reading is most probable at c; `mean
    p_c` is the mean prediction for these texts.

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
        stated: the most probable option [n] of the raw reading, 0..K-1.
        floor: lower bound on mean probabilities, in (0, 1).
    """
    p, z = _predictions(probs, labels)
    _, c = _predictions(probs, stated, name="stated")
    observed = means_given_stated(np.eye(p.shape[1])[z], c)[c, z]
    predicted = np.maximum(means_given_stated(p, c), check_level(floor, "floor", FLOOR))[c, z]
    return float(np.log(observed / predicted).mean())


def means_given_stated(
    probs: Float[np.ndarray, "n K"], stated: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "K K"]:
    """Average the predictions for each stated class, `mean_{i: c_i = c} p_i`.

    Args:
        probs: probabilities [n, K]; one-hot rows give the label histogram of each class.
        stated: the most probable option [n] of the raw reading, 0..K-1.

    Returns:
        Probabilities [K, K], row c for stated class c; NaN where no text has that class.
    """
    size = probs.shape[1]
    texts = np.bincount(stated, minlength=size)[:, None]
    totals = sum_at(stated, probs, (size, size))
    return np.divide(totals, texts, out=np.full_like(totals, np.nan), where=texts > 0)


def reversals(probs: ArrayLike, tolerance: float = 0.05) -> Bool[np.ndarray, " pairs"]:
    """Find adjacent pairs of ordered readings whose predictions are in the wrong order.

    The reading behind row y is lower than the reading behind row y + 1; for example, two saturated
    readings of adjacent classes. A pair is reversed when
    `max_t P_{y+1}(z <= t) - P_y(z <= t) > tolerance`.

    Args:
        probs: probabilities [m, K], rows in the order of their readings.
        tolerance: cumulative probability that may be out of order without a reversal.

    Returns:
        One truth value for each of the m - 1 pairs.
    """
    return np.diff(as_probabilities(probs).cumsum(axis=1)[:, :-1], axis=0).max(axis=1) > tolerance


def crossover(d_u: float, d_s: float, delta: float) -> float:
    """Estimate the labels at which an unrestricted calibrator wins, `(d_u - d_s) / (2 delta)`.

    Args:
        d_u: parameters of the unrestricted calibrator, K (K + 1) for Dirichlet calibration.
        d_s: parameters of the structured calibrator, 5 for the affine channel.
        delta: expected log loss (nats) of the best structured calibrator minus that of the best
            unrestricted calibrator.

    Returns:
        A number of labels; infinite for `delta` <= 0.

    Raises:
        InputError: a value is not a finite number, or d_u < d_s.
    """
    numbers = [isinstance(value, Real) and np.isfinite(value) for value in (d_u, d_s, delta)]
    if not all(numbers) or d_u < d_s:
        raise InputError(
            f"d_u, d_s and delta must be finite numbers with d_u >= d_s; got "
            f"d_u={quote(d_u)}, d_s={quote(d_s)}, delta={quote(delta)}."
        )
    return (d_u - d_s) / (2 * delta) if delta > 0 else float("inf")


class Interval(NamedTuple):
    """A mean difference and its bootstrap interval, in the units of the scores.

    Attributes:
        mean: mean difference over texts and subsets.
        lower: lower end.
        upper: upper end.
    """

    mean: Any
    lower: Any
    upper: Any

    @property
    def resolved(self) -> Any:
        """Return whether the interval excludes zero."""
        return (self.lower > 0) | (self.upper < 0)


def paired_bootstrap(
    differences: Float[np.ndarray, "*methods S n"],
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Bootstrap the mean difference of two methods' losses over texts and label subsets.

    Each draw samples n texts and S subsets independently, with replacement, and averages
    `D[s, i] = loss of one method - loss of the other` over both:
    `sum_si a_s b_i D[s, i] / (S n)`, where a and b count how often each was sampled. Several
    methods share the draws. The interval runs between the `(1 -+ level) / 2` quantiles of the draws
    (Efron and Tibshirani, 1993).

    Args:
        differences: differences on S label subsets and n scored texts, for one or several methods.
        level: share of the draws inside the interval, in (0, 1).
        draws: number of bootstrap draws.
        seed: seed of NumPy's generator.

    Returns:
        The mean difference and the ends of its interval: numbers, or arrays with one entry per
        method.

    Raises:
        InputError: the differences have the wrong shape or are not all finite, or a setting is out
            of range.
    """
    differences = as_numbers(differences, "differences")
    if differences.ndim < 2 or not differences.size or not np.isfinite(differences).all():
        raise InputError(
            "differences must be a finite array of shape [S, n] or [methods, S, n] (S subsets, n "
            f"texts); got shape {differences.shape} (non-finite values: "
            f"{(~np.isfinite(differences)).sum()})."
        )
    *methods, subsets, n = differences.shape
    level, draws = check_level(level), int(check_number("draws", draws, 1, whole=True))
    rng, parts = np.random.default_rng(check_seed(seed)), []
    for chunk in batched(range(draws), max(1, CHUNK // max(n, differences.size // n))):
        texts, rows = (_times_taken(rng, len(chunk), size) for size in (n, subsets))
        sums = (texts @ differences.reshape(-1, n).T).reshape(len(chunk), -1, subsets)
        parts.append(np.einsum("cms,cs->cm", sums, rows) / (subsets * n))
    ends = np.quantile(np.concatenate(parts), [(1 - level) / 2, (1 + level) / 2], axis=0)
    interval = [differences.mean(axis=(-2, -1)), *ends.reshape(2, *methods)]
    return Interval(*(interval if methods else map(float, interval)))


def _times_taken(
    rng: np.random.Generator, draws: int, size: int
) -> Float[np.ndarray, "draws size"]:
    """Count how often each of `size` things is among `size` draws with replacement."""
    taken = rng.integers(0, size, (draws, size)) + size * np.arange(draws)[:, None]
    return np.bincount(taken.ravel(), minlength=draws * size).reshape(draws, size).astype(float)


def as_probabilities(probs: ArrayLike) -> Float[np.ndarray, "n K"]:
    """Check that rows are distributions over at least two options."""
    p = as_numbers(probs, "probs")
    if p.ndim != 2 or p.shape[0] < 1 or p.shape[1] < 2:
        raise InputError(f"probs must have n >= 1 rows and K >= 2 columns; got shape {p.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        sums = p.sum(axis=1)
    wrong = np.flatnonzero(~(p >= 0).all(axis=1) | ~(np.abs(sums - 1) <= SUM_TOLERANCE))
    if wrong.size:
        hint = "Divide each row by its sum."
        if not (sums[wrong] > 0).all():
            hint = "Remove rows without a prediction."
        if ((p[wrong] < 0) | (p[wrong] > 1)).any():
            hint = "If these are logits, convert them to probabilities with a softmax first."
        raise InputError(
            "each row of probs must contain finite, non-negative numbers that sum to one (within "
            f"{SUM_TOLERANCE}). Check {name_rows(wrong)}. {hint}"
        )
    return p


def _predictions(
    probs: ArrayLike, labels: ArrayLike, *, name: str = "labels"
) -> tuple[Float[np.ndarray, "n K"], Int[np.ndarray, " n"]]:
    """Check predictions and the labels (or stated classes) that go with them."""
    p, labels = as_probabilities(probs), aligned(probs, labels, name)
    try:
        return p, Scale.default(p.shape[1]).encode(as_cells(labels, name, len(p)), noun=name)
    except SettingNeeded as error:  # There are no options to set.
        advice = f"Pass positions: 0 for the first option to {p.shape[1] - 1} for the last."
        raise InputError(f"{error.problem} {advice}") from error

"""How good predictions on an ordered scale are: every score that the package reports.

Predictions are probabilities [n, K], labels positions 0..K-1 on the scale, [n]. Every function
validates them and raises an `InputError` that names the first row at fault.
"""

from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from cordial_ppl.arrays import FLOOR
from cordial_ppl.containers import as_numbers, unmasked
from cordial_ppl.errors import InputError, name_rows, quote
from cordial_ppl.scale import Scale

SUM_TOLERANCE = 1e-6
"""Largest distance from one of the sum of a row of probabilities."""


def log_loss(
    probs: ArrayLike, labels: ArrayLike, floor: float = FLOOR, *, per_text: bool = False
) -> Any:
    """Log loss of the labels, `mean_i -log max(p_i[z_i], floor)`, in nats.

    Args:
        probs: probabilities [n, K]; they are not normalised again after the floor.
        labels: positions [n] on the scale, 0..K-1.
        floor: the least probability, in (0, 1).
        per_text: return the n losses instead of their mean.
    """
    p, z = _predictions(probs, labels)
    losses = -np.log(np.maximum(p[np.arange(len(z)), z], _checked_floor(floor)))
    return losses if per_text else float(losses.mean())


def rps(probs: ArrayLike, labels: ArrayLike, *, per_text: bool = False) -> Any:
    """Ranked probability score, `mean_i sum_{t<K-1} (P_i(z <= t) - 1{z_i <= t})^2`.

    It is not divided by the number of thresholds: 0 is perfect, K - 1 the worst (Epstein, 1969).

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
        per_text: return the n scores instead of their mean.
    """
    p, z = _predictions(probs, labels)
    reached = z[:, None] <= np.arange(p.shape[1] - 1)[None, :]
    scores = ((_cumulative(p) - reached) ** 2).sum(axis=1)
    return scores if per_text else float(scores.mean())


def accuracy(probs: ArrayLike, labels: ArrayLike) -> float:
    """Share of texts whose most probable option, the lowest of equals, is the label.

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
    """
    p, z = _predictions(probs, labels)
    return float((p.argmax(axis=1) == z).mean())


def quadratic_weighted_kappa(probs: ArrayLike, labels: ArrayLike) -> float:
    """Agreement of the most probable option with the label beyond chance (Cohen, 1968).

    `1 - sum_i (y_i - z_i)^2 / E sum_i (y_i - z_i)^2`, where chance pairs predictions and labels
    at random; 0 if either is constant.

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
    """
    p, z = _predictions(probs, labels)
    y = p.argmax(axis=1)
    if len(np.unique(z)) == 1 or len(np.unique(y)) == 1:
        return 0.0
    options = np.arange(p.shape[1])
    shares = [np.bincount(found, minlength=p.shape[1]) / len(z) for found in (y, z)]
    chance = shares[0] @ np.subtract.outer(options, options) ** 2 @ shares[1]
    return float(1 - ((y - z) ** 2).mean() / chance)


def mean_absolute_error(probs: ArrayLike, labels: ArrayLike) -> float:
    """Distance of the predicted mean from the label, `mean_i |sum_k k p_i[k] - z_i|`, in classes.

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
    """
    p, z = _predictions(probs, labels)
    return float(np.abs(p @ np.arange(p.shape[1]) - z).mean())


def class_weighted_kl(
    probs: ArrayLike, labels: ArrayLike, stated: ArrayLike, floor: float = FLOOR
) -> float:
    """Miscalibration given the reader's stated class, `sum_c n_c / n KL(h_c || mean p_c)`, in nats.

    `h_c` is the label histogram of the `n_c` texts whose reading has its mode at c, `mean p_c` the
    mean prediction for them.

    Args:
        probs: probabilities [n, K].
        labels: positions [n] on the scale, 0..K-1.
        stated: the most probable option [n] of the raw reading, 0..K-1.
        floor: the least mean probability, in (0, 1).
    """
    p, z = _predictions(probs, labels)
    _, c = _predictions(probs, stated, name="stated")
    counts, totals = np.zeros((2, p.shape[1], p.shape[1]))
    np.add.at(counts, (c, z), 1.0)
    np.add.at(totals, c, p)
    group = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    observed, predicted = counts / group, np.maximum(totals / group, _checked_floor(floor))
    ratio = np.where(observed > 0, observed, predicted) / predicted
    return float((counts * np.log(ratio)).sum() / len(z))


def reversals(probs: ArrayLike, tolerance: float = 0.05) -> Bool[np.ndarray, " pairs"]:
    """Which neighbours of ordered readings are predicted in the wrong order.

    Row y is the prediction for a reading that lies below row y + 1's, such as two saturated
    readings of adjacent classes. The pair is reversed when
    `max_t P_{y+1}(z <= t) - P_y(z <= t) > tolerance`.

    Args:
        probs: probabilities [m, K], rows in the order of their readings.
        tolerance: how much cumulative probability may be out of order.

    Returns:
        One truth value for each of the m - 1 pairs.
    """
    rises = np.diff(_cumulative(as_probabilities(probs)), axis=0)
    return rises.max(axis=1) > tolerance


def crossover(d_u: float, d_s: float, delta: float) -> float:
    """Labels from which an unrestricted calibrator is expected to lead, `(d_u - d_s) / (2 delta)`.

    Args:
        d_u: parameters of the unrestricted calibrator, K (K + 1) for Dirichlet calibration.
        d_s: parameters of the structured one, 5 for the affine channel.
        delta: expected log loss (nats) that the best structured calibrator loses to the best
            unrestricted one.

    Returns:
        A number of labels; infinite for `delta` <= 0.

    Raises:
        InputError: a value is not a finite number, or d_u < d_s.
    """
    if not np.isfinite([d_u, d_s, delta]).all() or d_u < d_s:
        raise InputError(
            "crossover needs finite d_u >= d_s and a finite delta; "
            f"got d_u={d_u}, d_s={d_s}, delta={delta}."
        )
    return (d_u - d_s) / (2 * delta) if delta > 0 else float("inf")


def as_probabilities(probs: ArrayLike) -> Float[np.ndarray, "n K"]:
    """Check that rows are distributions over at least two options."""
    try:
        p = as_numbers(probs)
    except ValueError as error:
        raise InputError(f"probs must be numbers in n rows of K options: {error}") from error
    hint = "For logits, take their softmax first."
    if p.ndim != 2 or p.shape[0] < 1 or p.shape[1] < 2:
        raise InputError(
            f"probs must have n >= 1 rows and K >= 2 columns; got shape {p.shape}. {hint}"
        )
    positive = (np.isfinite(p) & (p >= 0)).all(axis=1)
    with np.errstate(over="ignore"):
        totals = p.sum(axis=1)
    for good, rule in (
        (positive, "be finite and not negative"),
        (np.abs(totals - 1) <= SUM_TOLERANCE, f"sum to one within {SUM_TOLERANCE}"),
    ):
        if not good.all():
            rows = name_rows(np.flatnonzero(~good))
            raise InputError(f"each row of probs must {rule}; not so in {rows}. {hint}")
    return p


def _cumulative(probs: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n thresholds"]:
    """P(z <= t) at the K - 1 thresholds where it is not one."""
    return np.cumsum(probs, axis=1)[:, :-1]


def _predictions(
    probs: ArrayLike, labels: ArrayLike, *, name: str = "labels"
) -> tuple[Float[np.ndarray, "n K"], Int[np.ndarray, " n"]]:
    """Check predictions and the labels (or stated classes) that go with them."""
    p = as_probabilities(probs)
    try:
        z = np.asarray(unmasked(labels))
    except Exception as error:  # A container may raise anything when it is made an array.
        raise InputError(f"{name} must be one a row of probs: {error}.") from error
    if z.shape != p.shape[:1]:
        raise InputError(
            f"{name} must be one a row of probs, shape ({len(p)},); got shape {z.shape}."
        )
    return p, Scale.default(p.shape[1]).encode(z, noun=name)


def _checked_floor(floor: float) -> float:
    if not isinstance(floor, Real) or not 0 < floor < 1:
        raise InputError(
            f"floor must lie between 0 and 1; got {quote(floor)}. The default is {FLOOR}."
        )
    return floor

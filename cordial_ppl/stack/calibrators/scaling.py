"""Temperature scaling, vector scaling, and what needs no search for its parameters.

Temperature scaling is one number that makes a reader more or less confident, vector scaling a
weight and a bias for each option's logit.  The raw reading, batch calibration and the label
histogram are vector scaling with parameters in closed form.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, logsumexp, softmax

from cordial_ppl.runtime.arrays import EPS, TINY, AnyArray
from cordial_ppl.stack.calibrators.regression import fit_softmax
from cordial_ppl.stack.calibrators.samples import BatchLogits, BatchLogProbs, Samples

LOWEST, HIGHEST = 0.05, 200.0
"""Bounds of the temperature: it goes to zero if classes are separated, to infinity if the reading
carries no information."""

HALVINGS = 55
"""After so many, the interval is as short as rounding."""

RIDGE = 1e-3
"""Default pull towards the raw reading; without it a class without labels has no optimum."""


class Temperature(NamedTuple):
    """Fitted temperature; above one the reader was overconfident."""

    temperature: Float[AnyArray, "*sets"]


def fit_temperature(data: Samples) -> Temperature:
    """Maximise the likelihood of `softmax(logits / tau)` over `tau` in [0.05, 200].

    The log loss is convex in `1 / tau`: bisection finds the root of its slope.

    Args:
        data: readings and labels.

    Returns:
        The temperature: a bound if the likelihood has no maximum between them, one if every
        temperature is as likely (no labels, or readings that are all flat).

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    logits, seen = data.logits, data.chosen.sum(axis=1)
    observed = (data.chosen * logits).sum(axis=1)

    def slope(log_tau: np.ndarray) -> np.ndarray:
        """Compute the slope of the loss in `1 / tau`."""
        probs = softmax(np.exp(-log_tau)[:, None, None] * logits, axis=1)
        return (seen * (probs * logits).sum(axis=1) - observed).sum(axis=1)

    low, high = (np.full(len(seen), np.log(bound)) for bound in (LOWEST, HIGHEST))
    steepest = np.maximum(np.abs(slope(low)), np.abs(slope(high)))
    flat = steepest <= 64.0 * EPS * np.abs(logits).max(axis=(1, 2), initial=0.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        rising = slope(middle) > 0.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return Temperature(data.unfold(np.where(flat, 1.0, np.exp(0.5 * (low + high)))))


def temperature_log_probs(params: Temperature, logits: BatchLogits) -> BatchLogProbs:
    """Compute `log softmax(logits / tau)`, nats, of readings `[*sets, m, K]`."""
    tau = np.asarray(params.temperature)[..., None, None]
    return log_softmax(np.asarray(logits) / tau, axis=-1)


class Vector(NamedTuple):
    """Fitted weights (one in the raw reading) and biases (nats; zero in the raw reading)."""

    weights: Float[AnyArray, "*sets K"]
    bias: Float[AnyArray, "*sets K"]


def fit_vector(data: Samples, ridge: float = RIDGE) -> Vector:
    """Fit `softmax(w * logits + b)` by ridge-penalised maximum likelihood.

    Minimises the strictly convex `mean log loss + ridge / 2 (|w - 1|^2 + |b|^2)`.

    Args:
        data: readings and labels.
        ridge: strength of the penalty, positive.

    Returns:
        The weights and biases; ones and zeros if there are no labels.

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    features = np.stack([data.logits, np.ones_like(data.logits)], axis=2)
    centre = np.tile([1.0, 0.0], (data.chosen.shape[1], 1))
    coefs = fit_softmax(features, data.chosen, np.full_like(centre, ridge)[None], centre)
    return Vector(data.unfold(coefs[:, :, 0]), data.unfold(coefs[:, :, 1]))


def vector_log_probs(params: Vector, logits: BatchLogits) -> BatchLogProbs:
    """Compute `log softmax(w * logits + b)`, nats, of readings `[*sets, m, K]`."""
    weights, bias = (np.asarray(part)[..., None, :] for part in params)
    return log_softmax(weights * np.asarray(logits) + bias, axis=-1)


def fit_raw(data: Samples) -> Vector:
    """Fit nothing: the prediction is `softmax(logits)`, whatever the readings and labels."""
    zeros = data.unfold(np.zeros(data.chosen.shape[:2]))
    return Vector(zeros + 1.0, zeros)


def fit_batch(data: Samples) -> Vector:
    """Divide by the mean prediction m: `softmax(logits) / m`, `m = mean_i softmax(logits_i)`.

    Args:
        data: readings, and labels of the texts in the mean: which labels is the same.

    Returns:
        Weights of one and biases `-log m`, zero for an empty batch.

    Source:
        Zhou et al. (2024), "Batch calibration: rethinking calibration for in-context learning and
        prompt engineering".
    """
    any_seen = data.counts[:, None] > 0
    counted = np.where(any_seen, data.chosen.sum(axis=1), 1.0)[:, None]
    # A sum of exponentials: an option that no text favours has a mean far below rounding.
    logs = log_softmax(data.logits, axis=1) + np.log(np.maximum(counted, TINY))
    log_mean = logsumexp(np.where(counted > 0, logs, -np.inf), axis=2)
    bias = np.where(any_seen, np.log(data.divisors)[:, None] - log_mean, 0.0)
    return Vector(data.unfold(np.ones_like(bias)), data.unfold(bias))


def fit_histogram(data: Samples) -> Vector:
    """Count the labels by weight, `(count_k + 1) / (n + K)`: the prediction for every text.

    Args:
        data: labels, and readings of which only the shape is used.

    Returns:
        Weights of zero, and the logs of the shares as biases; equal ones without labels.
    """
    counts = data.chosen.sum(axis=2) + 1.0
    shares = data.unfold(counts / counts.sum(axis=1, keepdims=True))
    return Vector(np.zeros_like(shares), np.log(shares))

"""Temperature scaling: one number that makes a reader more or less confident."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, softmax

from cordial_ppl.runtime.arrays import AnyArray
from cordial_ppl.stack.calibrators.samples import (
    BatchLabels,
    BatchLogits,
    BatchLogProbs,
    BatchWeights,
    as_samples,
)

LOWEST, HIGHEST = 0.05, 200.0
"""Bounds of the temperature: it goes to zero if classes are separated, to infinity if the reading
carries no information."""

HALVINGS = 55
"""After so many, the interval is as short as rounding."""

EPS = float(np.finfo(np.float64).eps)


class Temperature(NamedTuple):
    """Fitted temperature; above one the reader was overconfident."""

    temperature: Float[AnyArray, "*sets"]


def fit_temperature(
    logits: BatchLogits, labels: BatchLabels, weights: BatchWeights = None
) -> Temperature:
    """Maximise the likelihood of `softmax(logits / tau)` over `tau` in [0.05, 200].

    The log loss is convex in `1 / tau`: bisection finds the root of its slope.

    Args:
        logits: readings `[*sets, n, K]`, nats.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.
        weights: of the labels, `[*sets, n]`.

    Returns:
        The temperature: a bound if the likelihood has no maximum between them, one if every
        temperature is as likely (no labels, or readings that are all flat).

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    data = as_samples(logits, labels, weights)
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

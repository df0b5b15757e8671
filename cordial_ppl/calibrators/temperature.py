"""Temperature scaling: one number that makes a reader more or less sure of itself."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, softmax

from cordial_ppl.arrays import AnyArray
from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits, BatchLogProbs, as_samples

LOWEST, HIGHEST = 0.05, 200.0
"""Bounds of the temperature: separated classes push it to zero, a useless reader to infinity."""

MAX_STEPS = 200
EPS = float(np.finfo(np.float64).eps)


class Temperature(NamedTuple):
    """Fitted temperature; above one the reader was overconfident."""

    temperature: Float[AnyArray, "*sets"]


def fit_temperature(logits: BatchLogits, labels: BatchLabels) -> Temperature:
    """Maximise the likelihood of `softmax(logits / tau)` over `tau` in [0.05, 200].

    The log loss is convex in `1 / tau`, so its slope has one root: a Newton search for it, kept
    inside a bracket, which is halved where Newton's step does not shrink fast enough.

    Args:
        logits: readings `[*sets, n, K]`, nats.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The temperature: a bound where the likelihood has no maximum between them, one where every
        temperature is as likely (no labels, or readings that are all flat).

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    data = as_samples(logits, labels)
    logits, seen = data.logits, data.chosen.sum(axis=1, keepdims=True)
    own = (data.chosen * logits).sum(axis=1, keepdims=True)

    def slope(log_tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The loss's slope in `1 / tau`, and how that changes with `log tau`: never upwards."""
        inverse = np.exp(-log_tau)
        probs = softmax(inverse[:, None, None] * logits, axis=1)
        mean = (probs * logits).sum(axis=1, keepdims=True)
        spread = (seen * probs * (logits - mean) ** 2).sum(axis=(1, 2))
        return (seen * (mean - own)).sum(axis=(1, 2)), -inverse * spread

    low, high = (np.full(len(seen), np.log(bound)) for bound in (LOWEST, HIGHEST))
    at_low, at_high = slope(low)[0], slope(high)[0]
    flat = np.maximum(np.abs(at_low), np.abs(at_high)) <= 64.0 * EPS * np.abs(logits).max(
        axis=(1, 2), initial=0.0
    )
    ends = np.where(flat, 0.0, np.where(at_low <= 0.0, low, high))
    inside = (at_low > 0.0) & (at_high < 0.0) & ~flat
    point, length = np.where(inside, 0.5 * (low + high), ends), np.where(inside, high - low, 0.0)
    for _ in range(MAX_STEPS):
        going = length > 4.0 * EPS * (1.0 + np.abs(point))
        if not going.any():
            break
        value, change = slope(point)
        low, high = np.where(value > 0.0, point, low), np.where(value > 0.0, high, point)
        newton = point - value / np.where(change < 0.0, change, -np.inf)
        good = (newton >= low) & (newton <= high) & (change < 0.0)
        good &= np.abs(newton - point) <= 0.5 * length
        found = np.where(going, np.where(good, newton, 0.5 * (low + high)), point)
        point, length = found, np.abs(found - point)
    return Temperature(data.unfold(np.exp(point)))


def temperature_log_probs(params: Temperature, logits: BatchLogits) -> BatchLogProbs:
    """Log probabilities `log softmax(logits / tau)`.

    Args:
        params: the temperature.
        logits: readings `[*sets, m, K]`, nats.

    Returns:
        Log probabilities `[*sets, m, K]`, nats.
    """
    tau = np.asarray(params.temperature)[..., None, None]
    return log_softmax(np.asarray(logits) / tau, axis=-1)

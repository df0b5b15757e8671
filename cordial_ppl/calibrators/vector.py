"""Vector scaling: a weight and a bias for each option's logit."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from cordial_ppl.arrays import AnyArray
from cordial_ppl.calibrators.regression import fit_softmax
from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits, BatchLogProbs, as_samples

RIDGE = 1e-3
"""Default pull toward the reading as it is; without it a class that is missing has no optimum."""


class Vector(NamedTuple):
    """Fitted weights (one: as read) and biases (nats; zero: as read) of the options."""

    weights: Float[AnyArray, "*sets K"]
    bias: Float[AnyArray, "*sets K"]


def fit_vector(logits: BatchLogits, labels: BatchLabels, ridge: float = RIDGE) -> Vector:
    """Fit `softmax(w * logits + b)` by ridge-penalised maximum likelihood.

    Minimises the strictly convex `mean log loss + ridge / 2 (|w - 1|^2 + |b|^2)`.

    Args:
        logits: readings `[*sets, n, K]`, nats.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.
        ridge: strength of the penalty, positive.

    Returns:
        The weights and biases; ones and zeros if there are no labels.

    Source:
        Guo et al. (2017), "On calibration of modern neural networks".
    """
    data = as_samples(logits, labels)
    features = np.stack([data.logits, np.ones_like(data.logits)], axis=2)
    centre = np.tile([1.0, 0.0], (data.chosen.shape[1], 1))
    found = fit_softmax(features, data.chosen, np.full_like(centre, ridge)[None], centre)
    return Vector(data.unfold(found[:, :, 0]), data.unfold(found[:, :, 1]))


def vector_log_probs(params: Vector, logits: BatchLogits) -> BatchLogProbs:
    """Log probabilities `log softmax(w * logits + b)`.

    Args:
        params: weights and biases of the options.
        logits: readings `[*sets, m, K]`, nats.

    Returns:
        Log probabilities `[*sets, m, K]`, nats.
    """
    weights, bias = (np.asarray(part)[..., None, :] for part in params)
    return log_softmax(weights * np.asarray(logits) + bias, axis=-1)

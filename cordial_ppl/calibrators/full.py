r"""Full channel: any reading may become any label, shrunk toward the scalar channel.

.. math:: \hat p(z) = \sum_y T(z \mid y)\, q(y \mid x), \qquad
   T^0(z \mid y) = \beta\, [z = y] + (1 - \beta)\, \pi(z)

The reading q and the reliability beta are those of the scalar channel at its posterior mode, on
the temperature reading or on the vector-scaled one; of the K (K - 1) numbers of T, a few labels
move only those that they speak of.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from cordial_ppl.arrays import AnyArray
from cordial_ppl.calibrators.crossvalidation import cross_validate
from cordial_ppl.calibrators.samples import BatchLabels, BatchLogits, BatchLogProbs, some
from cordial_ppl.calibrators.vector import Vector, vector_log_probs
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.data import Labelled, pad
from cordial_ppl.inference.laplace import find_modes
from cordial_ppl.inference.target import build_target
from cordial_ppl.readings import label_histogram

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Pseudo-counts a row that cross-validation chooses from: from hardly any to the scalar channel."""

MAX_ROUNDS = 5000
TOLERANCE = float(np.finfo(np.float64).eps) ** 0.6

BatchChannel = Float[np.ndarray, "... K K"]
"""Channels, a row a stated option."""


class Full(NamedTuple):
    """Weights and biases (nats) of the reading's logits, and the channel, a row a stated option."""

    weights: Float[AnyArray, "*sets K"]
    bias: Float[AnyArray, "*sets K"]
    channel: Float[AnyArray, "*sets K K"]


class Scalar(NamedTuple):
    """The scalar channel: its reading, its reliability beta with 1 - beta, and the histogram pi."""

    reading: Vector
    reliability: Float[np.ndarray, "*sets"]
    doubt: Float[np.ndarray, "*sets"]
    histogram: Float[np.ndarray, "*sets K"]

    @property
    def channel(self) -> BatchChannel:
        """The matrix T^0, a row a stated option."""
        identity = np.eye(self.histogram.shape[-1])
        kept, lost = self.reliability[..., None, None], self.doubt[..., None, None]
        return kept * identity + lost * self.histogram[..., None, :]


def shrink_channel(
    probs: Float[AnyArray, "*#sets n K"],
    counts: Float[np.ndarray, "*#sets n K"],
    centre: Float[np.ndarray, "*#sets K K"],
    strength: Float[np.ndarray, "..."] | float,
) -> Float[np.ndarray, "*#sets K K"]:
    r"""Fit a channel whose rows are drawn to those of another.

    .. math:: \max_T\; \sum_{iz} c_{iz} \log \sum_y T(z \mid y)\, q_i(y)
        - \lambda \sum_y \mathrm{KL}(T^0_y \,\|\, T_y)

    This is concave.  In closed form an EM step is
    ``T(z|y) = (lambda T0(z|y) + sum_i c_iz r_iz(y)) / (lambda + sum_iz c_iz r_iz(y))``, where ``r``
    is the posterior of the stated option given the label: ``lambda T0`` acts as pseudo-counts.  Two
    steps are followed by a leap along the line that they draw, where that is better still.

    Args:
        probs: readings q, shape ``[*sets, n, K]``; leading axes are broadcast.
        counts: how often each reading got each label, shape ``[*sets, n, K]``.
        centre: T^0, positive, a row a stated option.
        strength: lambda > 0, in labels a row.

    Returns:
        The channel T; its rows sum to one.  Without labels it is the centre.

    Source:
        Dempster, Laird and Rubin (1977), "Maximum likelihood from incomplete data via the EM
        algorithm"; Varadhan and Roland (2008), "Simple and globally convergent methods for
        accelerating the convergence of any EM algorithm".
    """
    prior = np.asarray(strength)[..., None, None] * centre
    shape = np.broadcast_shapes(prior.shape[:-2], probs.shape[:-2], counts.shape[:-2])

    def flat(values: AnyArray, sets: tuple[int, ...] = shape) -> np.ndarray:
        return np.broadcast_to(values, sets + values.shape[-2:]).reshape(-1, *values.shape[-2:])

    # What all fits have in common is not repeated.
    probs, counts, prior = (
        flat(part, () if part.ndim == 2 else shape) for part in (probs, counts, prior)
    )
    found = flat(centre).copy()
    going = np.arange(len(found))
    for _ in range(MAX_ROUNDS):
        own = (some(part, going) for part in (probs, counts, prior))
        moved, change = _leap(found[going], *own)
        found[going] = moved
        going = going[change > TOLERANCE]
        if not len(going):
            break
    return found.reshape(*shape, *found.shape[1:])


def _leap(
    channel: np.ndarray, probs: np.ndarray, counts: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Two steps of EM and a leap along their line; how far the first step went."""

    def objective(channel: np.ndarray) -> np.ndarray:
        likelihood = (counts * np.log(probs @ channel)).sum(axis=(1, 2))
        return likelihood + (prior * np.log(channel)).sum(axis=(1, 2))

    def update(channel: np.ndarray) -> np.ndarray:
        # Text i adds q_i(y) T(z_i | y) / p_i(z_i) to the count of y and z_i.
        expected = prior + channel * (probs.swapaxes(1, 2) @ (counts / (probs @ channel)))
        return expected / expected.sum(axis=2, keepdims=True)

    once = update(channel)
    twice = update(once)
    move = once - channel
    bend = twice - once - move
    # EM creeps along nearly straight lines: as far along them as their bend allows.
    sizes = (np.linalg.norm(part, axis=(1, 2), keepdims=True) for part in (move, bend))
    length = next(sizes) / np.maximum(next(sizes), np.finfo(np.float64).tiny)
    leap = np.maximum(channel + 2.0 * length * move + length**2 * bend, 0.1 * twice)
    leap /= leap.sum(axis=2, keepdims=True)
    better = objective(leap) >= objective(twice)
    return np.where(better[:, None, None], leap, twice), np.abs(move).max(axis=(1, 2))


def fit_scalar(
    name: str, logits: Float[np.ndarray, "n K"], labels: Int[np.ndarray, "*sets n"]
) -> Scalar:
    """Fit a scalar channel at its posterior mode.

    Args:
        name: "scalar" or "scalar-vector".
        logits: readings `[n, K]`, nats.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The channel at the mode; at the mode of the prior if there are no labels.
    """
    *shape, texts = labels.shape
    size = logits.shape[1]
    target = build_target(CHANNELS[name], size)
    data = [
        pad(Labelled(logits, own, {}), own, label_histogram(own, size), np.float64)
        for own in labels.reshape(-1, texts)
    ]
    loc, scale = target.prior
    modes = loc + scale * np.stack([own.mean for own in find_modes(target, target.prior, data)])
    named = {
        site.name: modes[:, site.slice].reshape((*shape, *site.shape)) for site in target.sites
    }
    zeros = np.zeros((*shape, size))
    weights = np.exp(named.get("log_scale", zeros) - named["temperature"][..., None])
    log_odds = named["strength_log_odds"]
    return Scalar(
        Vector(weights, named.get("bias", zeros)),
        expit(log_odds),
        expit(-log_odds),
        np.reshape([own.histogram for own in data], zeros.shape),
    )


def fit_full(name: str, logits: BatchLogits, labels: BatchLabels) -> Full:
    """Fit a full channel whose distance from the scalar one is chosen by cross-validation.

    `lambda` of {0.3, 1, 3, ..., 300} has the lowest log loss out of four folds, ties to the larger;
    every fold fits the scalar channel anew.

    Args:
        name: the scalar channel to shrink toward, "scalar" or "scalar-vector".
        logits: readings `[*sets, n, K]`, nats, centred.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The reading's weights and biases, and the channel.

    Source:
        The paper's Section 2.5: full K x K channels shrunk toward the scalar one by cross-validated
        KL penalties.
    """

    def fit(logits: np.ndarray, labels: np.ndarray, strength: np.ndarray) -> Full:
        # The scalar channel is the same for every strength.
        scalar = fit_scalar(name, logits, labels[0])
        probs = np.exp(vector_log_probs(scalar.reading, logits))
        counts = (labels[..., None] == np.arange(probs.shape[-1])).astype(np.float64)
        channel = shrink_channel(probs, counts, scalar.channel, strength)
        weights, bias = (np.broadcast_to(part, channel.shape[:-1]) for part in scalar.reading)
        return Full(weights, bias, channel)

    return cross_validate(fit, full_log_probs, logits, labels, np.array(STRENGTHS))


fit_full_temperature = partial(fit_full, "scalar")
fit_full_vector = partial(fit_full, "scalar-vector")


def full_log_probs(params: Full, logits: BatchLogits) -> BatchLogProbs:
    """Log probabilities `log sum_y T(z|y) q(y)`, `q = softmax(w * logits + b)`.

    Args:
        params: weights and biases of the reading, and the channel.
        logits: readings `[*sets, m, K]`, nats, centred.

    Returns:
        Log probabilities `[*sets, m, K]`, nats.
    """
    stated = np.exp(vector_log_probs(Vector(params.weights, params.bias), logits))
    return np.log(stated @ np.asarray(params.channel))

r"""Full channel: any reading may become any label, shrunk toward the scalar channel.

.. math:: \hat p(z) = \sum_y T(z \mid y)\, q(y \mid x), \qquad
   T^0(z \mid y) = \beta\, [z = y] + (1 - \beta)\, \pi(z)

The reading q and the reliability beta are those of the scalar channel at its posterior mode, on the
temperature reading or on the vector-scaled one.  A few labels move only those of the K (K - 1)
numbers of T that they inform.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from cordial_ppl.channels import CHANNELS
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.laplace import find_modes
from cordial_ppl.inference.target import build_target
from cordial_ppl.runtime.arrays import EPS, TINY, AnyArray
from cordial_ppl.stack.calibrators.samples import (
    BatchLogits,
    BatchLogProbs,
)
from cordial_ppl.stack.calibrators.scaling import Vector, vector_log_probs

STRENGTHS = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])

MAX_ROUNDS = 5000
TOLERANCE, FARTHEST = EPS**0.6, 1e6


class Full(NamedTuple):
    """Weights and biases (nats) of the reading's logits, and the channel, a row a stated option."""

    weights: Float[AnyArray, "*sets K"]
    bias: Float[AnyArray, "*sets K"]
    channel: Float[AnyArray, "*sets K K"]


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
    steps are followed by a leap along their line, where that is better still.

    Args:
        probs: readings q, shape ``[*sets, n, K]``; leading axes are broadcast.
        counts: how often each reading got each label, shape ``[*sets, n, K]``.
        centre: T^0, positive, a row a stated option.
        strength: lambda > 0, in labels per row.

    Returns:
        The channel T; its rows sum to one.  Without labels it is the centre.

    Source:
        Dempster, Laird and Rubin (1977), "Maximum likelihood from incomplete data via the EM
        algorithm"; Varadhan and Roland (2008), "Simple and globally convergent methods for
        accelerating the convergence of any EM algorithm".
    """
    prior = np.asarray(strength)[..., None, None] * centre
    turned = np.swapaxes(probs, -1, -2)

    def objective(channel: np.ndarray) -> np.ndarray:
        likelihood = (counts * np.log(probs @ channel)).sum(axis=(-2, -1), keepdims=True)
        return likelihood + (prior * np.log(channel)).sum(axis=(-2, -1), keepdims=True)

    def update(channel: np.ndarray) -> np.ndarray:
        # Text i adds q_i(y) T(z_i | y) / p_i(z_i) to the count of y and z_i.
        expected = prior + channel * (turned @ (counts / (probs @ channel)))
        return expected / expected.sum(axis=-1, keepdims=True)

    shape = np.broadcast_shapes(prior.shape[:-2], probs.shape[:-2], counts.shape[:-2])
    channel = np.broadcast_to(centre, shape + centre.shape[-2:])
    for _ in range(MAX_ROUNDS):
        once = update(channel)
        twice = update(once)
        move = once - channel
        if np.abs(move).max(initial=0.0) <= TOLERANCE:
            return twice
        # EM creeps along nearly straight lines: as far along them as their bend allows.
        bend = twice - once - move
        sizes = [np.linalg.norm(part, axis=(-2, -1), keepdims=True) for part in (move, bend)]
        length = np.minimum(sizes[0] / np.maximum(sizes[1], TINY), FARTHEST)
        leap = np.maximum(channel + 2.0 * length * move + length**2 * bend, 0.1 * twice)
        leap /= leap.sum(axis=-1, keepdims=True)
        channel = np.where(objective(leap) >= objective(twice), leap, twice)
    return channel


def fit_scalar(
    name: str,
    logits: Float[np.ndarray, "n K"],
    labels: Int[np.ndarray, "*sets n"],
    weights: Float[np.ndarray, " n"] | None = None,
) -> Full:
    """Fit a scalar channel at its posterior mode, that of the prior if there are no labels.

    Args:
        name: "scalar" or "scalar-vector".
        logits: readings `[n, K]`, nats.
        labels: positions `[*sets, n]` on the scale, 0..K-1; -1 marks texts to ignore.
        weights: of the labels.

    Returns:
        The reading, and the channel as a matrix.
    """
    *shape, texts = labels.shape
    size = logits.shape[1]
    target = build_target(CHANNELS[name], size)
    sets = labels.reshape(-1, texts)
    counted = np.ones(texts) if weights is None else weights
    case = Case(Labelled(logits, sets[0], {}, counted), literal=True)
    data = [case.pad(np.float64, each) for each in sets]
    loc, scale = target.prior
    # Searches from draws of the prior end in one place only in double precision.
    with jax.enable_x64(True):
        ends = find_modes(target, target.prior, data)
    modes = loc + scale * np.stack([mode.mean for mode in ends])
    named = {
        site.name: modes[:, site.slice].reshape((*shape, *site.shape)) for site in target.sites
    }
    zeros = np.zeros((*shape, size))
    scales = np.exp(named.get("log_scale", zeros) - named["temperature"][..., None])
    log_odds = named["strength_log_odds"][..., None, None]
    histogram = np.reshape([each.histogram for each in data], (*shape, 1, size))
    channel = expit(log_odds) * np.eye(size) + expit(-log_odds) * histogram
    return Full(scales, named.get("bias", zeros), channel)


def fit_full(
    name: str,
    logits: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    strength: Float[np.ndarray, "G ..."],
) -> Full:
    """Fit full channels at G distances from the scalar one (Section 2.5 of the paper).

    Args:
        name: the scalar channel to shrink toward, "scalar" or "scalar-vector".
        logits: readings `[n, K]`, nats, centred.
        labels: positions `[G, S, n]` on the scale, 0..K-1; -1 marks texts to ignore; for every
            strength the same.
        weights: of the labels, `[n]`.
        strength: lambda, which is broadcast against the leading axes.

    Returns:
        The reading's weights and biases, and the channel.
    """
    scalar = fit_scalar(name, logits, labels[0], weights)
    probs = np.exp(vector_log_probs(Vector(scalar.weights, scalar.bias), logits))
    counts = (labels[..., None] == np.arange(probs.shape[-1])) * weights[:, None]
    channel = shrink_channel(probs, counts, np.asarray(scalar.channel), strength)
    weights, bias = (np.broadcast_to(part, channel.shape[:-1]) for part in scalar[:2])
    return Full(weights, bias, channel)


def full_log_probs(params: Full, logits: BatchLogits) -> BatchLogProbs:
    """Compute `log sum_y T(z|y) q(y)`, `q = softmax(w * logits + b)`, nats."""
    stated = np.exp(vector_log_probs(Vector(params.weights, params.bias), logits))
    return np.log(stated @ np.asarray(params.channel))

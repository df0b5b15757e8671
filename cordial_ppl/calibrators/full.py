r"""Full channel: any reading may become any label, shrunk toward the scalar channel.

.. math:: \hat p(z) = \sum_y T(z \mid y)\, q(y \mid x), \qquad
   T^0(z \mid y) = \beta\, [z = y] + (1 - \beta)\, \pi(z)

The reading q and the reliability beta are those of the scalar channel at its posterior mode, on
the temperature reading or on the vector-scaled one; of the K (K - 1) numbers of T, a few labels
move only those that they speak of.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import AnyArray, Histogram, Logits, LogProbabilities, Probabilities
from cordial_ppl.calibrators.crossvalidation import cross_validate
from cordial_ppl.calibrators.vector import Vector, vector_log_probs
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.laplace import find_mode
from cordial_ppl.inference.problem import Problem
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.readings import Readings

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Pseudo-counts a row that cross-validation chooses from: from hardly any to the scalar channel."""

MAX_ROUNDS = 5000


class Full(NamedTuple):
    """Weights and biases (nats) of the reading's logits, and the channel, a row a stated option."""

    weights: Float[AnyArray, " K"]
    bias: Float[AnyArray, " K"]
    channel: Float[AnyArray, "K K"]


class Scalar(NamedTuple):
    """The scalar channel: its reading, its reliability beta with 1 - beta, and the histogram pi."""

    reading: Vector
    reliability: Float[Array, ""]
    doubt: Float[Array, ""]
    histogram: Float[Array, " K"]

    @property
    def channel(self) -> Float[Array, "K K"]:
        """The matrix T^0, a row a stated option."""
        identity = jnp.eye(self.histogram.shape[0], dtype=self.histogram.dtype)
        return self.reliability * identity + self.doubt * self.histogram[None]


class _Round(NamedTuple):
    channel: Array
    change: Array
    rounds: Array


def shrink_channel(
    probs: Probabilities,
    labels: Int[AnyArray, " n"],
    centre: Float[AnyArray, "K K"],
    strength: Float[AnyArray, ""] | float,
) -> Float[Array, "K K"]:
    r"""Fit a channel whose rows are drawn to those of another.

    .. math:: \max_T\; \sum_i \log \sum_y T(z_i \mid y)\, q_i(y)
        - \lambda \sum_y \mathrm{KL}(T^0_y \,\|\, T_y)

    This is concave.  In closed form an EM step is
    ``T(z|y) = (lambda T0(z|y) + sum_(i: z_i = z) r_i(y)) / (lambda + sum_i r_i(y))``, where ``r``
    is the posterior of the stated option given the label: ``lambda T0`` acts as pseudo-counts.  Two
    steps are followed by a leap along the line that they draw, where that is better still.

    Args:
        probs: readings q, shape ``[n, K]``.
        labels: positions ``[n]`` on the scale, 0..K-1; -1 marks texts to ignore.
        centre: T^0, positive, a row a stated option.
        strength: lambda > 0, in labels a row.

    Returns:
        The channel T; its rows sum to one.  Without labels it is the centre.

    Source:
        Dempster, Laird and Rubin (1977), "Maximum likelihood from incomplete data via the EM
        algorithm"; Varadhan and Roland (2008), "Simple and globally convergent methods for
        accelerating the convergence of any EM algorithm".
    """
    probs = jnp.asarray(probs)
    chosen = jax.nn.one_hot(labels, probs.shape[1], dtype=probs.dtype)
    return shrink_channel_to_counts(probs, chosen, centre, strength)


def shrink_channel_to_counts(
    probs: Probabilities,
    counts: Float[AnyArray, "n K"],
    centre: Float[AnyArray, "K K"],
    strength: Float[AnyArray, ""] | float,
) -> Float[Array, "K K"]:
    """Fit the channel of :func:`shrink_channel` to readings that have several labels, or none.

    Args:
        probs: readings q, shape ``[n, K]``.
        counts: how often each reading got each label, shape ``[n, K]``.
        centre: T^0, positive, a row a stated option.
        strength: lambda > 0, in labels a row.

    Returns:
        The channel T; its rows sum to one.
    """
    probs, start = jnp.asarray(probs), jnp.asarray(centre)
    prior = jnp.asarray(strength) * start
    tolerance = jnp.finfo(probs.dtype).eps ** 0.6
    least = jnp.finfo(probs.dtype).tiny

    def objective(channel: Array) -> Array:
        return jnp.sum(counts * jnp.log(probs @ channel)) + jnp.sum(prior * jnp.log(channel))

    def update(channel: Array) -> Array:
        # Text i adds q_i(y) T(z_i | y) / p_i(z_i) to the count of y and z_i.
        expected = prior + channel * (probs.T @ (counts / (probs @ channel)))
        return expected / jnp.sum(expected, axis=1, keepdims=True)

    def going(state: _Round) -> Array:
        return (state.change > tolerance) & (state.rounds < MAX_ROUNDS)

    def step(state: _Round) -> _Round:
        once = update(state.channel)
        twice = update(once)
        move = once - state.channel
        bend = twice - once - move
        # EM creeps along nearly straight lines: as far along them as their bend allows.
        length = jnp.linalg.norm(move) / jnp.maximum(jnp.linalg.norm(bend), least)
        leap = state.channel + 2.0 * length * move + length**2 * bend
        leap = jnp.maximum(leap, 0.1 * twice)
        leap = leap / jnp.sum(leap, axis=1, keepdims=True)
        channel = jnp.where(objective(leap) >= objective(twice), leap, twice)
        return _Round(channel, jnp.max(jnp.abs(move)), state.rounds + 1)

    infinite = jnp.asarray(jnp.inf, probs.dtype)
    first = _Round(start, infinite, jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(going, step, first).channel


def fit_scalar(name: str, logits: Logits, labels: Int[AnyArray, " n"]) -> Scalar:
    """Fit a scalar channel at its posterior mode.

    Args:
        name: "scalar" or "scalar-vector".
        logits: readings `[n, K]`, nats.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The channel at the mode; at the mode of the prior if there are no labels.
    """
    logits = jnp.asarray(logits)
    dtype, size = logits.dtype, logits.shape[1]
    # The model is described once for each number of options, outside of what is being compiled.
    with jax.ensure_compile_time_eval():
        target = build_target(CHANNELS[name], size)
    prior = Prior(*(jnp.asarray(part, dtype) for part in target.prior))
    counts = jnp.sum(jax.nn.one_hot(labels, size, dtype=dtype), axis=0)
    histogram: Histogram = (counts + 1.0) / (jnp.sum(counts) + size)
    problem = Problem(target, prior, Readings(logits, histogram), jnp.asarray(labels))
    mode = target.unravel(problem.colour(find_mode(problem).mean))
    nothing = jnp.zeros(size, dtype)
    weights = jnp.exp(mode.get("log_scale", nothing) - mode["temperature"])
    log_odds = mode["strength_log_odds"]
    return Scalar(
        Vector(weights, mode.get("bias", nothing)),
        jax.nn.sigmoid(log_odds),
        jax.nn.sigmoid(-log_odds),
        histogram,
    )


def fit_full(name: str, logits: Logits, labels: Int[AnyArray, " n"]) -> Full:
    """Fit a full channel whose distance from the scalar one is chosen by cross-validation.

    `lambda` of {0.3, 1, 3, ..., 300} has the lowest log loss out of four folds, ties to the larger;
    every fold fits the scalar channel anew.  All strengths and folds are one batched call.

    Args:
        name: the scalar channel to shrink toward, "scalar" or "scalar-vector".
        logits: readings `[n, K]`, nats, centred.
        labels: positions `[n]` on the scale, 0..K-1; -1 marks texts to ignore.

    Returns:
        The reading's weights and biases, and the channel.

    Source:
        The paper's Section 2.5: full K x K channels shrunk toward the scalar one by cross-validated
        KL penalties.
    """

    def fit(logits: Array, labels: Array, strength: Array) -> Full:
        scalar = fit_scalar(name, logits, labels)
        probs = jnp.exp(vector_log_probs(scalar.reading, logits))
        channel = shrink_channel(probs, labels, scalar.channel, strength)
        return Full(scalar.reading.weights, scalar.reading.bias, channel)

    grid = jnp.asarray(STRENGTHS, logits.dtype)
    return cross_validate(fit, full_log_probs, logits, labels, grid)


fit_full_temperature = partial(fit_full, "scalar")
fit_full_vector = partial(fit_full, "scalar-vector")


def full_log_probs(params: Full, logits: Logits) -> LogProbabilities:
    """Log probabilities `log sum_y T(z|y) q(y)`, `q = softmax(w * logits + b)`.

    Args:
        params: weights and biases of the reading, and the channel.
        logits: readings `[n, K]`, nats, centred.

    Returns:
        Log probabilities `[n, K]`, nats.
    """
    stated = jnp.exp(vector_log_probs(Vector(params.weights, params.bias), logits))
    return jnp.log(stated @ jnp.asarray(params.channel))

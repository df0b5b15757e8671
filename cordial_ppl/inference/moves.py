r"""Moves that leave a posterior unchanged: preconditioned Crank-Nicolson for many particles.

A particle ``w`` is pulled towards the mean ``m`` of a Gaussian that resembles the posterior and
shaken along its covariance ``F F^T``,

.. math:: w' = m + \sqrt{1 - b^2}\,(w - m) + b\, F \xi, \qquad \xi \sim N(0, I)

which leaves that Gaussian unchanged, so that the acceptance ratio holds only what the Gaussian gets
wrong: in directions where the posterior is close to Gaussian, as the scale and bias of the
vector-scaled channels are, a whole step costs nothing (Cotter, Roberts, Stuart and White 2013,
Statistical Science 28(3), with the preconditioner of Rudolf and Sprungk 2018).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from cordial_ppl.inference.noise import normal_and_uniform

ACCEPTANCE = 0.4
STEP_SPREAD = 0.5
RIDGE = 1e-6
BLOCK = 4


class Particles(NamedTuple):
    """Whitened points with the two terms of their log density."""

    points: Float[Array, "S P"]
    log_prior: Float[Array, " S"]
    log_likelihood: Float[Array, " S"]


class Moments(NamedTuple):
    """Mean and Cholesky factor of the covariance of weighted points."""

    mean: Float[Array, " P"]
    factor: Float[Array, "P P"]


def moments(points: Float[Array, "S P"], log_weights: Float[Array, " S"]) -> Moments:
    """Mean and covariance factor of points under normalised log weights."""
    weights = jnp.exp(log_weights)
    mean = weights @ points
    centred = points - mean[None]
    covariance = centred.T @ (centred * weights[:, None])
    ridge = RIDGE * jnp.eye(points.shape[1], dtype=points.dtype)
    return Moments(mean, jnp.linalg.cholesky(covariance + ridge))


def distances(gaussian: Moments, points: Float[Array, "S P"]) -> Float[Array, " S"]:
    """Squared Mahalanobis distance of each point from the mean."""
    centred = points - gaussian.mean[None]
    return jnp.sum(solve_triangular(gaussian.factor, centred.T, lower=True) ** 2, axis=0)


def move(
    evaluate: Callable[[Float[Array, "S P"]], tuple[Float[Array, " S"], Float[Array, " S"]]],
    particles: Particles,
    gaussian: Moments,
    temper: Float[Array, ""],
    log_step: Float[Array, ""],
    key: jax.Array,
    blocks: int | Int[Array, ""] = 1,
) -> tuple[Particles, Float[Array, ""], Float[Array, ""]]:
    """Move every particle a few times under ``prior * likelihood ** temper``.

    Args:
        evaluate: log prior and log likelihood of many whitened points.
        particles: where the particles are.
        gaussian: mean and covariance factor that resemble the tempered posterior.
        temper: power of the likelihood, between 0 and 1.
        log_step: log of the typical step b, adapted towards an acceptance of 0.4.
        key: random key.
        blocks: number of moves, in blocks of four whose random numbers are drawn together.

    Returns:
        The particles, the adapted log step, and the acceptance rate of the last move.
    """
    count, size = particles.points.shape
    dtype = particles.points.dtype

    def once(state: tuple, numbers: tuple[Array, Array]) -> tuple[tuple, None]:
        (particles, distance, log_step, _), (normal, log_uniform) = state, numbers
        step = jnp.minimum(jnp.exp(log_step + STEP_SPREAD * normal[:, size:]), 1.0)
        pulled = jnp.sqrt(1 - step**2) * (particles.points - gaussian.mean[None])
        shaken = step * (normal[:, :size] @ gaussian.factor.T)
        points = gaussian.mean[None] + pulled + shaken
        proposed = Particles(points, *evaluate(points))
        proposed_distance = distances(gaussian, points)
        log_ratio = _log_target(proposed, temper) - _log_target(particles, temper)
        log_ratio += 0.5 * (proposed_distance - distance)
        log_ratio = jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)
        rate = jnp.mean(jnp.exp(jnp.minimum(log_ratio, 0.0)))
        accept = log_uniform < log_ratio
        kept = Particles(
            jnp.where(accept[:, None], points, particles.points),
            jnp.where(accept, proposed.log_prior, particles.log_prior),
            jnp.where(accept, proposed.log_likelihood, particles.log_likelihood),
        )
        distance = jnp.where(accept, proposed_distance, distance)
        adapted = jnp.clip(log_step + rate - ACCEPTANCE, -4.0, 0.0)
        return (kept, distance, adapted, rate), None

    def block(index: Array, state: tuple) -> tuple:
        # A normal number for each coordinate and one for the size of the step.
        own, shape = jax.random.fold_in(key, index), (BLOCK, count)
        normal, uniform = normal_and_uniform(own, (*shape, size + 1), shape, dtype)
        return jax.lax.scan(once, state, (normal, jnp.log(uniform)))[0]

    nothing = jnp.zeros((), dtype)
    start = (particles, distances(gaussian, particles.points), log_step, nothing)
    particles, _, log_step, rate = jax.lax.fori_loop(0, blocks, block, start)
    return particles, log_step, rate


def first_step(points: Array) -> Array:
    """Log of the typical step to begin moving with."""
    return jnp.log(jnp.asarray(0.6 if points.shape[1] < 8 else 0.4, points.dtype))


def take(particles: Particles, index: Array) -> Particles:
    """Particles of these indices."""
    return Particles(*(leaf[index] for leaf in particles))


def _log_target(particles: Particles, temper: Array) -> Array:
    return particles.log_prior + temper * particles.log_likelihood

r"""Moves that leave a posterior unchanged: preconditioned Crank-Nicolson for many particles.

A particle ``w`` is pulled towards the mean ``m`` of a Gaussian that resembles the posterior and
shaken along its covariance ``F F^T``; in the coordinates ``z = F^{-1} (w - m)`` that is

.. math:: z' = \sqrt{1 - b^2}\, z + b\, \xi, \qquad \xi \sim N(0, I)

which leaves that Gaussian unchanged, so that the acceptance ratio holds only what the Gaussian gets
wrong: in directions where the posterior is close to Gaussian, as the scale and bias of the
vector-scaled channels are, a whole step costs nothing (Cotter, Roberts, Stuart and White 2013,
Statistical Science 28(3), with the preconditioner of Rudolf and Sprungk 2018).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from cordial_ppl.arrays import namespace
from cordial_ppl.inference.noise import Source, normal_and_uniform

ACCEPTANCE = 0.4
STEP_SPREAD = 0.5
RIDGE = 1e-6
BLOCK = 4


class Particles(NamedTuple):
    """Whitened points with the two terms of their log density."""

    points: Float[Any, "S P"]
    log_prior: Float[Any, " S"]
    log_likelihood: Float[Any, " S"]


class Gaussian(NamedTuple):
    """A Gaussian by its mean, the Cholesky factor of its covariance, and the factor's inverse."""

    mean: Float[Any, " P"]
    factor: Float[Any, "P P"]
    inverse: Float[Any, "P P"]

    def colour(self, standard: Float[Any, "S P"]) -> Any:
        """Points of this Gaussian for standard normal ones."""
        return self.mean[None] + standard @ self.factor.T

    def whiten(self, points: Float[Any, "S P"]) -> Any:
        """Standard normal points for those of this Gaussian."""
        return (points - self.mean[None]) @ self.inverse.T


def gaussian(points: Float[Any, "S P"], log_weights: Float[Any, " S"]) -> Gaussian:
    """The Gaussian with the mean and covariance of points under normalised log weights."""
    xp, kind, size = namespace(points), points.dtype, points.shape[1]
    if xp is np:
        # Rounding must not make a covariance of few points indefinite.
        points, log_weights = points.astype(np.float64), log_weights.astype(np.float64)
    weights = xp.exp(log_weights)
    mean = weights @ points
    centred = points - mean[None]
    covariance = centred.T @ (centred * weights[:, None])
    factor = xp.linalg.cholesky(covariance + RIDGE * xp.eye(size, dtype=points.dtype))
    return Gaussian(*(part.astype(kind) for part in (mean, factor, xp.linalg.inv(factor))))


def move(
    evaluate: Callable[[Any], tuple[Any, Any]],
    particles: Particles,
    around: Gaussian,
    temper: Float[Any, ""],
    log_step: Float[Any, ""],
    source: Source,
    blocks: int,
) -> tuple[Particles, Any, Any]:
    """Move particles under ``prior * likelihood ** temper``.

    Args:
        evaluate: log prior and log likelihood of points, nats.
        particles: where they are.
        around: a Gaussian that resembles the tempered posterior.
        temper: power of the likelihood, between 0 and 1.
        log_step: log of the typical step b, adapted towards an acceptance of 0.4.
        source: source of randomness.
        blocks: number of moves, in blocks of four.

    Returns:
        The particles, the adapted log step, and the acceptance rate of the last move.
    """
    (count, size), moves = particles.points.shape, blocks * BLOCK
    xp = namespace(particles.points)
    # A normal number for each coordinate and one for the size of the step.
    normal, uniform = normal_and_uniform(source, (moves, count, size + 1), (moves, count))
    log_uniform = xp.log(uniform)

    def once(place: Any, state: tuple) -> tuple:
        particles, standard, log_step, _ = state
        noise = normal[place]
        step = xp.minimum(xp.exp(log_step + STEP_SPREAD * noise[:, size:]), 1.0)
        moved = xp.sqrt(1 - step**2) * standard + step * noise[:, :size]
        points = around.colour(moved)
        proposed = Particles(points, *evaluate(points))
        log_ratio = _log_target(proposed, temper) - _log_target(particles, temper)
        log_ratio += 0.5 * (xp.vecdot(moved, moved) - xp.vecdot(standard, standard))
        log_ratio = xp.where(xp.isnan(log_ratio), -xp.inf, log_ratio)
        rate = xp.mean(xp.exp(xp.minimum(log_ratio, 0.0)))
        accept = log_uniform[place] < log_ratio
        kept = Particles(
            xp.where(accept[:, None], points, particles.points),
            xp.where(accept, proposed.log_prior, particles.log_prior),
            xp.where(accept, proposed.log_likelihood, particles.log_likelihood),
        )
        standard = xp.where(accept[:, None], moved, standard)
        adapted = xp.clip(log_step + rate - ACCEPTANCE, -4.0, 0.0)
        return kept, standard, adapted, rate

    state = (particles, around.whiten(particles.points), log_step, xp.zeros_like(log_step))
    if xp is np:
        for place in range(moves):
            state = once(place, state)
    else:
        state = jax.lax.fori_loop(0, moves, once, state)
    particles, _, log_step, rate = state
    return particles, log_step, rate


def _log_target(particles: Particles, temper: Any) -> Any:
    return particles.log_prior + temper * particles.log_likelihood

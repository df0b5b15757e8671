r"""Moves that leave a posterior unchanged: preconditioned Crank-Nicolson for many particles.

A particle ``w`` is pulled towards the mean ``m`` of a Gaussian that resembles the posterior and
shaken along its covariance ``F F^T``; in the coordinates ``z = F^{-1} (w - m)`` that is

.. math:: z' = \sqrt{1 - b^2}\, z + b\, \xi, \qquad \xi \sim N(0, I)

which leaves that Gaussian unchanged, so that the acceptance ratio holds only what the Gaussian gets
wrong: in directions where the posterior is close to Gaussian, as the scale and bias of the
vector-scaled channels are, a whole step costs nothing (Cotter, Roberts, Stuart and White 2013,
Statistical Science 28(3), with the preconditioner of Rudolf and Sprungk 2018).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

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

    def unwhiten(self, standard: Float[Any, "S P"]) -> Any:
        """Turn standard normal points into those of this Gaussian."""
        return self.mean[None] + self.stretch(standard)

    def stretch(self, standard: Float[Any, "*many S P"]) -> Any:
        """Turn any number of sets of standard normal points into points around zero."""
        return standard @ self.factor.T

    def whiten(self, points: Float[Any, "S P"]) -> Any:
        """Turn points of this Gaussian into standard normal ones."""
        return (points - self.mean[None]) @ self.inverse.T


def gaussian(points: Float[Any, "S P"], log_weights: Float[Any, " S"]) -> Gaussian:
    """Fit a Gaussian to the mean and covariance of points under normalised log weights."""
    xp, dtype, size = points.__array_namespace__(), points.dtype, points.shape[1]
    # Rounding must not make a covariance of few points indefinite.
    points, log_weights = points.astype(xp.float64), log_weights.astype(xp.float64)
    weights = xp.exp(log_weights)
    mean = weights @ points
    centred = points - mean[None]
    covariance = centred.T @ (centred * weights[:, None])
    factor = xp.linalg.cholesky(covariance + RIDGE * xp.eye(size, dtype=points.dtype))
    return Gaussian(*(part.astype(dtype) for part in (mean, factor, xp.linalg.inv(factor))))


class PCNState(NamedTuple):
    """Particles that are moved around a Gaussian.

    Attributes:
        particles: where they are.
        standard: their coordinates in the Gaussian.
        log_step: log of the typical step b, adapted towards an acceptance of 0.4.
        rate: acceptance rate of the last move; NaN before the first.
    """

    particles: Particles
    standard: Float[Any, "S P"]
    log_step: Float[Any, ""]
    rate: Float[Any, ""]


def init_pcn(particles: Particles, around: Gaussian, log_step: Float[Any, ""]) -> PCNState:
    """Make the state before the first move."""
    return PCNState(particles, around.whiten(particles.points), log_step, log_step * np.nan)


def propose(
    state: PCNState,
    mean: Float[Array, " P"],
    normal: Float[Array, "S P_and_1"],
    stretched: Float[Array, "S P"],
) -> tuple[Float[Array, "S P"], Float[Array, "S P"]]:
    """Propose where particles move to, in the coordinates of the Gaussian and as points.

    Args:
        state: where they are.
        mean: of the Gaussian.
        normal: standard normal numbers, the last column for the size of the step.
        stretched: the others, stretched by the Gaussian's factor.
    """
    step = jnp.minimum(jnp.exp(state.log_step + STEP_SPREAD * normal[:, -1:]), 1.0)
    shrink = jnp.sqrt(1 - step**2)
    points = mean[None] + shrink * (state.particles.points - mean[None]) + step * stretched
    return shrink * state.standard + step * normal[:, :-1], points


def decide(
    state: PCNState,
    standard: Float[Array, "S P"],
    proposed: Particles,
    temper: Float[Any, ""],
    uniform: Float[Array, " S"],
) -> PCNState:
    """Go where proposals are accepted, and adapt the step."""
    log_ratio = _log_target(proposed, temper) - _log_target(state.particles, temper)
    log_ratio += 0.5 * (jnp.vecdot(standard, standard) - jnp.vecdot(state.standard, state.standard))
    log_ratio = jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)
    rate = jnp.mean(jnp.exp(jnp.minimum(log_ratio, 0.0)))
    accept = jnp.log(uniform) < log_ratio

    def choose(new: Array, old: Array) -> Array:
        return jnp.where(accept[:, None] if new.ndim > 1 else accept, new, old)

    before = state.particles, state.standard
    particles, standard = jax.tree.map(choose, (proposed, standard), before)
    log_step = jnp.clip(state.log_step + rate - ACCEPTANCE, -4.0, 0.0)
    return PCNState(particles, standard, log_step, rate)


def _log_target(particles: Particles, temper: Any) -> Any:
    return particles.log_prior + temper * particles.log_likelihood

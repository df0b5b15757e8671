"""Proposals of the importance step: Student-t points around particles, and around their core."""

from typing import Any

from cordial_ppl.inference.importance import normalise
from cordial_ppl.inference.moves import Gaussian, gaussian
from cordial_ppl.inference.state import State
from cordial_ppl.inference.target import Target

FREEDOM, HEAVY = 8, 4
"""Degrees of freedom of the proposals, and where a prior is no Gaussian.

Bounded parameters have exponential tails on the unconstrained scale: 8 degrees leave a bump of the
weights 8 standard deviations out, which few points meet and k-hat takes for a heavy tail; 4 none.
"""
SHARPEN = 0.5
"""Extra power of the likelihood whose moments describe the core of the posterior."""


def freedom_of(target: Target) -> int:
    """Return the degrees of freedom of a channel's proposals."""
    return FREEDOM if target.gaussian else HEAVY


def propose(state: State, normal: Any, uniform: Any, freedom: int) -> tuple[Any, Any, Any]:
    """Draw Student-t points around the particles and their core; with log density and offset."""
    xp, total = normal.__array_namespace__(), len(normal)
    around = fit_proposals(state)
    # Two degrees of freedom for each uniform number.
    chi_square = -2 * xp.sum(xp.log(uniform[1:]).reshape(-1, total), axis=0)
    student = normal * xp.sqrt(freedom / chi_square)[:, None]
    half = total // 2
    halves = zip(around, (student[:half], student[half:]), strict=True)
    proposed = xp.concat([each.unwhiten(part) for each, part in halves])
    return proposed, log_proposals(around, proposed, freedom), uniform[0]


def fit_proposals(state: State) -> tuple[Gaussian, Gaussian]:
    """Fit Gaussians to particles, and to their core where the likelihood is high."""
    points, sharp = state.particles.points, normalise(SHARPEN * state.particles.log_likelihood)
    return gaussian(points, state.log_weights), gaussian(points, sharp)


def log_proposals(around: tuple[Gaussian, Gaussian], points: Any, freedom: int) -> Any:
    """Compute the log of twice the density of proposals, up to a constant of their size."""
    xp = points.__array_namespace__()
    return xp.logaddexp(*(_log_student(each, points, freedom) for each in around))


def _log_student(around: Gaussian, points: Any, freedom: int) -> Any:
    """Compute a Student-t's log density up to a constant that location and scale leave alone."""
    xp, size = points.__array_namespace__(), points.shape[1]
    log_scale = xp.sum(xp.log(around.factor.diagonal()))
    standard = around.whiten(points)
    return -0.5 * (freedom + size) * xp.log1p(xp.vecdot(standard, standard) / freedom) - log_scale

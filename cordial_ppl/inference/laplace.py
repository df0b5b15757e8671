r"""Laplace approximation: a Gaussian at the posterior mode, and the paper's draws from it.

The mode is sought by damped Newton from several starts.  The covariance is the inverse of the
negative Hessian in whitened coordinates, whose eigenvalues are floored so that a flat direction is
no wider than a few prior standard deviations.  This is the literal method of the paper (Section
2.4): 300 draws from ``N(mode, 1.5^2 H^-1)`` with self-normalised weights.  With more than a few
parameters its weights are poor, which k-hat reports.
"""

from collections.abc import Callable
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from cordial_ppl.inference.importance import effective_sample_size, normalise, pareto_smooth
from cordial_ppl.inference.newton import Minimum, minimise, minimise_pool
from cordial_ppl.inference.noise import standard_normal
from cordial_ppl.inference.problem import Cloud, Problem
from cordial_ppl.inference.target import Prior, Target

DRAWS = 300
INFLATION = 1.5
CURVATURE_FLOOR = 0.05
SHIFTS: tuple[dict[str, float], ...] = (
    {},
    {"offset": 1.0},
    {"offset": -1.0},
    {"temperature": 1.5, "concentration": -2.0},
)
"""Starts of the mode search: what is added to the prior means, in unconstrained units."""


class Gaussian(NamedTuple):
    """A Gaussian in whitened coordinates.

    Attributes:
        mean: the posterior mode, shape ``[P]``.
        factor: ``F`` with covariance ``F F^T``, shape ``[P, P]``.
        log_density: log density of the problem at the mode.
        gradient_norm: largest component of its gradient there.
        converged: whether the mode was found.
    """

    mean: Float[Array, " P"]
    factor: Float[Array, "P P"]
    log_density: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    converged: Bool[Array, ""]


def starts(target: Target) -> np.ndarray:
    """Distinct starting points of the mode search in unconstrained units from the prior mean.

    A shift applies to the sites of that name; a channel without them starts at the prior mean only.
    """
    points = []
    for shift in SHIFTS:
        point = np.zeros(target.size)
        for site in target.sites:
            point[site.slice] = shift.get(site.name, 0.0)
        points.append(point)
    return np.unique(np.stack(points), axis=0)


def find_mode(problem: Problem) -> Gaussian:
    """Find the mode from every start, keep the best, and floor the curvature there.

    Args:
        problem: what to fit.

    Returns:
        The Gaussian in whitened coordinates.
    """
    # Only the default shares its program among targets.
    first = _whitened_starts(cast(Target, problem.target), problem.prior)
    return _best(jax.vmap(lambda start: minimise(lambda w: -problem.log_density(w), start))(first))


def find_modes[Data](
    make: Callable[[Data], Problem],
    target: Target,
    prior: Prior,
    data: Data,
    width: int | None = None,
) -> Gaussian:
    """Find the modes of N problems of one form, as `find_mode` would each.

    Args:
        make: makes a problem of what is its own.
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: what is each problem's own, arrays whose first axis counts the problems.
        width: how many starts are followed at a time; by default a quarter of them, as few
            take many steps, but no fewer than one problem has.

    Returns:
        The Gaussians, every array with one more axis in front.
    """
    first = _whitened_starts(target, prior)
    count, each = len(jax.tree.leaves(data)[0]), len(first)
    found = minimise_pool(
        lambda w, own: -make(own).log_density(w),
        jnp.tile(first, (count, 1)),
        jax.tree.map(lambda leaf: jnp.repeat(leaf, each, axis=0), data),
        max(each, count * each // 4) if width is None else width,
        group=each,
    )
    grouped = jax.tree.map(lambda leaf: leaf.reshape(count, each, *leaf.shape[1:]), found)
    return jax.vmap(_best)(grouped)


def _whitened_starts(target: Target, prior: Prior) -> Float[Array, "starts P"]:
    scale = jnp.asarray(prior.scale)
    return jnp.asarray(starts(target), scale.dtype) / scale[None]


def _best(found: Minimum) -> Gaussian:
    """The Gaussian at the lowest of several minima."""
    best = jnp.argmin(jnp.where(jnp.isfinite(found.value), found.value, jnp.inf))
    mode = jax.tree.map(lambda leaf: leaf[best], found)
    values, vectors = jnp.linalg.eigh(mode.hessian)
    spread = vectors / jnp.sqrt(jnp.maximum(values, CURVATURE_FLOOR))[None, :]
    factor = jnp.linalg.cholesky(spread @ spread.T)
    return Gaussian(mode.x, factor, -mode.value, mode.gradient_norm, mode.converged)


def laplace_weights(
    problem: Problem, gaussian: Gaussian, noise: Float[Array, "S P"], inflation: float
) -> tuple[Float[Array, "S P"], Float[Array, " S"]]:
    """Points of the inflated Gaussian for given standard normal noise, and their log weights.

    Args:
        problem: what is fitted.
        gaussian: its Laplace approximation.
        noise: standard normal draws.
        inflation: factor on the standard deviations.

    Returns:
        Whitened points and unnormalised log weights in nats, which are zero at the mode.
    """
    points = gaussian.mean[None] + inflation * noise @ gaussian.factor.T
    prior, likelihood = problem.evaluate(points)
    log_proposal = -0.5 * jnp.sum(noise**2, axis=1)
    return points, prior + likelihood - gaussian.log_density - log_proposal


def sample_laplace(
    problem: Problem, key: jax.Array, gaussian: Gaussian | None = None, *, draws: int = DRAWS
) -> Cloud:
    """Draw from the inflated Laplace approximation and weigh the draws, as the paper does.

    Args:
        problem: what to fit.
        key: random key.
        gaussian: its Laplace approximation, where that is already known.
        draws: number of draws.

    Returns:
        Draws with self-normalised, unsmoothed weights; k-hat and ESS say what they are worth.
    """
    gaussian = find_mode(problem) if gaussian is None else gaussian
    shape = (draws, problem.target.size)
    noise = standard_normal(key, shape, gaussian.mean.dtype)
    points, log_weights = laplace_weights(problem, gaussian, noise, INFLATION)
    _, khat = pareto_smooth(log_weights)
    return Cloud(
        draws=problem.colour(points),
        log_weights=normalise(log_weights),
        khat=khat,
        ess=effective_sample_size(log_weights),
        acceptance=jnp.full((), jnp.nan, khat.dtype),
        gradient_norm=gaussian.gradient_norm,
        repairs=jnp.zeros((), jnp.int32),
    )


def sample_mode(problem: Problem, key: jax.Array, gaussian: Gaussian | None = None) -> Cloud:
    """Put all weight on the posterior mode.

    Args:
        problem: what to fit.
        key: unused; every method takes one.
        gaussian: its Laplace approximation, where that is already known.

    Returns:
        One draw of weight one.
    """
    del key
    gaussian = find_mode(problem) if gaussian is None else gaussian
    nothing = jnp.full((), jnp.nan, gaussian.mean.dtype)
    return Cloud(
        draws=problem.colour(gaussian.mean[None]),
        log_weights=jnp.zeros(1, gaussian.mean.dtype),
        khat=nothing,
        ess=jnp.ones((), gaussian.mean.dtype),
        acceptance=nothing,
        gradient_norm=gaussian.gradient_norm,
        repairs=jnp.zeros((), jnp.int32),
    )

r"""Laplace approximation: a Gaussian at the posterior mode, and the paper's draws from it.

The mode is sought from several starts.  The covariance is the inverse of the negative Hessian in
whitened coordinates, whose eigenvalues are floored so that a flat direction is no wider than a few
prior standard deviations.  This is the literal method of the paper (Section 2.4): 300 draws from
``N(mode, 1.5^2 H^-1)`` with self-normalised weights.  With more than a few parameters its weights
are poor, which k-hat reports.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from cordial_ppl.inference.data import Data
from cordial_ppl.inference.draws import Draws, diagnose
from cordial_ppl.inference.importance import effective_sample_size, normalise, pareto_smooth
from cordial_ppl.inference.modes import SEARCHES, search_modes
from cordial_ppl.inference.programs import Problem, density
from cordial_ppl.inference.target import Prior, Target

AT_ONCE = SEARCHES // 4
"""Data sets that are searched at a time: as many as the starts of each leave room for."""

DRAWS = 300
INFLATION = 1.5
CURVATURE_FLOOR = 0.05

STEP = 1e-5
"""Half the distance of gradients whose difference is a row of the Hessian."""

ROUNDS = 300
"""Points of a search at most."""

SHIFTS: tuple[dict[str, float], ...] = (
    {},
    {"offset": 1.0},
    {"offset": -1.0},
    {"temperature": 1.5, "concentration": -2.0},
)
"""Starts of the mode search: what is added to the prior means, in unconstrained units."""


class Mode(NamedTuple):
    """A mode of the posterior and the Gaussian there, in whitened coordinates.

    Attributes:
        mean: the mode, shape ``[P]``.
        factor: ``F`` with covariance ``F F^T``, shape ``[P, P]``.
        log_density: log density of the problem at the mode.
        gradient_norm: largest component of its gradient there.
    """

    mean: Float[np.ndarray, " P"]
    factor: Float[np.ndarray, "P P"]
    log_density: float
    gradient_norm: float


def starts(target: Target) -> Float[np.ndarray, "starts P"]:
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


def find_modes(target: Target, prior: Prior, data: Sequence[Data]) -> list[Mode]:
    """Find the mode of each of several data sets from every start, and floor the curvature there.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters, for all data sets or one for
            each, ``[P]`` or ``[B, P]``.
        data: B data sets in double precision, with equally many rows.

    Returns:
        The highest mode found for each data set.
    """
    points, size, found = starts(target), target.size, []
    loc, scale = (np.broadcast_to(part, (len(data), size)) for part in prior)
    around = STEP * np.concatenate([np.eye(size), -np.eye(size)])
    for first in range(0, len(data), AT_ONCE):
        at = range(first, min(first + AT_ONCE, len(data)))
        filled, count = [*at, *[first] * (AT_ONCE - len(at))], len(at)
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(data[b] for b in filled))
        with jax.enable_x64(True):
            given = Prior(loc[filled], scale[filled]), stacked._replace(tiles=stacked.tiles.max())
            run = partial(search_modes, target, *jax.device_put(given))
        begin = (points / scale[at, None]).reshape(-1, size)
        ends = run(begin, np.repeat(np.arange(count), len(points)), ROUNDS)
        lowest = ends.value.reshape(count, -1).argmin(axis=1) + len(points) * np.arange(count)
        modes, norms = ends.x[lowest], np.abs(ends.gradient[lowest]).max(axis=1)
        # Second derivatives by differences of gradients.
        beside = (modes[:, None] + around).reshape(-1, size)
        each = np.repeat(np.arange(count), 2 * size)
        some = [slice(start, start + SEARCHES) for start in range(0, len(beside), SEARCHES)]
        slopes = [run(beside[rows], each[rows], 1).gradient for rows in some]
        above, below = np.concatenate(slopes).reshape(count, 2, size, size).swapaxes(0, 1)
        hessian = (above - below) / (2.0 * STEP)
        values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.swapaxes(1, 2)))
        values = np.maximum(values, CURVATURE_FLOOR)
        factors = np.linalg.cholesky((vectors / values[:, None, :]) @ vectors.swapaxes(1, 2))
        figures = modes, factors, -ends.value[lowest], norms
        found += [Mode(*parts) for parts in zip(*figures, strict=True)]
    return found


def laplace_weights(
    problem: Problem, mode: Mode, noise: Float[np.ndarray, "S P"]
) -> tuple[Float[np.ndarray, "S P"], Float[np.ndarray, " S"]]:
    """Points of the inflated Gaussian for given standard normal noise, and their log weights.

    Args:
        problem: what is sampled, in double precision.
        mode: its Laplace approximation.
        noise: standard normal draws.

    Returns:
        Whitened points; unnormalised log weights in nats, which are zero at the mode.
    """
    points = mode.mean + INFLATION * noise @ mode.factor.T
    log_prior, log_likelihood = density(problem, points, DRAWS)
    log_proposal = mode.log_density - 0.5 * (noise**2).sum(axis=1)
    return points, log_prior + log_likelihood - log_proposal


def sample_laplace(problem: Problem, mode: Mode, rng: np.random.Generator) -> Draws:
    """Draw from the inflated Laplace approximation and weigh the draws, as the paper does.

    Args:
        problem: what is sampled, in double precision.
        mode: its Laplace approximation.
        rng: source of randomness.

    Returns:
        Draws with self-normalised, unsmoothed weights, whose k-hat and ESS say what they are worth.
    """
    noise = rng.standard_normal((DRAWS, problem.target.size))
    points, logs = laplace_weights(problem, mode, noise)
    draws = problem.prior.loc + problem.prior.scale * points
    figures = {"khat": float(pareto_smooth(logs)[1]), "ess": float(effective_sample_size(logs))}
    norm = mode.gradient_norm
    found = diagnose("laplace", draws, weighed=DRAWS, gradient_norm=norm, **figures)
    return Draws(draws, np.exp(normalise(logs)), found)

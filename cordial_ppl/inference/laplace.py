r"""Laplace approximation: a Gaussian at the posterior mode, and the paper's draws from it.

The mode is sought from several starts.  The covariance is the inverse of the negative Hessian in
whitened coordinates, whose eigenvalues are floored so that a flat direction is no wider than a few
prior standard deviations.  This is the literal method of the paper (Section 2.4): 300 draws from
``N(mode, 1.5^2 H^-1)`` with self-normalised weights.  With more than a few parameters its weights
are poor, which k-hat reports.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from cordial_ppl.inference.data import Data
from cordial_ppl.inference.importance import effective_sample_size, normalise, pareto_smooth
from cordial_ppl.inference.minimise import minimise
from cordial_ppl.inference.programs import density, gradient
from cordial_ppl.inference.target import Prior, Target

FEW, MANY = 8, 64
"""Data sets that are searched at a time, a fit with its folds or many fits: two programs do."""

DRAWS = 300
INFLATION = 1.5
CURVATURE_FLOOR = 0.05
REACH = 40.0
"""Prior standard deviations beyond which no density is asked for."""

STEP = 1e-5
"""Half the distance of gradients whose difference is a row of the Hessian."""

NEAR = 0.05
"""Largest gradient component from which a search knows second derivatives."""

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

    mean: Float[np.ndarray, " P"]
    factor: Float[np.ndarray, "P P"]
    log_density: float
    gradient_norm: float
    converged: bool


class Weighted(NamedTuple):
    """Weighted draws in whitened coordinates.

    Attributes:
        points: the draws, shape ``[S, P]``.
        log_weights: their normalised log weights, nats, shape ``[S]``.
        khat: Pareto shape of the weights.
        ess: their effective sample size.
    """

    points: Float[np.ndarray, "S P"]
    log_weights: Float[np.ndarray, " S"]
    khat: float
    ess: float


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


def find_modes(target: Target, prior: Prior, data: Sequence[Data]) -> list[Gaussian]:
    """Find the mode of each of several data sets from every start, and floor the curvature there.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters, for all data sets or one for
            each, ``[P]`` or ``[B, P]``.
        data: B data sets in double precision, with equally many rows.

    Returns:
        The Gaussian at the highest mode found for each data set.
    """
    loc, scale = (np.broadcast_to(part, (len(data), target.size)) for part in prior)
    found, at_once = [], FEW if len(data) <= FEW else MANY
    for first in range(0, len(data), at_once):
        some = slice(first, first + at_once)
        found += _find_modes(target, Prior(loc[some], scale[some]), data[some], at_once)
    return found


def _find_modes(target: Target, prior: Prior, data: Sequence[Data], at_once: int) -> list[Gaussian]:
    """The same for as many data sets as are searched at a time."""
    count, size = len(data), target.size
    filled = [*range(count), *[0] * (at_once - count)]
    together = jax.tree.map(lambda *leaves: np.stack(leaves), *(data[b] for b in filled))
    with jax.enable_x64(True):
        priors = Prior(prior.loc[filled], prior.scale[filled])
        given = jax.device_put((priors, together._replace(tiles=together.tiles.max())))

        def loss(points: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, slope = gradient(target, given[0], given[1], points, at)
            return np.where(np.abs(points).max(axis=1) <= REACH, -value, np.inf), -slope

        def inverses(points: np.ndarray) -> np.ndarray:
            """Inverse second derivatives by differences of gradients, floored."""
            around = STEP * np.concatenate([np.eye(size), -np.eye(size)])
            each = (points[:, None] + around).reshape(-1, size)
            _, slopes = loss(each, np.repeat(np.arange(count), 2 * size))
            above, below = slopes.reshape(count, 2, size, size).swapaxes(0, 1)
            hessian = np.nan_to_num((above - below) / (2.0 * STEP))
            values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.swapaxes(1, 2)))
            values = np.maximum(values, CURVATURE_FLOOR)
            return (vectors / values[:, None, :]) @ vectors.swapaxes(1, 2)

        near = minimise(loss, starts(target)[None] / prior.scale[:, None], tolerance=NEAR).x
        found = minimise(loss, near[:, None], inverse=inverses(near))
        factor = np.linalg.cholesky(inverses(found.x))
    return [
        Gaussian(mean, own, -float(value), float(norm), bool(converged))
        for mean, own, value, norm, converged in zip(
            found.x, factor, found.value, found.gradient_norm, found.converged, strict=True
        )
    ]


def laplace_weights(
    target: Target,
    prior: Prior,
    data: Data,
    gaussian: Gaussian,
    noise: Float[np.ndarray, "S P"],
    inflation: float = INFLATION,
) -> tuple[Float[np.ndarray, "S P"], Float[np.ndarray, " S"]]:
    """Points of the inflated Gaussian for given standard normal noise, and their log weights.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: labelled texts in double precision.
        gaussian: the Laplace approximation.
        noise: standard normal draws.
        inflation: factor on the standard deviations.

    Returns:
        Whitened points and unnormalised log weights in nats, which are zero at the mode.
    """
    points = gaussian.mean + inflation * noise @ gaussian.factor.T
    with jax.enable_x64(True):
        own, likelihood = density(target, prior, data, points)
    log_proposal = -0.5 * (noise**2).sum(axis=1)
    return points, own + likelihood - gaussian.log_density - log_proposal


def sample_laplace(
    target: Target,
    prior: Prior,
    data: Data,
    gaussian: Gaussian,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Weighted:
    """Draw from the inflated Laplace approximation and weigh the draws, as the paper does.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: labelled texts in double precision.
        gaussian: the Laplace approximation.
        rng: source of randomness.
        draws: number of draws.

    Returns:
        Draws with self-normalised, unsmoothed weights; k-hat and ESS say what they are worth.
    """
    noise = rng.standard_normal((draws, target.size))
    points, log_weights = laplace_weights(target, prior, data, gaussian, noise)
    _, khat = pareto_smooth(log_weights)
    ess = effective_sample_size(log_weights)
    return Weighted(points, normalise(log_weights), float(khat), float(ess))

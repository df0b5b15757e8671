r"""Laplace approximation: a Gaussian at the posterior mode, and the paper's draws from it.

The mode is sought from several starts.  The covariance is the inverse of the negative Hessian in
whitened coordinates, whose eigenvalues are floored so that a flat direction is no wider than a few
prior standard deviations.  This is the literal method of the paper (Section 2.4): 300 draws from
``N(mode, 1.5^2 H^-1)`` with self-normalised weights.  With more than a few parameters its weights
are poor, which k-hat reports.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from cordial_ppl.data.labelled import Data
from cordial_ppl.inference.modes import SEARCHES, search_modes, weigh_and_predict
from cordial_ppl.inference.target import Prior, Target

AT_ONCE = SEARCHES // 4
"""Data sets that are searched at a time: as many as the starts of each leave room for."""

DRAWS = 300
INFLATION = 1.5
CURVATURE_FLOOR = 0.05

STEP = 1e-5
"""Half the distance of gradients whose difference is a row of the Hessian."""

ROUNDS = 1000
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
    around = STEP * np.concatenate([np.eye(size), -np.eye(size)])
    for priors, sets, count in _in_turn(target, prior, data):
        run = partial(search_modes, target, priors, sets)
        begin = (points / np.asarray(priors.scale)[:count, None]).reshape(-1, size)
        ends = run(begin, np.repeat(np.arange(count), len(points)), ROUNDS).lowest(len(points))
        modes = ends.x
        # Second derivatives by differences of gradients.
        beside = (modes[:, None] + around).reshape(-1, size)
        each = np.repeat(np.arange(count), 2 * size)
        some = [slice(first, first + SEARCHES) for first in range(0, len(beside), SEARCHES)]
        slopes = [run(beside[rows], each[rows], 1).gradient for rows in some]
        above, below = np.concatenate(slopes).reshape(count, 2, size, size).swapaxes(0, 1)
        hessian = (above - below) / (2.0 * STEP)
        values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.swapaxes(1, 2)))
        values = np.maximum(values, CURVATURE_FLOOR)
        factors = np.linalg.cholesky((vectors / values[:, None, :]) @ vectors.swapaxes(1, 2))
        figures = (-ends.value).tolist(), np.abs(ends.gradient).max(axis=1).tolist()
        found += map(Mode, modes, factors, *figures)
    return found


def _in_turn(
    target: Target, prior: Prior, data: Sequence[Data]
) -> Iterator[tuple[Prior, Data, int]]:
    """As many data sets as are searched at a time, with their priors, and how many they are."""
    loc, scale = (np.broadcast_to(part, (len(data), target.size)) for part in prior)
    for first in range(0, len(data), AT_ONCE):
        at = list(range(first, min(first + AT_ONCE, len(data))))
        filled = at + [first] * (AT_ONCE - len(at))
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(data[b] for b in filled))
        with jax.enable_x64(True):
            given = Prior(loc[filled], scale[filled]), stacked._replace(tiles=stacked.tiles.max())
            yield *jax.device_put(given), len(at)


class Weighted(NamedTuple):
    """Draws from the inflated Laplace approximation of one data set.

    Attributes:
        draws: unconstrained parameters, shape ``[S, P]``.
        log_weights: unnormalised log weights in nats; of a draw at the mode, zero.
        probs: probabilities of the texts under the weighted draws, labels seen or not, with rows of
            padding after them; None where they were not computed.
    """

    draws: Float[np.ndarray, "S P"]
    log_weights: Float[np.ndarray, " S"]
    probs: Float[np.ndarray, "rows K"] | None


def sample_laplace(
    target: Target,
    prior: Prior,
    data: Sequence[Data],
    modes: Sequence[Mode],
    rngs: Sequence[np.random.Generator],
    draws: int = DRAWS,
) -> list[Weighted]:
    """Draw from the inflated Laplace approximations and weigh the draws, as the paper does.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters, ``[P]`` or ``[B, P]``.
        data: labelled texts in double precision, B data sets.
        modes: the Laplace approximation of each.
        rngs: source of randomness of each.
        draws: number of draws.
    """
    noise = np.stack([rng.standard_normal((draws, target.size)) for rng in rngs])
    pairs = zip(modes, noise, strict=True)
    points = np.stack([mode.mean + INFLATION * each @ mode.factor.T for mode, each in pairs])
    log_proposal = np.array([[mode.log_density] for mode in modes]) - 0.5 * (noise**2).sum(axis=2)
    loc, scale = (np.broadcast_to(part, (len(data), target.size))[:, None] for part in prior)
    found, drawn = [], loc + scale * points
    for priors, sets, count in _in_turn(target, prior, data):
        some = slice(len(found), len(found) + count)
        weighed = weigh_and_predict(target, priors, sets, points[some], log_proposal[some])
        found += map(Weighted, drawn[some], *weighed)
    return found

r"""Laplace approximation: a Gaussian at the posterior mode, and the paper's draws from it.

The mode is sought from several starts.  The covariance is the inverse of the negative Hessian in
whitened coordinates, whose eigenvalues are floored so that a flat direction is no wider than a few
prior standard deviations.  This is the literal method of the paper (Section 2.4): 300 draws from
``N(mode, 1.5^2 H^-1)`` with self-normalised weights.  With more than a few parameters its weights
are poor, which k-hat reports.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.data.labelled import Data
from cordial_ppl.inference.minimise import Ends, search
from cordial_ppl.inference.programs import take_tile, tile_of, unwhiten
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.runtime.arrays import pad_rows
from cordial_ppl.runtime.compilation import compiled

SEARCHES = 64
"""Searches for a mode that one call goes on with."""

REACH = 40.0
"""Prior standard deviations beyond which no mode is sought."""

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
    points, size, highest = starts(target), target.size, []
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
        highest += map(Mode, modes, factors, *figures)
    return highest


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
            moved = Prior(loc[filled], scale[filled]), stacked._replace(tiles=stacked.tiles.max())
            yield *jax.device_put(moved), len(at)


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
    weighted, drawn = [], loc + scale * points
    for priors, sets, count in _in_turn(target, prior, data):
        some = slice(len(weighted), len(weighted) + count)
        weighed = weigh_and_predict(target, priors, sets, points[some], log_proposal[some])
        weighted += map(Weighted, drawn[some], *weighed)
    return weighted


def search_modes(
    target: Target,
    prior: Prior,
    data: Data,
    points: Float[np.ndarray, "A P"],
    index: Int[np.ndarray, " A"],
    max_rounds: int,
) -> Ends:
    """Search for modes from whitened points, each for one of several data sets.

    Args:
        target: the channel.
        prior: locations and scales, one of each a data set, ``[D, P]``.
        data: the data sets, every array but ``tiles`` with an axis of length D in front.
        points: where to begin, at most `SEARCHES`.
        index: the data set of each.
        max_rounds: points of a search at most; one tells the derivatives where it begins.

    Returns:
        Where the searches for a minimum of the negative log density, nats, ended.
    """
    count = len(points)
    padded = pad_rows(points, SEARCHES, 0.0), pad_rows(index, SEARCHES, 0)
    going = np.arange(SEARCHES) < count
    ends = _search_modes(target)(prior, data, *padded, going, np.int32(max_rounds))
    return Ends(*(np.asarray(part)[:count] for part in ends[:-1]), rounds=ends.rounds)


@lru_cache(maxsize=512)
def _search_modes(target: Target) -> Callable[..., Any]:
    def run(
        prior: Prior, data: Data, points: Array, index: Array, going: Array, rounds: Array
    ) -> Ends:
        def loss(point: Array, row: Array) -> tuple[Array, Array]:
            one = Prior(prior.loc[row], prior.scale[row])

            def prior_density(w: Array) -> Array:
                readings = take_tile(data, jnp.zeros((), jnp.int32), row)[0]
                return target.log_scaled_prior(one.loc + one.scale * w, one, readings)

            def add(tile: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
                readings, *labels = take_tile(data, tile, row)

                def likelihood(w: Array) -> Array:
                    return target.log_likelihood(one.loc + one.scale * w, readings, *labels)

                return jax.tree.map(jnp.add, total, jax.value_and_grad(likelihood)(point))

            begin = jax.value_and_grad(prior_density)(point)
            value, slope = jax.lax.fori_loop(0, data.tiles, add, begin)
            return jnp.where(jnp.abs(point).max() <= REACH, -value, jnp.inf), -slope

        return search(loss, points, index, going, rounds)

    return compiled(run, xla_backend_optimization_level=1)


def weigh_and_predict(
    target: Target,
    prior: Prior,
    data: Data,
    points: Float[np.ndarray, "B S P"],
    log_proposal: Float[np.ndarray, "B S"],
) -> tuple[Float[np.ndarray, "B S"], Float[np.ndarray, "B rows K"]]:
    """Log weights of points of several data sets, and what the weighted points predict.

    Args:
        target: the channel.
        prior: locations and scales, one of each a data set, ``[D, P]``.
        data: the data sets, every array but ``tiles`` with an axis of length D in front.
        points: whitened points for each of the first B data sets.
        log_proposal: log density, up to a constant, that they were drawn from, nats.

    Returns:
        Unnormalised log weights, nats, and probabilities of all texts, labelled or not.
    """
    (count, *_), room = points.shape, len(data.labels)
    padded = pad_rows(points, room, 0.0), pad_rows(log_proposal, room, 0.0)
    log_weights, probs = _weigh_and_predict(target)(prior, data, *padded, np.int32(count))
    return np.asarray(log_weights)[:count], np.asarray(probs)[:count].swapaxes(1, 2)


@lru_cache(maxsize=512)
def _weigh_and_predict(target: Target) -> Callable[..., Any]:
    def run(prior: Prior, data: Data, points: Array, proposed: Array, count: Array) -> Any:
        sets, size, rows = len(data.labels), target.options, data.labels.shape[-1]
        tile = tile_of(rows)

        def one(row: Array, results: tuple[Array, Array]) -> tuple[Array, Array]:
            scaled = Prior(prior.loc[row], prior.scale[row])
            readings = take_tile(data, jnp.zeros((), jnp.int32), row)[0]
            flat = unwhiten(scaled, points[row])

            def add(step: Array, results: tuple[Array, Array]) -> tuple[Array, Array]:
                total, probs = results
                index = step % data.tiles
                readings, *labels = take_tile(data, index, row)
                scores, each = jax.vmap(lambda u: target.pointwise(u, readings, *labels))(flat)
                total += jnp.where(step < data.tiles, scores.sum(axis=1), 0.0)
                # A draw without a density has no weight, and nothing it predicts counts.
                weights = jax.nn.softmax(jnp.where(jnp.isfinite(total), total, -jnp.inf))
                counted = jnp.where(weights[:, None, None] > 0, each, 0.0)
                mixed = jnp.stack([weights @ counted[..., option] for option in range(size)])
                where = row.astype(jnp.int32), jnp.int32(0), index * tile
                return total, jax.lax.dynamic_update_slice(probs, mixed[None], where)

            # The weights are complete with the last tile, the first of those that are predicted.
            begin = jax.vmap(lambda u: target.log_scaled_prior(u, scaled, readings))(flat)
            begin = begin - proposed[row], results[1]
            total, probs = jax.lax.fori_loop(0, 2 * data.tiles - 1, add, begin)
            total = jnp.where(jnp.isfinite(total), total, -jnp.inf)
            return results[0].at[row].set(total), probs

        nothing = jnp.zeros(proposed.shape), jnp.zeros((sets, size, rows))
        return jax.lax.fori_loop(0, count, one, nothing)

    return compiled(run, xla_backend_optimization_level=1)

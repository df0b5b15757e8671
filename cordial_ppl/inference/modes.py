"""The programs of the paper's literal method: searches for modes, and the weights of its draws."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

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
    given = pad_rows(points, SEARCHES, 0.0), pad_rows(index, SEARCHES, 0)
    going = np.arange(SEARCHES) < count
    found = _search_modes(target)(prior, data, *given, going, np.int32(max_rounds))
    return Ends(*(np.asarray(part)[:count] for part in found[:-1]), rounds=found.rounds)


@lru_cache(maxsize=512)
def _search_modes(target: Target) -> Callable[..., Any]:
    def run(
        prior: Prior, data: Data, points: Array, index: Array, going: Array, rounds: Array
    ) -> Ends:
        def loss(point: Array, place: Array) -> tuple[Array, Array]:
            one = Prior(prior.loc[place], prior.scale[place])

            def prior_density(w: Array) -> Array:
                readings = take_tile(data, jnp.zeros((), jnp.int32), place)[0]
                return target.log_scaled_prior(one.loc + one.scale * w, one, readings)

            def add(tile: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
                readings, *labels = take_tile(data, tile, place)

                def likelihood(w: Array) -> Array:
                    return target.log_likelihood(one.loc + one.scale * w, readings, *labels)

                found = jax.value_and_grad(likelihood)(point)
                return jax.tree.map(jnp.add, total, found)

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
    given = pad_rows(points, room, 0.0), pad_rows(log_proposal, room, 0.0)
    log_weights, probs = _weigh_and_predict(target)(prior, data, *given, np.int32(count))
    return np.asarray(log_weights)[:count], np.asarray(probs)[:count].swapaxes(1, 2)


@lru_cache(maxsize=512)
def _weigh_and_predict(target: Target) -> Callable[..., Any]:
    def run(prior: Prior, data: Data, points: Array, proposed: Array, count: Array) -> Any:
        sets, size, rows = len(data.labels), target.options, data.labels.shape[-1]
        tile = tile_of(rows)

        def one(place: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            scaled = Prior(prior.loc[place], prior.scale[place])
            readings = take_tile(data, jnp.zeros((), jnp.int32), place)[0]
            flat = unwhiten(scaled, points[place])

            def add(step: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
                total, probs = found
                index = step % data.tiles
                readings, *labels = take_tile(data, index, place)
                scores, each = jax.vmap(lambda u: target.pointwise(u, readings, *labels))(flat)
                total += jnp.where(step < data.tiles, scores.sum(axis=1), 0.0)
                # A draw without a density has no weight, and nothing it predicts counts.
                weights = jax.nn.softmax(jnp.where(jnp.isfinite(total), total, -jnp.inf))
                said = jnp.where(weights[:, None, None] > 0, each, 0.0)
                mixed = jnp.stack([weights @ said[..., option] for option in range(size)])
                where = place.astype(jnp.int32), jnp.int32(0), index * tile
                return total, jax.lax.dynamic_update_slice(probs, mixed[None], where)

            # The weights are known with the last tile, the first of those that are predicted.
            begin = jax.vmap(lambda u: target.log_scaled_prior(u, scaled, readings))(flat)
            begin = begin - proposed[place], found[1]
            total, probs = jax.lax.fori_loop(0, 2 * data.tiles - 1, add, begin)
            total = jnp.where(jnp.isfinite(total), total, -jnp.inf)
            return found[0].at[place].set(total), probs

        nothing = jnp.zeros(proposed.shape), jnp.zeros((sets, size, rows))
        return jax.lax.fori_loop(0, count, one, nothing)

    return compiled(run, xla_backend_optimization_level=1)

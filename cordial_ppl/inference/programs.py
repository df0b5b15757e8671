"""The three programs of a channel that XLA compiles; whatever else inference does compiles nothing.

Rows of texts are taken tile by tile in a loop whose length is data: one program serves any number
of texts.  Points are whitened, ``u = loc + scale * w``, in units of the prior; prior, labels and
histogram are arguments, so that other ones never compile again.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import pad_rows, repeat_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import TILE, Data, on_cpu, texts_last
from cordial_ppl.inference.minimise import Ends, search
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.readings import Readings

POINTS = 1024
"""Points whose density is computed in one call."""

SEARCHES = 64
"""Searches for a mode that one call goes on with."""

REACH = 40.0
"""Prior standard deviations beyond which no mode is sought."""

DRAWS, TEXTS = 128, 512
"""Draws and texts of one prediction call."""


def log_densities(
    target: Target, prior: Prior, data: Data, points: Float[Array, "S P"]
) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
    """Log prior and log likelihood of whitened points; a pure function, to be compiled.

    A density that is not a number counts as zero.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: labelled texts.
        points: whitened points.

    Returns:
        Log prior density (of the unconstrained parameters) and log likelihood, nats.
    """
    flat = _colour(prior, points)

    def add(tile: Array, total: Array) -> Array:
        readings, labels = _rows(data, tile)
        each = jax.vmap(lambda u: target.log_likelihood(u, readings, labels))(flat)
        return total + each.astype(total.dtype)

    readings, _ = _rows(data, jnp.zeros((), jnp.int32))
    powers = jax.vmap(lambda u: target.log_powers(u, readings))(flat).astype(points.dtype)
    likelihood = jax.lax.fori_loop(0, data.tiles, add, powers)
    own = jax.vmap(lambda u: target.log_prior(u, prior, readings))(flat).astype(points.dtype)
    bad = ~(jnp.isfinite(own) & jnp.isfinite(likelihood))
    return jnp.where(bad, 0.0, own), jnp.where(bad, -jnp.inf, likelihood)


def density(
    target: Target, prior: Prior, data: Data, points: Float[np.ndarray, "S P"]
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Log prior and log likelihood of any number of whitened points, in the precision of the data.

    Arguments and results are those of :func:`log_densities`.
    """
    run, found, size = _density(target), [], min(POINTS, len(points))
    for start in range(0, len(points), size):
        block = points[start : start + size]
        parts = run(prior, data, pad_rows(block, size, 0.0))
        found.append([np.asarray(part)[: len(block)] for part in parts])
    if len(found) == 1:
        return found[0][0], found[0][1]
    own, likelihood = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return own, likelihood


@lru_cache(maxsize=512)
def _density(target: Target) -> Callable[..., Any]:
    return compiled(lambda prior, data, points: log_densities(target, prior, data, points))


def climb(
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
    found = _climb(target)(prior, data, *given, going, np.int32(max_rounds))
    return Ends(*(np.asarray(part)[:count] for part in found[:-1]), rounds=int(found[-1]))


@lru_cache(maxsize=512)
def _climb(target: Target) -> Callable[..., Any]:
    def run(
        prior: Prior, data: Data, points: Array, index: Array, going: Array, rounds: Array
    ) -> Ends:
        def loss(point: Array, place: Array) -> tuple[Array, Array]:
            own = Prior(prior.loc[place], prior.scale[place])
            histogram = data.histogram[place]

            def prior_density(w: Array) -> Array:
                readings, _ = _rows(data, jnp.zeros((), jnp.int32), place)
                silent = readings._replace(histogram=histogram)
                flat = own.loc + own.scale * w
                return target.log_prior(flat, own, silent) + target.log_powers(flat, silent)

            def add(tile: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
                readings, labels = _rows(data, tile, place)

                def likelihood(w: Array) -> Array:
                    return target.log_likelihood(own.loc + own.scale * w, readings, labels)

                found = jax.value_and_grad(likelihood)(point)
                return jax.tree.map(jnp.add, total, found)

            begin = jax.value_and_grad(prior_density)(point)
            value, slope = jax.lax.fori_loop(0, data.tiles, add, begin)
            return jnp.where(jnp.abs(point).max() <= REACH, -value, jnp.inf), -slope

        return search(loss, points, index, going, max_rounds=rounds)

    return compiled(run, xla_backend_optimization_level=1)


def weigh(
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
    log_weights, probs = _weigh(target)(prior, data, *given, np.int32(count))
    return np.asarray(log_weights)[:count], np.asarray(probs)[:count].swapaxes(1, 2)


@lru_cache(maxsize=512)
def _weigh(target: Target) -> Callable[..., Any]:
    def run(prior: Prior, data: Data, points: Array, proposed: Array, count: Array) -> Any:
        sets, size, rows = len(data.labels), target.options, data.labels.shape[-1]
        tile = _tile(rows)

        def one(place: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            own = Prior(prior.loc[place], prior.scale[place])
            readings, _ = _rows(data, jnp.zeros((), jnp.int32), place)
            silent = readings._replace(histogram=data.histogram[place])
            flat = _colour(own, points[place])

            def start(u: Array) -> Array:
                return target.log_prior(u, own, silent) + target.log_powers(u, silent)

            def add(step: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
                total, probs = found
                index = step % data.tiles
                readings, labels = _rows(data, index, place)
                scores, each = jax.vmap(lambda u: target.pointwise(u, readings, labels))(flat)
                total += jnp.where(step < data.tiles, scores.sum(axis=1), 0.0)
                weights = jax.nn.softmax(total)
                mixed = jnp.stack([weights @ each[..., option] for option in range(size)])
                where = place.astype(jnp.int32), jnp.int32(0), index * tile
                return total, jax.lax.dynamic_update_slice(probs, mixed[None], where)

            # The weights are known with the last tile, the first of those that are predicted.
            begin = jax.vmap(start)(flat) - proposed[place], found[1]
            total, probs = jax.lax.fori_loop(0, 2 * data.tiles - 1, add, begin)
            total = jnp.where(jnp.isfinite(total), total, -jnp.inf)
            return found[0].at[place].set(total), probs

        nothing = jnp.zeros(proposed.shape), jnp.zeros((sets, size, rows))
        return jax.lax.fori_loop(0, count, one, nothing)

    return compiled(run, xla_backend_optimization_level=1)


def predict(
    target: Target,
    draws: Float[np.ndarray, "S P"],
    weights: Float[np.ndarray, " S"],
    readings: Readings,
    values: Float[np.ndarray, "*m K"] | None = None,
) -> tuple[Float[np.ndarray, "m K"], Float[np.ndarray, "S m"] | None]:
    r"""Posterior predictive distribution of each text, in the precision of the readings.

    .. math:: \hat p(z \mid x) = \sum_s w_s\, \hat p(z \mid x, \phi_s)

    Args:
        target: the channel.
        draws: unconstrained parameters.
        weights: of the draws.
        readings: texts to predict.
        values: value of each option, where expected values are asked for; or of each text's own.

    Returns:
        Probabilities, and the expected value of each text under each draw.
    """
    run, kind = _predict(target), readings.logits.dtype
    count, *_, size = readings.logits.shape
    short = -len(draws) % DRAWS
    draws = np.pad(draws.astype(kind), ((0, short), (0, 0)), mode="edge")
    weights = np.pad(weights.astype(kind), (0, short))
    given = np.zeros(size) if values is None else values
    places = np.broadcast_to(given, (count, size)).astype(kind)
    probs = np.zeros((count, size), kind)
    means = None if values is None else np.empty((len(draws), count), kind)
    for first in range(0, count, TEXTS):
        rows = slice(first, min(first + TEXTS, count))
        texts = rows.stop - first
        data = Data(
            texts_last(pad_rows(readings.logits[rows], TEXTS, 0.0)),
            np.full(TEXTS, -1, np.int32),
            np.asarray(readings.histogram, kind),
            {k: repeat_rows(v[rows], TEXTS) for k, v in readings.covariates.items()},
            np.int32(-(-texts // _tile(TEXTS))),
        )
        own = texts_last(pad_rows(places[rows], TEXTS, 0.0))
        for start in range(0, len(draws), DRAWS):
            some = slice(start, start + DRAWS)
            found = run(draws[some], weights[some], data, own)
            probs[rows] += np.asarray(found[0])[:, :texts].T
            if means is not None:
                means[some, rows] = np.asarray(found[1])[:, :texts]
    return probs, None if means is None else means[: len(means) - short]


@lru_cache(maxsize=512)
def _predict(target: Target) -> Callable[..., Any]:
    def run(draws: Array, weights: Array, data: Data, values: Array) -> tuple[Array, Array]:
        rows, kind = data.labels.shape[0], draws.dtype
        tile = _tile(rows)

        def add(index: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
            readings, _ = _rows(data, index)
            probs = jax.vmap(lambda u: target.probs(u, readings))(draws).astype(kind)
            each, start = [probs[..., option] for option in range(len(values))], index * tile
            mean = jnp.stack([weights @ part for part in each])
            places = jax.lax.dynamic_slice_in_dim(values, start, tile, 1)
            expected = sum(own[None] * part for own, part in zip(places, each, strict=True))
            return (
                jax.lax.dynamic_update_slice_in_dim(total[0], mean, start, 1),
                jax.lax.dynamic_update_slice_in_dim(total[1], expected, start, 1),
            )

        shapes = (len(values), rows), (len(draws), rows)
        nothing = tuple(jnp.zeros(shape, kind) for shape in shapes)
        return jax.lax.fori_loop(0, data.tiles, add, nothing)

    return compiled(run)


def _colour(prior: Prior, points: Float[Array, "S P"]) -> Float[Array, "S P"]:
    return jnp.asarray(prior.loc)[None] + jnp.asarray(prior.scale)[None] * points


def _tile(rows: int) -> int:
    """Rows to compute at a time: an accelerator takes them all."""
    return math.gcd(TILE, rows) if on_cpu() else rows


def _rows(data: Data, index: Array, *place: Array) -> tuple[Readings, Int[Array, " tile"]]:
    """One tile of the texts with their labels, of one of several data sets."""
    rows = data.labels.shape[-1]
    tile = _tile(rows)

    def cut(values: Any) -> Array:
        values, axis = jnp.asarray(values), len(place)
        middle = values.shape[axis:-1]
        # In one go: what is taken of one data set is this tile, and not all of its rows.
        own = [where.astype(index.dtype) for where in place]
        starts = (*own, *(jnp.zeros_like(index) for _ in middle), index * tile)
        found = jax.lax.dynamic_slice(values, starts, (*(1 for _ in place), *middle, tile))
        return found.reshape(*middle, tile)

    histogram = data.histogram[place] if place else data.histogram
    logits = jnp.moveaxis(cut(data.logits), -1, 0)
    covariates = {name: cut(own) for name, own in data.covariates.items()}
    return Readings(logits, histogram, covariates), cut(data.labels)

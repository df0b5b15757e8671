"""Predictions of texts under draws, by compiled programs: their average, or one of each draw."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.data.labelled import TILE, Data, pad, texts_last, without_labels
from cordial_ppl.data.readings import Readings
from cordial_ppl.inference.target import Target
from cordial_ppl.inference.tiles import take_tile, tile_of
from cordial_ppl.runtime.arrays import pad_rows, repeat_rows
from cordial_ppl.runtime.compilation import compiled

DRAWS, TEXTS = 128, 1024
"""Draws and texts of one prediction call."""

ROWS = 2 * TILE
"""Texts that are predicted at a time: draws are few."""


def predict(
    target: Target,
    draws: Float[np.ndarray, "S P"],
    weights: Float[np.ndarray, " S"],
    readings: Readings,
    values: Float[np.ndarray, "*m K"] | None = None,
) -> tuple[Float[np.ndarray, "m K"], Float[np.ndarray, "S m"] | None]:
    r"""Compute each text's posterior predictive distribution, in the precision of the readings.

    .. math:: \hat p(z \mid x) = \sum_s w_s\, \hat p(z \mid x, \phi_s)

    Args:
        target: the channel.
        draws: unconstrained parameters.
        weights: of the draws.
        readings: texts to predict.
        values: value of each option, or of each option of each text; None for no expected values.

    Returns:
        Probabilities, float64 rows that sum to one, and the expected value of each text under each
        draw.
    """
    run, dtype = _predict(target), readings.logits.dtype
    (count, *_, size), padded = readings.logits.shape, _round_up(len(draws))
    flat = repeat_rows(draws.astype(dtype), padded)
    weights = pad_rows(weights.astype(dtype), padded, 0.0)
    option_values = np.zeros(size) if values is None else values
    positions = np.broadcast_to(option_values, (count, size)).astype(dtype)
    probs = np.zeros((count, size))
    means = None if values is None else np.empty((padded, count), dtype)
    for rows, texts, data in _batches(readings):
        scores = texts_last(pad_rows(positions[rows], TEXTS, 0.0))
        for start in range(0, padded, DRAWS):
            chunk = slice(start, start + DRAWS)
            mixed, expected = run(flat[chunk], weights[chunk], data, scores)
            probs[rows] += np.asarray(mixed)[:, :texts].T
            if means is not None:
                means[chunk, rows] = np.asarray(expected)[:, :texts]
    probs /= probs.sum(axis=1, keepdims=True)
    return probs, None if means is None else means[: len(draws)]


def predict_draws(
    target: Target,
    draws: Float[np.ndarray, "S P"],
    histograms: Float[np.ndarray, "S K"],
    readings: Readings,
) -> Float[np.ndarray, "S m K"]:
    r"""Predict each text under each draw, :math:`\hat p(z \mid x, \phi_s, \pi_s)`.

    Args:
        target: the channel.
        draws: unconstrained parameters.
        histograms: the label histogram that goes with each draw, in place of the readings'.
        readings: texts to predict.

    Returns:
        Probabilities in the precision of the readings.
    """
    run, dtype, padded = _predict_draws(target), readings.logits.dtype, _round_up(len(draws))
    flat, shares = (repeat_rows(each.astype(dtype), padded) for each in (draws, histograms))
    probs_of_draws = np.empty((padded, histograms.shape[1], len(readings.logits)), dtype)
    for rows, texts, data in _batches(readings):
        for start in range(0, padded, DRAWS):
            chunk = slice(start, start + DRAWS)
            (probs,) = map(np.asarray, run(flat[chunk], shares[chunk], data))
            probs_of_draws[chunk, :, rows] = probs[:, :, :texts]
    return np.moveaxis(probs_of_draws[: len(draws)], 1, 2)


def _round_up(draws: int) -> int:
    """Number of draws that fills the calls that take them."""
    return -(-draws // DRAWS) * DRAWS


def _batches(readings: Readings) -> Iterator[tuple[slice, int, Data]]:
    """Yield as many texts as a call takes: their rows, their number, and the padded texts."""
    count, dtype = len(readings.logits), readings.logits.dtype
    for first in range(0, count, TEXTS):
        rows = slice(first, first + TEXTS)
        extra = {name: part[rows] for name, part in readings.covariates.items()}
        texts = without_labels(readings.logits[rows], extra)
        data = pad(texts, readings.histogram, dtype, TEXTS)
        tiles = np.int32(-(-len(texts.labels) // tile_of(TEXTS, ROWS)))
        yield rows, len(texts.labels), data._replace(tiles=tiles)


@lru_cache(maxsize=512)
def _predict(target: Target) -> Callable[..., Any]:
    def run(draws: Array, weights: Array, data: Data, values: Array) -> tuple[Array, Array]:
        rows, dtype = data.labels.shape[0], draws.dtype
        tile = tile_of(rows, ROWS)

        def add(index: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
            readings = take_tile(data, index, ROWS)[0]
            probs = jax.vmap(lambda u: target.probs(u, readings))(draws).astype(dtype)
            each, start = [probs[..., option] for option in range(len(values))], index * tile
            mean = jnp.stack([weights @ part for part in each])
            positions = jax.lax.dynamic_slice_in_dim(values, start, tile, 1)
            pairs = zip(positions, each, strict=True)
            expected = sum(position[None] * part for position, part in pairs)
            update = jax.lax.dynamic_update_slice_in_dim
            return update(total[0], mean, start, 1), update(total[1], expected, start, 1)

        shapes = (len(values), rows), (len(draws), rows)
        nothing = tuple(jnp.zeros(shape, dtype) for shape in shapes)
        return jax.lax.fori_loop(0, data.tiles, add, nothing)

    # The same numbers as at the highest level, which takes longer to compile.
    return compiled(run, name=target.name_program("predictions"), xla_backend_optimization_level=2)


@lru_cache(maxsize=512)
def _predict_draws(target: Target) -> Callable[..., Any]:
    def run(draws: Array, histograms: Array, data: Data) -> tuple[Array]:
        rows, dtype = data.labels.shape[0], draws.dtype
        tile = tile_of(rows, ROWS)

        def add(index: Array, total: Array) -> Array:
            readings = take_tile(data, index, ROWS)[0]
            each = jax.vmap(lambda u, pi: target.probs(u, readings._replace(histogram=pi)))
            probs = jnp.moveaxis(each(draws, histograms).astype(dtype), 2, 1)
            return jax.lax.dynamic_update_slice_in_dim(total, probs, index * tile, 2)

        nothing = jnp.zeros((*histograms.shape, rows), dtype)
        return (jax.lax.fori_loop(0, data.tiles, add, nothing),)

    return compiled(run, name=target.name_program("predictions of draws"))

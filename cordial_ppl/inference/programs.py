"""The programs of a channel that XLA compiles for the default; the rest of it compiles nothing.

Texts are taken a tile at a time in a loop whose length is data, so that one program serves any
number of texts.  Points are whitened, ``u = loc + scale * w``, in units of the prior.  Prior,
labels and histogram are arguments: other ones do not compile again.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import pad_rows, repeat_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import TILE, Data, texts_last
from cordial_ppl.inference.moves import Gaussian, Particles, Walk, decide, propose
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.readings import Readings

POINTS, STEPS = 1024, 8
"""Points whose density is computed side by side by default, and how often at most in one call."""

DRAWS, TEXTS, PREDICTED = 128, 512, 2 * TILE
"""Draws and texts of one prediction call, and how many of the texts it takes at a time."""


class Problem(NamedTuple):
    """What is sampled: a channel, its prior and labelled texts, in the precision to work in."""

    target: Target
    prior: Prior
    data: Data


def log_densities(
    problem: Problem, points: Float[Array, "S P"]
) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
    """Log prior and log likelihood of whitened points; a pure function, to be compiled.

    Args:
        problem: what is sampled.
        points: whitened points.

    Returns:
        Log prior density (of the unconstrained parameters) and log likelihood, nats; 0 and -inf
        where one of them is not finite.
    """
    target, prior, data = problem
    flat = jnp.asarray(prior.loc)[None] + jnp.asarray(prior.scale)[None] * points

    def add(tile: Array, total: Array) -> Array:
        readings, labels = take_tile(data, tile)
        each = jax.vmap(lambda u: target.log_likelihood(u, readings, labels))(flat)
        return total + each.astype(total.dtype)

    readings, _ = take_tile(data, jnp.zeros((), jnp.int32))
    likelihood = jax.lax.fori_loop(0, data.tiles, add, jnp.zeros(len(points), points.dtype))
    before = jax.vmap(lambda u: target.log_prior(u, prior, readings))(flat).astype(points.dtype)
    fine = jnp.isfinite(before) & jnp.isfinite(likelihood)
    return jnp.where(fine, before, 0.0), jnp.where(fine, likelihood, -jnp.inf)


def density(
    problem: Problem, points: Float[np.ndarray, "S P"], rows: int = POINTS
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Log prior and log likelihood of any number of whitened points, in the precision of the data.

    Arguments and results are those of :func:`log_densities`; ``rows`` points are computed side by
    side, by the program that moves as many particles.
    """
    (count, size), kind, found = points.shape, points.dtype, []
    zero, mean, line = np.zeros((), kind), np.zeros(size, kind), np.zeros(rows, kind)
    nowhere = np.zeros((rows, size), kind)
    begin = Walk(Particles(nowhere, line, line), nowhere, zero, zero)
    numbers = np.ones((STEPS, rows), kind), np.zeros((STEPS, rows, size + 1), kind)
    for start in range(0, count, STEPS * rows):
        block = points[start : start + STEPS * rows]
        given = pad_rows(block, STEPS * rows, 0.0).reshape(STEPS, rows, size)
        steps = np.int32(-(-len(block) // rows))
        around = begin, mean, zero, *numbers, given, steps, np.False_
        parts = _walk(problem.target)(problem.prior, problem.data, *around)[1]
        found.append([np.asarray(part).ravel()[: len(block)] for part in parts])
    log_prior, log_likelihood = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return log_prior, log_likelihood


def walk(
    problem: Problem,
    particles: Particles,
    around: Gaussian,
    temper: Any,
    log_step: Any,
    normal: Float[np.ndarray, "moves S P_and_1"],
    uniform: Float[np.ndarray, "moves S"],
) -> tuple[Particles, Any, Any]:
    """Move particles under ``prior * likelihood ** temper``, in any number of moves.

    Args:
        problem: what is sampled.
        particles: where they are.
        around: a Gaussian that resembles the tempered posterior.
        temper: power of the likelihood, between 0 and 1.
        log_step: log of the typical step to begin with.
        normal: standard normal numbers, one for each coordinate and one for the size of the step.
        uniform: uniform numbers in (0, 1].

    Returns:
        The particles, the adapted log step, and the acceptance rate of the last move; NaN without
        a move.
    """
    run, kind = _walk(problem.target), particles.points.dtype
    temper, log_step, never = (np.asarray(x, kind) for x in (temper, log_step, np.nan))
    now = Walk(particles, around.whiten(particles.points), log_step, never)
    for first in range(0, len(normal), STEPS):
        some = slice(first, first + STEPS)
        # Products of matrices are left to NumPy: XLA takes as long to compile two as a density.
        numbers = uniform[some], normal[some], normal[some, :, :-1] @ around.factor.T
        given = (pad_rows(part, STEPS, 1.0) for part in numbers)
        steps = np.int32(len(numbers[0]))
        start = now, around.mean, temper, *given, steps, np.True_
        now = jax.tree.map(np.asarray, run(problem.prior, problem.data, *start)[0])
    return now.particles, now.log_step, now.rate


@lru_cache(maxsize=512)
def _walk(target: Target) -> Callable[..., Any]:
    """Moves of particles, or densities of points: the density is compiled once for both."""

    def run(
        prior: Prior,
        data: Data,
        begin: Walk,
        mean: Array,
        temper: Array,
        uniform: Array,
        normal: Array,
        shaken: Array,
        steps: Array,
        walking: Array,
    ) -> tuple[Walk, tuple[Array, Array]]:
        def once(place: Array, state: tuple[Walk, tuple]) -> tuple[Walk, tuple]:
            now, logs = state
            standard, moved = propose(now, mean, normal[place], shaken[place])
            points = jnp.where(walking, moved, shaken[place])
            found = log_densities(Problem(target, prior, data), points)
            now = decide(now, standard, Particles(points, *found), temper, uniform[place])
            return now, tuple(log.at[place].set(new) for log, new in zip(logs, found, strict=True))

        return jax.lax.fori_loop(0, steps, once, (begin, (jnp.zeros_like(uniform),) * 2))

    return compiled(run)


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
        values: value of each option, the same for all texts or one row a text; None for no
            expected values.

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
            np.int32(-(-texts // PREDICTED)),
        )
        worth = texts_last(pad_rows(places[rows], TEXTS, 0.0))
        for start in range(0, len(draws), DRAWS):
            some = slice(start, start + DRAWS)
            found = run(draws[some], weights[some], data, worth)
            probs[rows] += np.asarray(found[0])[:, :texts].T
            if means is not None:
                means[some, rows] = np.asarray(found[1])[:, :texts]
    return probs, None if means is None else means[: len(means) - short]


@lru_cache(maxsize=512)
def _predict(target: Target) -> Callable[..., Any]:
    def run(draws: Array, weights: Array, data: Data, values: Array) -> tuple[Array, Array]:
        kind = draws.dtype

        def add(index: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
            readings, _ = take_tile(data, index, rows=PREDICTED)
            probs = jax.vmap(lambda u: target.probs(u, readings))(draws).astype(kind)
            each, start = [probs[..., option] for option in range(len(values))], index * PREDICTED
            mean = jnp.stack([weights @ part for part in each])
            places = jax.lax.dynamic_slice_in_dim(values, start, PREDICTED, 1)
            expected = sum(value[None] * part for value, part in zip(places, each, strict=True))
            return (
                jax.lax.dynamic_update_slice_in_dim(total[0], mean, start, 1),
                jax.lax.dynamic_update_slice_in_dim(total[1], expected, start, 1),
            )

        nothing = tuple(jnp.zeros((len(part), TEXTS), kind) for part in (values, draws))
        return jax.lax.fori_loop(0, data.tiles, add, nothing)

    return compiled(run)


def take_tile(
    data: Data, index: Array, *place: Array, rows: int = TILE
) -> tuple[Readings, Int[Array, " rows"]]:
    """One tile of the texts with their labels.

    Args:
        data: the texts; or several data sets, every array but ``tiles`` with an axis of them.
        index: number of the tile.
        place: which of several data sets it is of.
        rows: texts of a tile.
    """

    def cut(values: Any) -> Array:
        middle = jnp.shape(values)[len(place) : -1]
        # In one go: what is taken of one data set is this tile, and not all of its rows.
        which = [where.astype(index.dtype) for where in place]
        starts = *which, *(jnp.zeros_like(index) for _ in middle), index * rows
        size = *(1 for _ in place), *middle, rows
        return jax.lax.dynamic_slice(values, starts, size).reshape(*middle, rows)

    histogram = data.histogram[place] if place else data.histogram
    covariates = {name: cut(column) for name, column in data.covariates.items()}
    return Readings(jnp.moveaxis(cut(data.logits), -1, 0), histogram, covariates), cut(data.labels)

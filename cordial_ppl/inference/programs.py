"""The programs of a channel that XLA compiles.

Rows of texts are taken tile by tile in a loop whose length is data: one program serves any number
of texts.  Points are whitened, ``u = loc + scale * w``, in units of the prior; prior, labels and
histogram are arguments, so that other ones never compile again.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.channels import is_ours
from cordial_ppl.data.labelled import TILE, Data, pad, texts_last, without_labels
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import warn
from cordial_ppl.inference.moves import Gaussian, Particles, PCNState, decide, propose
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.runtime.arrays import pad_rows, repeat_rows
from cordial_ppl.runtime.compilation import compiled

POINTS, STEPS = 1024, 8
"""Points whose density is computed side by side by default, and how often at most in one call."""

PACE, SLOW, PATIENCE = 1.5e-9, 50, 5.0
"""Seconds, about, in which the mixture computes a probability of an option; how many times that is
slow; and seconds of a slow channel before a warning."""

DRAWS, TEXTS = 128, 1024
"""Draws and texts of one prediction call."""

WIDE = 512
"""Rows that an accelerator computes at a time, at most."""

QUICK: dict[str, Any] = {"xla_backend_optimization_level": 1}
"""How moves are compiled for a CPU: code of the highest level ran a quarter longer ("bridge", 20
texts, AVX-512, jaxlib 0.12), and takes a third longer to compile."""

_wide: ContextVar[bool] = ContextVar("wide", default=False)


def draw_prior(
    target: Target, prior: Prior, data: Data, draws: int, seed: int | np.integer
) -> Float[np.ndarray, "S P"]:
    """Draw whitened points from a prior, in the precision of the data."""
    if target.gaussian:
        return np.random.default_rng(seed).standard_normal((draws, target.size), data.logits.dtype)
    return np.asarray(_draw_prior(target, draws)(prior, data, np.uint32(seed)))


@lru_cache(maxsize=256)
def _draw_prior(target: Target, draws: int) -> Callable[..., Any]:
    def run(prior: Prior, data: Data, seed: Array) -> Array:
        return draw_from_model(prior, data, seed, target=target, draws=draws)

    return compiled(run)


def draw_from_model(
    prior: Prior, data: Data, seed: Array, *, target: Target, draws: int
) -> Float[Array, "S P"]:
    """Draw whitened points as the model samples them; pure, to be compiled."""
    flat = target.sample_prior(jax.random.key(seed), prior, data.readings, draws)
    loc, scale = (jnp.asarray(part)[None] for part in prior)
    return ((flat - loc) / scale).astype(data.logits.dtype)


def log_densities(
    target: Target, prior: Prior, data: Data, points: Float[Array, "S P"]
) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
    """Compute log prior and log likelihood of whitened points; pure, to be compiled.

    A density that is not a number counts as zero.

    Args:
        target: the channel.
        prior: location and scale of the unconstrained parameters.
        data: labelled texts.
        points: whitened points.

    Returns:
        Log prior density (of the unconstrained parameters) and log likelihood, nats.
    """
    flat = unwhiten(prior, points)

    def add(tile: Array, total: Array) -> Array:
        readings, *labels = take_tile(data, tile)
        each = jax.vmap(lambda u: target.log_likelihood(u, readings, *labels))(flat)
        return total + each.astype(total.dtype)

    readings = take_tile(data, jnp.zeros((), jnp.int32))[0]
    powers = jax.vmap(lambda u: target.log_powers(u, readings))(flat).astype(points.dtype)
    log_likelihood = jax.lax.fori_loop(0, data.tiles, add, powers)
    log_prior = jax.vmap(lambda u: target.log_prior(u, prior, readings))(flat).astype(points.dtype)
    bad = ~(jnp.isfinite(log_prior) & jnp.isfinite(log_likelihood))
    return jnp.where(bad, 0.0, log_prior), jnp.where(bad, -jnp.inf, log_likelihood)


def density(
    target: Target, prior: Prior, data: Data, points: Float[np.ndarray, "S P"], rows: int = POINTS
) -> tuple[Float[np.ndarray, "*many S"], Float[np.ndarray, "*many S"]]:
    """Compute log prior and log likelihood of any number of whitened points.

    Arguments and results are those of :func:`log_densities`, in the precision of the data, or, for
    data with several sets of labels ``[F, rows]`` and histograms, ``[F, S]``; ``rows`` points are
    computed side by side, by the program that moves as many particles.
    """
    run, (count, size) = _pcn_program(target), points.shape
    labels, shares = np.atleast_2d(data.labels), np.atleast_2d(data.histogram)
    placeholders, blocks = _placeholders(rows, size, points.dtype), -(-count // rows)
    padded = pad_rows(points, blocks * rows, 0.0).reshape(blocks, rows, size)
    logs = np.empty((2, len(labels) * blocks, rows), points.dtype)
    for start in range(0, logs.shape[1], STEPS):
        steps = min(STEPS, logs.shape[1] - start)
        fold, block = np.divmod(start + np.arange(STEPS) % steps, blocks)
        each = data._replace(labels=labels[fold], histogram=shares[fold])
        parts = run(prior, each, *placeholders, padded[block], np.int32(steps), np.False_)[-2:]
        logs[:, start : start + steps] = np.stack(parts)[:, :steps]
    log_prior, log_likelihood = logs.reshape(2, *data.labels.shape[:-1], -1)[..., :count]
    return log_prior, log_likelihood


def run_pcn(
    target: Target,
    prior: Prior,
    data: Data,
    begin: PCNState,
    around: Gaussian,
    temper: Float[Any, ""],
    numbers: tuple[Float[np.ndarray, "moves S P_and_1"], Float[np.ndarray, "moves S"]],
) -> PCNState:
    """Move particles, in any number of moves, on NumPy arrays.

    Arguments are those of `log_densities` and of the moves of `cordial_ppl.inference.moves`, with
    random numbers of each move: standard normal ones, and uniform ones.
    """
    normal, uniform = numbers
    run, dtype = _pcn_program(target), begin.standard.dtype
    terms = uniform.shape[-1] * tile_of(data.labels.shape[-1]) * int(data.tiles) * target.options
    state, temper = jax.tree.map(lambda leaf: np.asarray(leaf, dtype), (begin, temper))
    labels, shares = (np.stack([part] * STEPS) for part in (data.labels, data.histogram))
    data = data._replace(labels=labels, histogram=shares)
    for first in range(0, len(normal), STEPS):
        chunk = slice(first, first + STEPS)
        # Products of matrices are left to NumPy: XLA takes as long to compile two as a density.
        parts = uniform[chunk], normal[chunk], around.stretch(normal[chunk, :, :-1])
        padded = (pad_rows(part, STEPS, 1.0) for part in parts)
        steps, start = np.int32(len(parts[0])), perf_counter()
        moved = run(prior, data, state, around.mean, temper, *padded, steps, np.True_)
        state = jax.tree.unflatten(jax.tree.structure(state), map(np.asarray, moved[:-2]))
        note_time(target, perf_counter() - start, int(steps) * terms)
    return state


def note_time(target: Target, seconds: float, terms: int) -> None:
    """Note what a run of a channel's density took; warn once if it is slow and not ours.

    Args:
        target: the channel.
        seconds: of the run, which compiled nothing.
        terms: how many probabilities it computed: of points, texts and options.
    """
    before, pace = target.seconds, min(target.pace, seconds / terms)
    target.seconds, target.pace = before + seconds, pace
    if not is_ours(target.channel) and before <= PATIENCE < target.seconds and pace > SLOW * PACE:
        warn(
            f"evaluating channel {target.channel.name!r} takes {1e9 * pace:.0f} ns per "
            f"text and option, about {pace / PACE:.0f} times as long as the mixture, so "
            "fits are proportionally slower. If the model uses a function that JAX computes in "
            "many steps, such as betainc, look for a closed form."
        )


@lru_cache(maxsize=512)
def _placeholders(rows: int, size: int, dtype: np.dtype) -> tuple[Any, ...]:
    """Make up what a move begins with, where points are only evaluated."""
    zero, line, points = np.zeros((), dtype), np.zeros(rows, dtype), np.zeros((rows, size), dtype)
    state = PCNState(Particles(points, line, line), points, zero, zero)
    uniform = np.ones((STEPS, rows), dtype)
    return state, points[0], zero, uniform, np.zeros((STEPS, rows, size + 1), dtype)


@lru_cache(maxsize=512)
def _pcn_program(target: Target) -> Callable[..., Any]:
    program = pcn_program(target)

    def run(*arguments: Any) -> tuple[Array, ...]:
        return tuple(jax.tree.leaves(program(*arguments)))

    return compiled(run, name=target.name_program("moves"), **QUICK)


def pcn_program(target: Target) -> Callable[..., Any]:
    """Make the program of moves of particles and densities of points, with the density once."""

    def run(
        prior: Prior,
        data: Data,
        begin: PCNState,
        mean: Array,
        temper: Array,
        uniform: Array,
        normal: Array,
        stretched: Array,
        steps: Array,
        moving: Array,
    ) -> tuple[PCNState, tuple[Array, Array]]:
        def move(step: Array, carry: tuple[PCNState, tuple]) -> tuple[PCNState, tuple]:
            state, logs = carry
            standard, moved = propose(state, mean, normal[step], stretched[step])
            points = jnp.where(moving, moved, stretched[step])
            seen = data._replace(labels=data.labels[step], histogram=data.histogram[step])
            densities = log_densities(target, prior, seen, points)
            state = decide(state, standard, Particles(points, *densities), temper, uniform[step])
            return state, jax.tree.map(lambda log, new: log.at[step].set(new), logs, densities)

        logs = (jnp.zeros_like(uniform),) * 2
        return jax.lax.fori_loop(0, steps, move, (begin, logs))

    return run


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
        tiles = np.int32(-(-len(texts.labels) // tile_of(TEXTS)))
        yield rows, len(texts.labels), data._replace(tiles=tiles)


@lru_cache(maxsize=512)
def _predict(target: Target) -> Callable[..., Any]:
    def run(draws: Array, weights: Array, data: Data, values: Array) -> tuple[Array, Array]:
        rows, dtype = data.labels.shape[0], draws.dtype
        tile = tile_of(rows)

        def add(index: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
            readings = take_tile(data, index)[0]
            probs = jax.vmap(lambda u: target.probs(u, readings))(draws).astype(dtype)
            each, start = [probs[..., option] for option in range(len(values))], index * tile
            mean = jnp.stack([weights @ part for part in each])
            positions = jax.lax.dynamic_slice_in_dim(values, start, tile, 1)
            expected = sum(
                position[None] * part for position, part in zip(positions, each, strict=True)
            )
            return (
                jax.lax.dynamic_update_slice_in_dim(total[0], mean, start, 1),
                jax.lax.dynamic_update_slice_in_dim(total[1], expected, start, 1),
            )

        shapes = (len(values), rows), (len(draws), rows)
        nothing = tuple(jnp.zeros(shape, dtype) for shape in shapes)
        return jax.lax.fori_loop(0, data.tiles, add, nothing)

    # The same numbers as at the highest level, which takes .2 to .5 s longer to compile.
    return compiled(run, name=target.name_program("predictions"), xla_backend_optimization_level=2)


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


@lru_cache(maxsize=512)
def _predict_draws(target: Target) -> Callable[..., Any]:
    def run(draws: Array, histograms: Array, data: Data) -> tuple[Array]:
        rows, dtype = data.labels.shape[0], draws.dtype
        tile = tile_of(rows)

        def add(index: Array, total: Array) -> Array:
            readings = take_tile(data, index)[0]
            each = jax.vmap(lambda u, pi: target.probs(u, readings._replace(histogram=pi)))
            probs = jnp.moveaxis(each(draws, histograms).astype(dtype), 2, 1)
            return jax.lax.dynamic_update_slice_in_dim(total, probs, index * tile, 2)

        nothing = jnp.zeros((*histograms.shape, rows), dtype)
        return (jax.lax.fori_loop(0, data.tiles, add, nothing),)

    return compiled(run, name=target.name_program("predictions of draws"))


def unwhiten(prior: Prior, points: Float[Array, "S P"]) -> Float[Array, "S P"]:
    """Turn whitened points into unconstrained parameters."""
    return jnp.asarray(prior.loc)[None] + jnp.asarray(prior.scale)[None] * points


@contextmanager
def wide_tiles(wide: bool = True) -> Iterator[None]:
    """Take tiles that are wide, as an accelerator wants them: what is traced here keeps them."""
    token = _wide.set(wide)
    try:
        yield
    finally:
        _wide.reset(token)


def tile_of(rows: int) -> int:
    """Return the rows computed at a time: more on an accelerator, and where draws are few."""
    return min(WIDE, rows) if _wide.get() else math.gcd(2 * TILE if rows == TEXTS else TILE, rows)


def take_tile(
    data: Data, index: Array
) -> tuple[Readings, Int[Array, " tile"], Float[Array, " tile"]]:
    """Cut out one tile of the texts with their labels and weights."""
    tile = tile_of(data.labels.shape[-1])

    def cut(values: Any) -> Array:
        values = jnp.asarray(values)
        return jax.lax.dynamic_slice_in_dim(values, index * tile, tile, values.ndim - 1)

    logits = jnp.moveaxis(cut(data.logits), -1, 0)
    covariates = {name: cut(column) for name, column in data.covariates.items()}
    return Readings(logits, data.histogram, covariates), cut(data.labels), cut(data.weights)

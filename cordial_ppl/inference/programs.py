"""Programs of a channel's density and of the moves of particles, compiled by XLA.

Rows of texts are taken tile by tile in a loop whose length is data: one program serves any number
of texts.  Points are whitened, ``u = loc + scale * w``, in units of the prior; prior, labels and
histogram are arguments, so that other ones never compile again.
"""

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.channels import is_ours
from cordial_ppl.data.labelled import Data
from cordial_ppl.errors import warn
from cordial_ppl.inference.moves import Gaussian, Particles, PCNState, decide, propose
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.inference.tiles import take_tile, tile_of
from cordial_ppl.runtime.arrays import pad_rows
from cordial_ppl.runtime.compilation import compiled

POINTS, STEPS = 1024, 8
"""Points whose density is computed side by side by default, and how often at most in one call."""

PACE, SLOW, PATIENCE = 1.5e-9, 50, 5.0
"""Seconds, about, in which the mixture computes a probability of an option; how many times that is
slow; and seconds of a slow channel before a warning."""

QUICK: dict[str, Any] = {"xla_backend_optimization_level": 1}
"""How moves are compiled for a CPU: code of the highest level takes longer to compile, and ran
longer too ("bridge", 20 texts, AVX-512, jaxlib 0.12)."""


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
        prior: Prior, data: Data, begin: PCNState, *arrays: Array
    ) -> tuple[PCNState, tuple[Array, Array]]:
        mean, temper, uniform, normal, stretched, steps, moving = arrays

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


def unwhiten(prior: Prior, points: Float[Array, "S P"]) -> Float[Array, "S P"]:
    """Turn whitened points into unconstrained parameters."""
    return jnp.asarray(prior.loc)[None] + jnp.asarray(prior.scale)[None] * points

r"""The stages of the sampler in JAX, of many problems side by side, compiled as one program.

They are those of `cordial_ppl.inference.sampler`, in one loop that evaluates, or moves, as many
points as there are particles at a time: the density is compiled once.  A problem that needs no more
of a stage keeps its state while the others go on.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, floor, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.data.labelled import Data
from cordial_ppl.inference.importance import khat_limit
from cordial_ppl.inference.moves import BLOCK, RIDGE, Gaussian, Particles, PCNState, decide, propose
from cordial_ppl.inference.programs import log_densities
from cordial_ppl.inference.sampler import (
    FREEDOM,
    HEAVY,
    MAX_TEMPERATURES,
    PRECISION,
    SHARPEN,
    Effort,
    State,
)
from cordial_ppl.inference.target import Prior, Target

INIT, TEMPER, WEIGH, LAST, CARRY, REFRESH, END = range(7)
"""Stages; the particles of all labels are carried to a fold and, where need be, moved there."""

AXES: Any = Data(0, 0, 0, 0, 0, None)  # type: ignore[arg-type]
"""Which arrays of texts have an axis of problems: not the number of tiles."""


def effective_size(log_weights: Float[Array, " S"]) -> Array:
    """Compute the effective number of weighted draws."""
    weights = jnp.exp(log_weights - log_weights.max())
    return weights.sum() ** 2 / (weights**2).sum()


def pareto_smooth(log_weights: Float[Array, " S"]) -> tuple[Array, Array]:
    """Smooth the largest weights, with k-hat, as `cordial_ppl.inference.importance` does."""
    draws, dtype = len(log_weights), log_weights.dtype
    tail = ceil(min(0.2 * draws, 3 * sqrt(draws)))
    points, shifted = 30 + floor(sqrt(tail)), log_weights - log_weights.max()
    logs, order = jax.lax.top_k(shifted, tail + 1)
    top, largest = jnp.exp(logs[::-1]), order[-2::-1]
    excess = top[1:] - top[0]
    spacing = 1 - jnp.sqrt(points / (jnp.arange(1, points + 1, dtype=dtype) - 0.5))
    theta = 1 / excess[-1] + spacing / (3 * excess[floor(tail / 4 + 0.5) - 1])
    slopes = jnp.log1p(-theta[:, None] * excess[None]).mean(axis=1)
    theta = (theta * jax.nn.softmax(tail * (jnp.log(-theta / slopes) - slopes - 1))).sum()
    raw = jnp.log1p(-theta * excess).mean()
    shape = (tail * raw + 10 * 0.5) / (tail + 10)
    levels = jnp.log1p(-(jnp.arange(tail, dtype=dtype) + 0.5) / tail)
    flat, safe = jnp.abs(shape) < 1e-8, jnp.where(jnp.abs(shape) < 1e-8, 1.0, shape)
    quantiles = jnp.where(flat, -levels, jnp.expm1(-safe * levels) / safe)
    logs = jnp.minimum(jnp.log(-raw / theta * quantiles + top[0]), 0.0)
    usable = jnp.isfinite(shape) & jnp.isfinite(logs).all()
    smoothed = shifted.at[largest].set(jnp.where(usable, logs, shifted[largest]))
    degenerate = jnp.where(excess[-1] == 0, 0.0, jnp.inf).astype(dtype)
    return jax.nn.log_softmax(smoothed), jnp.where(jnp.isfinite(shape), shape, degenerate)


def gaussian(points: Float[Array, "S P"], log_weights: Float[Array, " S"]) -> Gaussian:
    """Fit a Gaussian to weighted points, in double precision."""
    wide, weights = points.astype(np.float64), jnp.exp(log_weights.astype(np.float64))
    mean, eye = weights @ wide, jnp.eye(points.shape[1])
    centred = wide - mean[None]
    factor = jnp.linalg.cholesky(centred.T @ (centred * weights[:, None]) + RIDGE * eye)
    inverse = jax.scipy.linalg.solve_triangular(factor, eye, lower=True)
    return Gaussian(*(part.astype(points.dtype) for part in (mean, factor, inverse)))


def _resample(key: Array, state: State, particles: Particles, logs: Array, count: int) -> State:
    """Resample weighted particles systematically, and fit the Gaussian that they move around."""
    total = jnp.cumsum(jnp.exp(logs - logs.max()))
    start = jax.random.uniform(key, (), total.dtype)
    points = (jnp.arange(count, dtype=total.dtype) + start) / count * total[-1]
    rows = jnp.minimum(jnp.searchsorted(total, points, side="right"), len(logs) - 1)
    chosen = jax.tree.map(lambda leaf: leaf[rows], particles)
    equal, around = jnp.full(count, -np.log(count), logs.dtype), gaussian(particles.points, logs)
    return state._replace(particles=chosen, log_weights=equal, around=around)


def _raise_temper(
    key: Array, state: State, particles: Particles, logs: Array, least: float, count: int
) -> State:
    """Reweight particles by the highest power of the likelihood that keeps a size; resample."""

    def reweight(temper: Array) -> Array:
        power = temper - state.temper
        return logs + jnp.where(power > 0, power * particles.log_likelihood, 0.0)

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (ends[0] + ends[1])
        enough = effective_size(reweight(middle)) >= least
        return jnp.where(enough, middle, ends[0]), jnp.where(enough, ends[1], middle)

    one = jnp.ones_like(state.temper)
    low, _ = jax.lax.fori_loop(0, 24, halve, (state.temper, one))
    complete = effective_size(reweight(one)) >= least
    temper = jnp.where(complete, one, jnp.minimum(jnp.maximum(low, state.temper + 1e-5), one))
    weights = jax.nn.log_softmax(reweight(temper))
    return _resample(key, state, particles, weights, count)._replace(temper=temper)


def _propose(key: Array, state: State, count: int, freedom: int) -> tuple[Array, Array]:
    """Draw Student-t points around the particles and their core, with their log density."""
    points, keys = state.particles.points, jax.random.split(key)
    core = jax.nn.log_softmax(SHARPEN * state.particles.log_likelihood)
    pair, size = [gaussian(points, logs) for logs in (state.log_weights, core)], points.shape[1]
    normal = jax.random.normal(keys[0], (2, count // 2, size), points.dtype)
    gamma = jax.random.gamma(keys[1], freedom / 2, (2, count // 2, 1), points.dtype)
    student = normal * jnp.sqrt(freedom / 2 / gamma)
    proposed = jnp.concatenate(
        [each.unwhiten(part) for each, part in zip(pair, student, strict=True)]
    )

    def log_student(each: Gaussian) -> Array:
        distances = (each.whiten(proposed) ** 2).sum(axis=1)
        log_scale = jnp.log(jnp.diagonal(each.factor)).sum()
        return -0.5 * (freedom + size) * jnp.log1p(distances / freedom) - log_scale

    return proposed, jnp.logaddexp(*map(log_student, pair))


def _choose(chosen: Array, new: Any, old: Any) -> Any:
    """Take new leaves of some problems, and old ones of the others."""

    def one(a: Array, b: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(one, new, old)


def make_sampler(target: Target, effort: Effort) -> Callable[..., State]:
    """Make the program of a channel: of priors, texts, seeds, points, states and the first stage.

    Stages are functions of one problem, and of its points with their densities.
    """
    count, blocks, first = effort.particles, effort.proposals, max(effort.proposals // 2, 1)
    freedom = FREEDOM if target.gaussian else HEAVY
    moves = BLOCK * np.array([0, effort.moves, 0, effort.last_moves, 0, effort.moves])
    steps = np.int32(moves + np.array([first, 0, blocks, 0, 1, 0]))
    limit, fold_limit = khat_limit(blocks * count), khat_limit(count)

    def trusted(state: State) -> Array:
        return (state.khat <= limit) & (state.ess >= effort.least_ess)

    def init(key: Array, state: State, points: Particles, log_proposal: Array) -> State:
        part = jax.tree.map(lambda leaf: leaf[: first * count], points)
        none = jnp.zeros(first * count, PRECISION)
        return _raise_temper(key, state, part, none, count / 2 * first**0.5, count)

    def temper(key: Array, state: State, points: Particles, log_proposal: Array) -> State:
        return _raise_temper(key, state, state.particles, state.log_weights, count / 2, count)

    def weigh(key: Array, state: State, points: Particles, log_proposal: Array) -> State:
        logs = points.log_prior - log_proposal + points.log_likelihood
        (smoothed, khat), one = pareto_smooth(logs), jnp.ones_like(state.temper)
        figures = {"khat": khat, "ess": effective_size(logs), "rounds": state.rounds + 1}
        state = state._replace(temper=one, **figures)
        good = _resample(key, state, points, smoothed, count)
        poor = state._replace(around=gaussian(state.particles.points, state.log_weights))
        return jax.tree.map(partial(jnp.where, trusted(state)), good, poor)

    def carry(key: Array, state: State, points: Particles, log_proposal: Array) -> State:
        new, old = jax.tree.map(lambda leaf: leaf[:count], points), state.particles
        change = new.log_prior + new.log_likelihood - old.log_prior - old.log_likelihood
        smoothed, khat = pareto_smooth(change + state.log_weights - state.log_weights.max())
        state = state._replace(khat=khat, ess=effective_size(smoothed))
        kept = state._replace(particles=new, log_weights=smoothed)
        poor = _resample(key, state, new, smoothed, count)
        return jax.tree.map(partial(jnp.where, khat <= fold_limit), kept, poor)

    def keep(key: Array, state: State, points: Particles, log_proposal: Array) -> State:
        return state

    def run(prior: Prior, data: Data, arrays: tuple[Array, Array, State], stage: Array) -> State:
        (seeds, drawn, begin), many = arrays, len(arrays[0])
        points = jnp.zeros((many, blocks, *drawn.shape[2:]), PRECISION).at[:, :first].set(drawn)
        one = jnp.where(stage == CARRY, begin.particles.points, points[:, 0])
        points = points.at[:, 0].set(one)
        evaluate = jax.vmap(partial(log_densities, target), in_axes=(0, AXES, 0))

        def go_on(s: tuple) -> tuple:
            state, points, log_proposal, done, stage, clock = s
            keys = jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), clock))(seeds)
            moving = (stage == TEMPER) | (stage == LAST) | (stage == REFRESH)

            def make() -> tuple[Array, Array]:
                new, logs = jax.vmap(partial(_propose, count=blocks * count, freedom=freedom))(
                    keys, state
                )
                return new.reshape(points.shape), logs

            now = jax.lax.cond(stage == WEIGH, make, lambda: (points, log_proposal))
            points, log_proposal = now

            def move(step: Array, carried: tuple) -> tuple:
                pcn, logs = carried
                pair = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, step)))(keys)

                def shake() -> tuple[Array, Array]:
                    shape = count, target.size + 1
                    normal = jax.vmap(lambda k: jax.random.normal(k, shape, PRECISION))(pair[:, 0])
                    stretched = jax.vmap(Gaussian.stretch)(state.around, normal[..., :-1])
                    return jax.vmap(propose)(pcn, state.around.mean, normal, stretched)

                evaluated = jax.lax.cond(moving, shake, lambda: (pcn.standard, points[:, step]))
                standard, new = evaluated
                densities = evaluate(prior, data, new)
                uniform = jax.vmap(lambda k: jax.random.uniform(k, (count,), PRECISION))(pair[:, 1])
                proposed = Particles(new, *densities)
                moved = jax.vmap(decide)(pcn, standard, proposed, state.temper, 1 - uniform)
                pcn = jax.tree.map(partial(jnp.where, moving), moved, pcn)
                return pcn, logs.at[:, :, step].set(jnp.stack(densities, axis=1))

            standard = jax.vmap(Gaussian.whiten)(state.around, state.particles.points)
            rate, logs = state.log_step * jnp.nan, jnp.zeros((many, 2, blocks, count), PRECISION)
            pcn = PCNState(state.particles, standard, state.log_step, rate)
            pcn, logs = jax.lax.fori_loop(0, jnp.asarray(steps)[stage], move, (pcn, logs))
            active = jnp.where(stage == TEMPER, state.temper < 1, ~done)
            moved = dict(particles=pcn.particles, log_step=pcn.log_step, acceptance=pcn.rate)
            state = _choose(active & moving, state._replace(**moved), state)
            evaluated = Particles(
                points.reshape(many, -1, target.size), *logs.reshape(many, 2, -1).swapaxes(0, 1)
            )
            stages = [jax.vmap(each) for each in (init, temper, weigh, keep, carry, keep)]
            new = jax.lax.switch(stage, stages, keys, state, evaluated, log_proposal)
            state = _choose(active, new, state)
            over = trusted(state) | (state.rounds > effort.repairs)
            done = jnp.where(stage == LAST, done | over, done)
            done = jnp.where(stage == CARRY, state.khat <= fold_limit, done)
            tempering = (state.temper < 1).any() & (clock < MAX_TEMPERATURES)
            after, ended = jnp.where(tempering, TEMPER, WEIGH), done.all()
            again, refresh = jnp.where(ended, END, WEIGH), jnp.where(ended, END, REFRESH)
            following = (
                after,
                after,
                jnp.full_like(after, LAST),
                again,
                refresh,
                jnp.full_like(after, END),
            )
            return (
                state,
                points,
                log_proposal,
                done,
                jnp.stack(following)[stage].astype(jnp.int32),
                clock + 1,
            )

        nothing = jnp.zeros((many, blocks * count), PRECISION)
        s = begin, points, nothing, jnp.zeros(many, bool), stage, jnp.zeros((), jnp.int32)
        return jax.lax.while_loop(lambda s: s[4] != END, go_on, s)[0]

    return run

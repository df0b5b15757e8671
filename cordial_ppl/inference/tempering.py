r"""The default posterior: particles tempered from the prior, weighed by importance and moved.

1. A pool of prior draws is reweighted by ``likelihood ** beta`` as far as its effective size
   allows; the particles resampled from it are moved and reweighted again until ``beta = 1``
   (sequential Monte Carlo, Del Moral, Doucet and Jasra 2006).
2. A mixture of two Student-t distributions, one with the particles' mean and covariance, one with
   those of their core where the likelihood is high, proposes fresh points.  Their importance
   weights remove what bias the particles carry, and k-hat and the effective sample size say
   whether they did.
3. Particles resampled from the proposals are moved once more.  If the weights are not good enough,
   the particles of step 1 are moved instead, and steps 2 and 3 are repeated from where they are.

It needs no mode and no gradient, so it serves any channel, also one with several modes.  The loops
depend on the data, so batched problems run until the slowest is done.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from cordial_ppl.inference.importance import (
    KHAT_LIMIT,
    effective_sample_size,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import (
    EXTRA_NOISE,
    Moments,
    Particles,
    distances,
    first_step,
    moments,
    move,
    take,
)
from cordial_ppl.inference.noise import standard_normal, uniform_and_normal
from cordial_ppl.inference.problem import Cloud, Problem, problem_in_precision

FREEDOM = 8
SHARPEN = 0.5
"""Extra power of the likelihood whose moments describe the core of the posterior."""
BISECTIONS = 20
MAX_TEMPERATURES = 60


class Effort(NamedTuple):
    """How much work the default posterior does.

    Attributes:
        particles: number of particles S, and of the draws returned.
        pool: prior draws to begin with, in multiples of the particles.
        moves: moves of every particle at each temperature.
        proposals: Student-t proposals, in multiples of the particles.
        last_moves: moves after the importance step.
        least_ess: effective sample size of the proposals below which they are repeated.
        repairs: repetitions at most.
    """

    particles: int = 1024
    pool: int = 8
    moves: int = 3
    proposals: int = 8
    last_moves: int = 8
    least_ess: float = 100.0
    repairs: int = 12


DEFAULT_EFFORT = Effort()


class _Rung(NamedTuple):
    particles: Particles
    gaussian: Moments
    temper: Array
    log_step: Array
    rungs: Array


class _Round(NamedTuple):
    particles: Particles
    log_step: Array
    khat: Array
    ess: Array
    acceptance: Array
    rounds: Array


def next_temper(
    temper: Float[Array, ""], log_likelihood: Float[Array, " S"], least_ess: float
) -> Float[Array, ""]:
    """Largest power of the likelihood, at most 1, whose weights keep an effective sample size."""

    def enough(candidate: Array) -> Array:
        return effective_sample_size((candidate - temper) * log_likelihood) > least_ess

    def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        ok = enough(middle)
        return jnp.where(ok, middle, low), jnp.where(ok, high, middle)

    one = jnp.ones_like(temper)
    low, _ = jax.lax.fori_loop(0, BISECTIONS, halve, (temper, one))
    return jnp.where(enough(one), one, jnp.minimum(jnp.maximum(low, temper + 1e-5), one))


def sample_tempered(problem: Problem, key: jax.Array, effort: Effort = DEFAULT_EFFORT) -> Cloud:
    """Sample a posterior by tempering, importance weights and moves.

    Args:
        problem: what to fit.
        key: random key.
        effort: how much work to do.

    Returns:
        Equally weighted draws.  ``khat`` and ``ess`` are those of the last importance step, out of
        ``effort.proposals * effort.particles`` proposals.
    """
    precise, problem = problem, problem_in_precision(problem)
    ladder_key, round_key = jax.random.split(key)
    top = _climb(problem, ladder_key, effort)

    def weigh(state: _Round) -> _Round:
        return _weigh(problem, state, jax.random.fold_in(round_key, state.rounds), effort)

    def poor(state: _Round) -> Array:
        # Written so that figures that are not numbers count as poor.
        good = (state.khat <= KHAT_LIMIT) & (state.ess >= effort.least_ess)
        return (state.rounds == 0) | (~good & (state.rounds <= effort.repairs))

    zero = jnp.zeros((), top.temper.dtype)
    first = _Round(top.particles, top.log_step, zero, zero, zero, jnp.zeros((), jnp.int32))
    last = jax.lax.while_loop(poor, weigh, first)
    return _cloud(precise, last)


def _climb(problem: Problem, key: jax.Array, effort: Effort) -> _Rung:
    """Temper particles from the prior to the posterior; the last ones are not yet moved."""
    pool_size = effort.pool * effort.particles
    pool_key, climb_key = jax.random.split(key)
    flat = problem.target.sample_prior(pool_key, problem.prior, problem.readings, pool_size)
    points = problem.whiten(flat)
    pool = Particles(points, *problem.evaluate(points))
    keep, size = effort.particles / 2, points.shape[1]
    shape = effort.moves, effort.particles, size + EXTRA_NOISE

    def select(particles: Particles, rung: _Rung, comb: Array, least_ess: float) -> _Rung:
        temper = next_temper(rung.temper, particles.log_likelihood, least_ess)
        log_weights = normalise((temper - rung.temper) * particles.log_likelihood)
        gaussian = moments(particles.points, log_weights)
        chosen = take(particles, resample(comb, log_weights, effort.particles))
        return _Rung(chosen, gaussian, temper, rung.log_step, rung.rungs + 1)

    def climb(rung: _Rung) -> _Rung:
        key = jax.random.fold_in(climb_key, rung.rungs)
        comb, noise = uniform_and_normal(key, shape, points.dtype)
        moved, log_step, _ = move(
            problem.evaluate, rung.particles, rung.gaussian, rung.temper, rung.log_step, noise
        )
        return select(moved, rung._replace(log_step=log_step), comb, keep)

    def below(rung: _Rung) -> Array:
        return (rung.temper < 1) & (rung.rungs < MAX_TEMPERATURES)

    prior_moments = Moments(jnp.zeros(size, points.dtype), jnp.eye(size, dtype=points.dtype))
    zero, none = jnp.zeros((), points.dtype), jnp.zeros((), jnp.int32)
    start = _Rung(pool, prior_moments, zero, first_step(points), none)
    # The pool's points are in random order, so the comb may begin anywhere.
    middle = jnp.full((), 0.5, points.dtype)
    first = select(pool, start, middle, keep * effort.pool**0.5)
    return jax.lax.while_loop(below, climb, first)


def _weigh(problem: Problem, state: _Round, key: jax.Array, effort: Effort) -> _Round:
    """Propose from Student-t distributions fitted to the particles, weigh, resample and move."""
    propose_key, move_key = jax.random.split(key)
    points = state.particles.points
    count, size = points.shape
    dtype = points.dtype
    gaussian = moments(points, jnp.full((count,), -jnp.log(jnp.asarray(count, dtype))))
    core = moments(points, normalise(SHARPEN * state.particles.log_likelihood))
    half = effort.proposals * effort.particles // 2
    normal = standard_normal(propose_key, (2 * half, size + FREEDOM), dtype)
    chi_square = jnp.sum(normal[:, size:] ** 2, axis=1, keepdims=True)
    student = normal[:, :size] * jnp.sqrt(FREEDOM / chi_square)
    around_all = gaussian.mean[None] + student[:half] @ gaussian.factor.T
    proposed = jnp.concatenate([around_all, core.mean[None] + student[half:] @ core.factor.T])
    fresh = Particles(proposed, *problem.evaluate(proposed))
    log_proposal = jnp.logaddexp(_log_student(gaussian, proposed), _log_student(core, proposed))
    log_weights = fresh.log_prior + fresh.log_likelihood - log_proposal
    smoothed, khat = pareto_smooth(log_weights)
    ess = effective_sample_size(log_weights)
    good = (khat <= KHAT_LIMIT) & (ess >= effort.least_ess)
    shape = effort.last_moves, effort.particles, size + EXTRA_NOISE
    comb, noise = uniform_and_normal(move_key, shape, dtype)
    chosen = take(fresh, resample(comb, smoothed, effort.particles))
    # Particles that were only moved are better than copies of the few proposals that carry weight.
    start, around = jax.tree.map(
        lambda new, old: jnp.where(good, new, old),
        (chosen, moments(proposed, smoothed)),
        (state.particles, gaussian),
    )
    one = jnp.ones((), dtype)
    moved, log_step, rate = move(problem.evaluate, start, around, one, state.log_step, noise)
    return _Round(moved, log_step, khat, ess, rate, state.rounds + 1)


def _log_student(gaussian: Moments, points: Array) -> Array:
    """Log density of a Student-t up to a constant that does not depend on the location or scale."""
    size = points.shape[1]
    log_scale = jnp.sum(jnp.log(jnp.diagonal(gaussian.factor)))
    return -0.5 * (FREEDOM + size) * jnp.log1p(distances(gaussian, points) / FREEDOM) - log_scale


def _cloud(problem: Problem, last: _Round) -> Cloud:
    kind = jnp.asarray(problem.prior.loc).dtype
    points = last.particles.points.astype(kind)
    return Cloud(
        draws=problem.colour(points),
        log_weights=jnp.full(points.shape[:1], -jnp.log(jnp.asarray(points.shape[0], kind))),
        khat=last.khat.astype(kind),
        ess=last.ess.astype(kind),
        acceptance=last.acceptance.astype(kind),
        gradient_norm=jnp.full((), jnp.nan, kind),
        repairs=last.rounds - 1,
    )

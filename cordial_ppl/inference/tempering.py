r"""The default posterior: particles tempered from the prior, weighed by importance and moved.

Stages follow one another until the weights are good:

1. The first draws points from the prior and weighs them by ``likelihood ** beta`` as far as their
   effective size allows.  The particles resampled from them are moved and reweighted again until
   ``beta = 1`` (sequential Monte Carlo, Del Moral, Doucet and Jasra 2006).
2. Then a mixture of two Student-t distributions, one with the particles' mean and covariance, one
   with those of their core where the likelihood is high, proposes fresh points.  Their importance
   weights remove what bias the particles carry, and k-hat and the effective sample size say
   whether they did.  Particles resampled from them are moved once more.  If the weights were not
   good enough, the particles at hand are moved instead, and this stage is repeated.

It needs no mode and no gradient, so it serves any channel, also one with several modes.  All stages
are one loop with one copy of the density for proposals and one for moves, because compiling copies
of it takes longer than running them.  Loops depend on the data, so batched problems run until the
slowest is done.
"""

from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.inference.family import of_target
from cordial_ppl.inference.importance import (
    KHAT_LIMIT,
    effective_sample_size,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import (
    Moments,
    Particles,
    distances,
    first_step,
    moments,
    move,
    take,
)
from cordial_ppl.inference.noise import normal_and_uniform
from cordial_ppl.inference.problem import PRECISION, Cloud, Problem, problem_in_precision

FREEDOM = 8
SHARPEN = 0.5
"""Extra power of the likelihood whose moments describe the core of the posterior."""
BISECTIONS = 20
MAX_TEMPERATURES = 60


class Effort(NamedTuple):
    """How much work the default posterior does.

    Attributes:
        particles: number of particles S, and of the draws returned.
        proposals: points proposed at a time, in multiples of the particles.
        moves: moves of every particle at each temperature, in blocks of four.
        last_moves: moves after the importance step, in blocks of four.
        least_ess: effective sample size of the proposals below which they are repeated.
        repairs: repetitions at most.
    """

    particles: int = 1024
    proposals: int = 8
    moves: int = 1
    last_moves: int = 2
    least_ess: float = 100.0
    repairs: int = 12


DEFAULT_EFFORT = Effort()


class Phase(IntEnum):
    """What the next stage does.

    START proposes from the prior, CLIMB raises the power of the likelihood, WEIGH proposes from the
    particles at the full power, and MOVE only moves particles that were carried over.
    """

    START = 0
    CLIMB = 1
    WEIGH = 2
    MOVE = 3
    DONE = 4


class State(NamedTuple):
    """Weighted particles on their way to the posterior, in the precision of the particles.

    Attributes:
        phase: what comes next.
        particles: where they are, in whitened coordinates.
        log_weights: their normalised log weights.
        temper: the power of the likelihood at which they stand, between 0 and 1.
        log_step: log of the typical step of their moves.
        khat: Pareto shape of the weights behind them; infinite before there were any.
        ess: effective sample size of those weights.
        acceptance: share of the last moves that was accepted.
        stages: how many stages there were.
        rounds: how many of them weighed proposals against the whole posterior.
    """

    phase: Int[Array, ""]
    particles: Particles
    log_weights: Float[Array, " S"]
    temper: Float[Array, ""]
    log_step: Float[Array, ""]
    khat: Float[Array, ""]
    ess: Float[Array, ""]
    acceptance: Float[Array, ""]
    stages: Int[Array, ""]
    rounds: Int[Array, ""]


class _Choice(NamedTuple):
    particles: Particles
    around: Moments
    temper: Array
    khat: Array
    ess: Array


def next_temper(
    temper: Float[Array, ""],
    log_weights: Float[Array, " S"],
    log_likelihood: Float[Array, " S"],
    least_ess: float,
) -> Float[Array, ""]:
    """Largest power of the likelihood, at most 1, whose weights keep an effective sample size.

    Args:
        temper: the power at which ``log_weights`` stand.
        log_weights: unnormalised log weights in nats.
        log_likelihood: log likelihood of each point in nats.
        least_ess: the effective sample size to keep.

    Returns:
        The power, above ``temper``; 1 where ``temper`` is 1 already.
    """

    def enough(candidate: Array) -> Array:
        weights = log_weights + _raised(candidate - temper, log_likelihood)
        return effective_sample_size(weights) > least_ess

    def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        ok = enough(middle)
        return jnp.where(ok, middle, low), jnp.where(ok, high, middle)

    one = jnp.ones_like(temper)
    at_once = enough(one) | (temper >= one)
    low, _ = jax.lax.fori_loop(0, jnp.where(at_once, 0, BISECTIONS), halve, (temper, one))
    return jnp.where(at_once, one, jnp.minimum(jnp.maximum(low, temper + 1e-5), one))


def from_prior(problem: Problem, effort: Effort) -> State:
    """The state before the first stage, with particles that are nowhere yet."""
    count, size = effort.particles, problem.target.size
    points, nothing = jnp.zeros((count, size), PRECISION), jnp.zeros(count, PRECISION)
    zero, none = jnp.zeros((), PRECISION), jnp.int32(0)
    return State(
        phase=jnp.int32(Phase.START),
        particles=Particles(points, nothing, nothing),
        log_weights=_equal(count),
        temper=zero,
        log_step=first_step(points),
        khat=zero + jnp.inf,
        ess=zero,
        acceptance=zero,
        stages=none,
        rounds=none,
    )


def from_particles(problem: Problem, particles: Particles) -> State:
    """The state of draws from another posterior, weighed for this one: done if that serves."""
    own = Particles(particles.points, *problem.evaluate(particles.points))
    change = own.log_prior + own.log_likelihood - particles.log_prior - particles.log_likelihood
    smoothed, khat = pareto_smooth(change)
    zero, none = jnp.zeros((), PRECISION), jnp.int32(0)
    return State(
        phase=jnp.where(khat <= KHAT_LIMIT, jnp.int32(Phase.DONE), jnp.int32(Phase.MOVE)),
        particles=own,
        log_weights=smoothed,
        temper=zero + 1,
        log_step=first_step(own.points),
        khat=khat,
        ess=effective_sample_size(smoothed),
        acceptance=zero,
        stages=none,
        rounds=none,
    )


def advance(problem: Problem, state: State, key: jax.Array, effort: Effort) -> State:
    """Run stages until the posterior is reached or the repetitions are used up.

    Args:
        problem: what to fit, in the precision of the particles.
        state: where to begin.
        key: random key.
        effort: how much work to do.
    """

    def stage(state: State) -> State:
        return _stage(problem, state, jax.random.fold_in(key, state.stages), effort)

    return jax.lax.while_loop(lambda state: state.phase != Phase.DONE, stage, state)


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
    precise = problem_in_precision(problem)
    return as_cloud(problem, advance(precise, from_prior(precise, effort), key, effort))


def as_cloud(problem: Problem, state: State) -> Cloud:
    """What a state says of the posterior, in the precision of the problem."""
    kind = jnp.asarray(problem.prior.loc).dtype
    return Cloud(
        draws=problem.colour(state.particles.points.astype(kind)),
        log_weights=normalise(state.log_weights.astype(kind)),
        khat=state.khat.astype(kind),
        ess=state.ess.astype(kind),
        acceptance=state.acceptance.astype(kind),
        gradient_norm=jnp.full((), jnp.nan, kind),
        repairs=jnp.maximum(state.rounds - 1, 0),
    )


def _good(choice: _Choice, effort: Effort) -> Array:
    # Written so that figures that are not numbers count as poor.
    return (choice.khat <= KHAT_LIMIT) & (choice.ess >= effort.least_ess)


def _equal(count: int) -> Array:
    return jnp.full(count, -jnp.log(jnp.asarray(count, PRECISION)))


def _stage(problem: Problem, state: State, key: jax.Array, effort: Effort) -> State:
    """Choose particles, from fresh proposals or from those at hand, and move them."""
    propose_key, comb_key, move_key = jax.random.split(key, 3)
    comb = jax.random.uniform(comb_key, (), PRECISION)
    phase = state.phase
    fresh = (phase == Phase.START) | (phase == Phase.WEIGH)

    def from_proposals(kept: _Choice) -> _Choice:
        return _choose_proposals(problem, state, kept, propose_key, comb, fresh, effort)

    kept = _choose_particles(state, comb)
    chosen = jax.lax.cond(fresh, from_proposals, lambda kept: kept, kept)
    temper = jnp.where(state.stages < MAX_TEMPERATURES, chosen.temper, 1.0)
    tempering = (phase == Phase.START) | (phase == Phase.CLIMB)
    # At the full power proposals come before moves.
    climbing = jnp.where(temper < 1, effort.moves, 0)
    # In a batch what is done waits for the others, and need not move.
    last_moves = jnp.where(phase == Phase.DONE, 0, effort.last_moves)
    particles, log_step, rate = move(
        problem.evaluate,
        chosen.particles,
        chosen.around,
        temper,
        state.log_step,
        move_key,
        jnp.where(tempering, climbing, last_moves),
    )
    weighing = phase == Phase.WEIGH
    again = weighing & ~_good(chosen, effort) & (state.rounds < effort.repairs)
    after = jnp.where(again, jnp.int32(Phase.WEIGH), jnp.int32(Phase.DONE))
    higher = jnp.where(temper < 1, jnp.int32(Phase.CLIMB), jnp.int32(Phase.WEIGH))
    return State(
        phase=jnp.where(tempering, higher, after),
        particles=particles,
        log_weights=_equal(len(state.log_weights)),
        temper=temper,
        log_step=log_step,
        khat=chosen.khat,
        ess=chosen.ess,
        acceptance=rate,
        stages=state.stages + 1,
        rounds=state.rounds + weighing.astype(jnp.int32),
    )


def _choose_particles(state: State, comb: Array) -> _Choice:
    """Reweight the particles at hand by a higher power of the likelihood and resample them."""
    particles, count = state.particles, len(state.log_weights)
    temper = next_temper(state.temper, state.log_weights, particles.log_likelihood, count / 2)
    change = _raised(temper - state.temper, particles.log_likelihood)
    log_weights = normalise(state.log_weights + change)
    return _Choice(
        take(particles, resample(comb, log_weights, count)),
        moments(particles.points, log_weights),
        temper,
        state.khat,
        state.ess,
    )


def _choose_proposals(
    problem: Problem,
    state: State,
    kept: _Choice,
    key: jax.Array,
    comb: Array,
    fresh: Array,
    effort: Effort,
) -> _Choice:
    """Propose fresh points, weigh and resample them; keep the old ones where weights are poor."""
    first, count = state.phase == Phase.START, len(state.log_weights)
    total = effort.proposals * count

    def propose(_: Array, nothing: tuple) -> tuple:
        points, log_proposal = _propose(state, key, total)
        if not problem.target.gaussian:
            points = jnp.where(first, _draw_prior(problem, key, total), points)
        log_prior, log_likelihood = problem.evaluate(points)
        return points, log_prior, log_likelihood, jnp.where(first, log_prior, log_proposal)

    nothing = jnp.zeros(total, PRECISION)
    empty = (jnp.zeros((total, problem.target.size), PRECISION), nothing, nothing, nothing)
    # In a batch this branch always runs, and the loop only while it is needed by any problem.
    *parts, log_proposal = jax.lax.fori_loop(0, jnp.where(fresh, 1, 0), propose, empty)
    found = Particles(*parts)
    log_weights = found.log_prior - log_proposal + _raised(state.temper, found.log_likelihood)
    least_ess = count / 2 * effort.proposals**0.5
    temper = next_temper(state.temper, log_weights, found.log_likelihood, least_ess)
    log_weights += _raised(temper - state.temper, found.log_likelihood)
    smoothed, khat = pareto_smooth(log_weights)
    ess = effective_sample_size(log_weights)
    chosen = _Choice(
        take(found, resample(comb, smoothed, count)),
        moments(found.points, smoothed),
        temper,
        khat,
        ess,
    )
    # Particles that were only moved are better than copies of the few proposals that carry weight.
    usable = first | _good(chosen, effort)
    kept = kept._replace(temper=temper, khat=khat, ess=ess)
    return jax.tree.map(lambda new, old: jnp.where(usable, new, old), chosen, kept)


def _propose(
    state: State, key: jax.Array, total: int
) -> tuple[Float[Array, "M P"], Float[Array, " M"]]:
    """Standard normal points at first, then Student-t ones with their log density."""
    first, points = state.phase == Phase.START, state.particles.points
    size, dtype = points.shape[1], points.dtype
    prior = Moments(jnp.zeros(size, dtype), jnp.eye(size, dtype=dtype))
    sharp = normalise(state.log_weights + SHARPEN * state.particles.log_likelihood)
    whole, core = (
        jax.tree.map(lambda own, other: jnp.where(first, other, own), own, prior)
        for own in (moments(points, state.log_weights), moments(points, sharp))
    )
    normal, uniform = normal_and_uniform(key, (total, size), (FREEDOM // 2, total), dtype)
    # Two degrees of freedom for each uniform number.
    chi_square = -2 * jnp.sum(jnp.log(uniform), axis=0)
    student = normal * jnp.where(first, 1.0, jnp.sqrt(FREEDOM / chi_square))[:, None]
    half = total // 2
    around_all = whole.mean[None] + student[:half] @ whole.factor.T
    proposed = jnp.concatenate([around_all, core.mean[None] + student[half:] @ core.factor.T])
    return proposed, jnp.logaddexp(_log_student(whole, proposed), _log_student(core, proposed))


def _draw_prior(problem: Problem, key: jax.Array, total: int) -> Float[Array, "M P"]:
    """Draws from a prior that is no fixed Gaussian."""
    flat = of_target(
        problem.target,
        lambda own: own.sample_prior(key, problem.prior, problem.readings, total),
    )
    return problem.whiten(flat).astype(PRECISION)


def _raised(power: Array, log_likelihood: Array) -> Array:
    """Log of a power of the likelihood, whose power of nothing is one even where it is zero."""
    return jnp.where(power > 0, power * log_likelihood, 0.0)


def _log_student(gaussian: Moments, points: Array) -> Array:
    """Log density of a Student-t up to a constant that does not depend on the location or scale."""
    size = points.shape[1]
    log_scale = jnp.sum(jnp.log(jnp.diagonal(gaussian.factor)))
    return -0.5 * (FREEDOM + size) * jnp.log1p(distances(gaussian, points) / FREEDOM) - log_scale

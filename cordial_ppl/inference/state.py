"""State of the particles between the stages of the default posterior, and how much work to do."""

from enum import IntEnum
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.inference.importance import (
    KHAT_LIMIT,
    effective_sample_size,
    normalise,
    pareto_smooth,
)
from cordial_ppl.inference.moves import Particles, first_step
from cordial_ppl.inference.problem import PRECISION, Cloud, Problem


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


def from_prior(problem: Problem, effort: Effort) -> State:
    """The state before the first stage, with particles that are nowhere yet."""
    count, size = effort.particles, problem.target.size
    points, nothing = jnp.zeros((count, size), PRECISION), jnp.zeros(count, PRECISION)
    zero, none = jnp.zeros((), PRECISION), jnp.int32(0)
    return State(
        phase=jnp.int32(Phase.START),
        particles=Particles(points, nothing, nothing),
        log_weights=equal(count),
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


def equal(count: int) -> Float[Array, " S"]:
    """Log weights of draws that weigh alike."""
    return jnp.full(count, -jnp.log(jnp.asarray(count, PRECISION)))

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

import jax
import jax.numpy as jnp

from cordial_ppl.inference.choice import Choice, choose_particles, choose_proposals, good
from cordial_ppl.inference.moves import move
from cordial_ppl.inference.problem import PRECISION, Cloud, Problem, problem_in_precision
from cordial_ppl.inference.sampler import (
    DEFAULT_EFFORT,
    Effort,
    Phase,
    State,
    as_cloud,
    equal,
    from_prior,
)

MAX_TEMPERATURES = 60


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


def _stage(problem: Problem, state: State, key: jax.Array, effort: Effort) -> State:
    """Choose particles, from fresh proposals or from those at hand, and move them."""
    propose_key, comb_key, move_key = jax.random.split(key, 3)
    comb = jax.random.uniform(comb_key, (), PRECISION)
    phase = state.phase
    fresh = (phase == Phase.START) | (phase == Phase.WEIGH)

    def from_proposals(kept: Choice) -> Choice:
        return choose_proposals(problem, state, kept, propose_key, comb, fresh, effort)

    kept = choose_particles(state, comb)
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
    again = weighing & ~good(chosen, effort) & (state.rounds < effort.repairs)
    after = jnp.where(again, jnp.int32(Phase.WEIGH), jnp.int32(Phase.DONE))
    higher = jnp.where(temper < 1, jnp.int32(Phase.CLIMB), jnp.int32(Phase.WEIGH))
    return State(
        phase=jnp.where(tempering, higher, after),
        particles=particles,
        log_weights=equal(len(state.log_weights)),
        temper=temper,
        log_step=log_step,
        khat=chosen.khat,
        ess=chosen.ess,
        acceptance=rate,
        stages=state.stages + 1,
        rounds=state.rounds + weighing.astype(jnp.int32),
    )

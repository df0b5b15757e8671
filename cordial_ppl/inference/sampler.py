r"""The default posterior: particles tempered from the prior, weighed by importance and moved.

1. :func:`begin` draws points from the prior and weighs them by ``likelihood ** beta`` as far as
   their effective size allows.
2. :func:`climb` moves the particles resampled from them, and raises ``beta`` again, until it is 1
   (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006, JRSS B 68(3)).
3. :func:`weigh` proposes fresh points from two Student-t distributions, one with the particles'
   mean and covariance, one with those of their core where the likelihood is high.  Importance
   weights remove what bias the particles carry, and k-hat and the effective sample size say
   whether they did.  Particles resampled from them are moved once more.  If the weights were not
   good enough, the particles at hand are moved instead, and this stage is repeated.
   Where the draws of fewer labels are known, their weights for all labels may be good enough:
   then they replace these stages.
4. :func:`carry` takes the particles to the posterior of other labels, as where a fold is held out:
   by smoothed importance weights, and by moves where their k-hat is poor.

It needs no mode and no gradient, so it serves any channel, also one with several modes.  A stage is
a function of one problem; `cordial_ppl.inference.batch` runs it for all problems that need it.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import namespace
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.batch import (
    PRECISION,
    Batch,
    Problem,
    Source,
    normal_and_uniform,
    split,
    where,
)
from cordial_ppl.inference.data import Data
from cordial_ppl.inference.importance import (
    effective_sample_size,
    khat_limit,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import BLOCK, Gaussian, Particles, gaussian, set_out
from cordial_ppl.inference.target import Prior, Target

FREEDOM = 8
SHARPEN = 0.5
"""Extra power of the likelihood whose moments describe the core of the posterior."""
SECANTS, NEAR = 20, 0.005
MAX_TEMPERATURES = 60
LEAST_SHARE = 0.5
"""Effective size, as a share of the particles, below which reweighted ones are replaced."""


class Effort(NamedTuple):
    """How much work the default posterior does.

    Attributes:
        particles: number of particles S, and of the draws returned.
        proposals: points proposed at a time, in multiples of the particles; half as many to begin.
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


class State(NamedTuple):
    """Particles on their way to the posterior.

    Attributes:
        particles: where they are, in whitened coordinates, with their log densities.
        log_weights: their normalised log weights.
        around: mean and covariance that their moves are made from.
        temper: the power of the likelihood at which they stand, between 0 and 1.
        log_step: log of the typical step of their moves.
        khat: Pareto shape of the last importance weights.
        ess: effective sample size of those weights.
        acceptance: share of the last moves that was accepted.
        rounds: how often proposals were weighed against the whole posterior.
    """

    particles: Particles
    log_weights: Float[Any, " S"]
    around: Gaussian
    temper: Float[Any, ""]
    log_step: Float[Any, ""]
    khat: Float[Any, ""]
    ess: Float[Any, ""]
    acceptance: Float[Any, ""]
    rounds: Int[Any, ""]


def sample(batch: Batch, effort: Effort, known: Any = None) -> Any:
    """Sample the posteriors of a batch of problems.

    Args:
        batch: the problems.
        effort: how much work to do.
        known: states of posteriors close to these, as of fewer labels; None to begin at the prior.

    Returns:
        The states of the batch: particles, equally weighted where no others were known, with the
        figures of the last importance step.
    """
    if known is None:
        states = batch.run(begin, effort)
        due = np.ones_like(batch.figures(states, "temper"), bool)
    else:
        states = batch.run(reweigh, effort, known, None, *batch.evaluate(known, effort.particles))
        khat, ess = batch.figures(states, "khat"), batch.figures(states, "ess")
        due = ~((khat <= khat_limit(effort.particles)) & (ess >= LEAST_SHARE * effort.particles))
        far = ~(ess >= effort.least_ess)
        states = batch.run(begin, effort, states, far) if far.any() else states
    for _ in range(MAX_TEMPERATURES):
        climbing = batch.figures(states, "temper") < 1
        if not climbing.any():
            break
        states = batch.run(climb, effort, states, climbing)
    # A problem that is not at power 1 by now is weighed from where it is.
    for _ in range(1 + effort.repairs):
        if not due.any():
            break
        states = batch.run(weigh, effort, states, due)
        khat, ess = batch.figures(states, "khat"), batch.figures(states, "ess")
        due &= ~_good(khat, ess, effort)
    return states


def carry(batch: Batch, states: Any, effort: Effort) -> Any:
    """Take particles of other posteriors to those of a batch, by weights or, failing that, moves.

    Args:
        batch: the problems, most of whose labels are those of the other posteriors.
        states: the other posteriors.
        effort: how much work to do where the weights are poor.

    Returns:
        The states of the batch: particles with smoothed weights, or, where their k-hat was poor,
        equally weighted ones that were moved.
    """
    states = batch.run(reweigh, effort, states, None, *batch.evaluate(states, effort.particles))
    poor = ~(batch.figures(states, "khat") <= khat_limit(effort.particles))
    return batch.run(renew, effort, states, poor) if poor.any() else states


def _good(khat: Any, ess: Any, effort: Effort) -> Any:
    """Whether the weights behind the particles are to be trusted."""
    # Written so that figures that are not numbers count as poor.
    return (khat <= khat_limit(effort.proposals * effort.particles)) & (ess >= effort.least_ess)


def first_step(size: int) -> float:
    """Log of the typical step to begin moving with."""
    return math.log(0.6 if size < 8 else 0.4)


def begin(problem: Problem, effort: Effort, source: Source, state: State | None = None) -> State:
    """Propose points from the prior and resample them at the highest power that they serve."""
    del state
    # Half of what is weighed at the end is enough to begin with.
    multiple, size = max(effort.proposals // 2, 1), problem.target.size
    total = multiple * effort.particles
    first, second = split(source, 2)
    points, offset = normal_and_uniform(first, (total, size), ())
    if not problem.target.gaussian:
        points = _draw_prior(problem, second, total)
    found = Particles(points, *problem.evaluate(points, effort.particles))
    xp = namespace(points)
    zero = xp.zeros((), points.dtype)
    nothing = xp.zeros_like(found.log_prior)
    state = State(
        particles=found,
        log_weights=nothing,
        # Of the right shapes; what is resampled gives it.
        around=Gaussian(points[0], points[:size], points[:size]),
        temper=zero,
        log_step=zero + first_step(size),
        khat=zero + xp.inf,
        ess=zero,
        acceptance=zero + xp.nan,
        rounds=xp.zeros((), xp.int32),
    )
    return _raise_temper(state, offset, effort.particles / 2 * multiple**0.5, effort)


def climb(problem: Problem, effort: Effort, source: Source, state: State) -> State:
    """Move the particles at their power of the likelihood, then raise it and resample them."""
    first, second = split(source, 2)
    state, offset = _move(problem, state, first, effort.moves), _offset(second)
    return _raise_temper(state, offset, effort.particles / 2, effort)


def _raise_temper(state: State, offset: Any, least_ess: float, effort: Effort) -> State:
    """Reweight particles by the highest power of the likelihood that keeps an ESS; resample."""
    found = state.particles
    temper = next_temper(state.temper, state.log_weights, found.log_likelihood, least_ess)
    log_weights = state.log_weights + _raised(temper - state.temper, found.log_likelihood)
    return state._replace(
        particles=_take(found, resample(offset, log_weights, effort.particles)),
        log_weights=_equal(found, effort.particles),
        around=gaussian(found.points, normalise(log_weights)),
        temper=temper,
    )


def weigh(problem: Problem, effort: Effort, source: Source, state: State) -> State:
    """Propose, weigh and resample points under the whole posterior, and move them.

    Where the weights are poor the particles at hand are moved instead: that is better than copies
    of the few proposals that carry weight.
    """
    first, second = split(source, 2)
    proposals, log_proposal, offset = _propose(state, first, effort.proposals * effort.particles)
    found = Particles(proposals, *problem.evaluate(proposals, effort.particles))
    log_weights = found.log_prior - log_proposal + found.log_likelihood
    smoothed, khat = pareto_smooth(log_weights)
    ess, whole = effective_sample_size(log_weights), namespace(khat).ones_like(state.temper)
    state = state._replace(khat=khat, ess=ess, temper=whole, rounds=state.rounds + 1)
    chosen = state._replace(
        particles=_take(found, resample(offset, smoothed, effort.particles)),
        log_weights=_equal(found, effort.particles),
        around=gaussian(found.points, smoothed),
    )
    kept = state._replace(around=gaussian(state.particles.points, state.log_weights))
    return _move(problem, where(_good(khat, ess, effort), chosen, kept), second, effort.last_moves)


def settle(found: Particles) -> State:
    """The state of whitened draws from the posterior itself, equally weighted."""
    points = found.points
    none, zero = np.zeros((), np.int32), np.zeros((), points.dtype)
    weights = _equal(found, len(points))
    step = zero + first_step(points.shape[1])
    return State(found, weights, gaussian(points, weights), zero + 1, step, zero, zero, zero, none)


def reweigh(
    problem: Problem, effort: Effort, source: Source, whole: State, *known: Float[Any, " S"]
) -> State:
    """Weigh the particles of another posterior for this one, whose density may be known."""
    del source
    old = whole.particles
    new = Particles(old.points, *(known or problem.evaluate(old.points, effort.particles)))
    change = new.log_prior + new.log_likelihood - old.log_prior - old.log_likelihood
    change = change + (whole.log_weights - namespace(change).max(whole.log_weights))
    smoothed, khat = pareto_smooth(change)
    ess = effective_sample_size(smoothed)
    return whole._replace(particles=new, log_weights=smoothed, khat=khat, ess=ess)


def renew(problem: Problem, effort: Effort, source: Source, state: State) -> State:
    """Resample weighted particles and move them."""
    first, second = split(source, 2)
    offset, found = _offset(first), state.particles
    chosen = state._replace(
        particles=_take(found, resample(offset, state.log_weights, effort.particles)),
        log_weights=_equal(found, effort.particles),
        around=gaussian(found.points, state.log_weights),
    )
    return _move(problem, chosen, second, effort.moves)


def next_temper(temper: Any, log_weights: Any, log_likelihood: Any, least_ess: float) -> Any:
    """Largest power of the likelihood, at most 1, whose weights keep an effective sample size.

    Args:
        temper: the power at which ``log_weights`` stand.
        log_weights: unnormalised log weights in nats, ``[S]``.
        log_likelihood: log likelihood of each point in nats, ``[S]``.
        least_ess: the effective sample size to keep.

    Returns:
        The power, above ``temper``; 1 where ``temper`` is 1 already.
    """
    xp = namespace(log_likelihood)
    one = xp.ones_like(temper)

    def excess(candidate: Any) -> Any:
        """By how much the logarithm of the size is above what is asked for."""
        weights = log_weights + _raised(candidate - temper, log_likelihood)
        return xp.log(effective_sample_size(weights) / least_ess)

    # Regula falsi that halves the other end each time.
    low, high, above, below = temper, one, excess(temper), excess(one)
    at_once = (below > 0) | (temper >= one)
    for _ in range(SECANTS):
        # A compiled program cannot leave the loop.
        if xp is np and (at_once or 0 <= above < NEAR):
            break
        middle = low + (high - low) * above / (above - below)
        found = excess(middle)
        ok = found > 0
        low, high = xp.where(ok, middle, low), xp.where(ok, high, middle)
        above, below = xp.where(ok, found, above / 2), xp.where(ok, below / 2, found)
    return xp.where(at_once, one, xp.minimum(xp.maximum(low, temper + 1e-5), one))


def _propose(state: State, source: Source, total: int) -> tuple[Any, Any, Any]:
    """Student-t points around the particles and their core, their log density, and an offset."""
    points = state.particles.points
    xp, size = namespace(points), points.shape[1]
    whole = gaussian(points, state.log_weights)
    core = gaussian(points, normalise(SHARPEN * state.particles.log_likelihood))
    normal, uniform = normal_and_uniform(source, (total, size), (FREEDOM // 2 * total + 1,))
    # Two degrees of freedom for each uniform number.
    chi_square = -2 * xp.sum(xp.log(uniform[1:]).reshape(-1, total), axis=0)
    student = normal * xp.sqrt(FREEDOM / chi_square)[:, None]
    half = total // 2
    proposed = xp.concatenate([whole.unwhiten(student[:half]), core.unwhiten(student[half:])])
    log_proposal = xp.logaddexp(_log_student(whole, proposed), _log_student(core, proposed))
    return proposed, log_proposal, uniform[0]


def _log_student(around: Gaussian, points: Any) -> Any:
    """Log density of a Student-t up to a constant that does not depend on the location or scale."""
    xp, size = namespace(points), points.shape[1]
    log_scale = xp.sum(xp.log(xp.diagonal(around.factor)))
    standard = around.whiten(points)
    distances = xp.vecdot(standard, standard)
    return -0.5 * (FREEDOM + size) * xp.log1p(distances / FREEDOM) - log_scale


def _draw_prior(problem: Problem, source: Source, total: int) -> Any:
    """Whitened draws from a prior that is no fixed Gaussian."""
    if not isinstance(source, np.random.Generator):
        return _prior_points(problem.target, total, problem.prior, problem.data, source)
    key = jax.random.key(source.integers(2**32, dtype=np.uint32))
    return np.asarray(_prior_program(problem.target, total)(problem.prior, problem.data, key))


def _prior_points(target: Target, total: int, prior: Prior, data: Data, key: Any) -> Any:
    flat = target.sample_prior(key, prior, data.readings, total)
    loc, scale = (jnp.asarray(part)[None] for part in prior)
    return ((flat - loc) / scale).astype(PRECISION)


@lru_cache(maxsize=256)
def _prior_program(target: Target, total: int) -> Callable[..., Any]:
    return compiled(lambda prior, data, key: _prior_points(target, total, prior, data, key))


def _move(problem: Problem, state: State, source: Source, blocks: int) -> State:
    begin = set_out(state.particles, state.around, state.log_step)
    end = problem.move(begin, state.around, state.temper, source, blocks * BLOCK)
    return state._replace(particles=end.particles, log_step=end.log_step, acceptance=end.rate)


def _offset(source: Source) -> Any:
    """Where the points of a systematic resample begin, in (0, 1]."""
    return normal_and_uniform(source, (), ())[1]


def _raised(power: Any, log_likelihood: Any) -> Any:
    """Log of a power of the likelihood, whose power of nothing is one even where it is zero."""
    xp = namespace(log_likelihood)
    safe = xp.where(power > 0, power, 1.0)
    return xp.where(power > 0, safe * log_likelihood, 0.0)


def _take(particles: Particles, index: Any) -> Particles:
    return Particles(*(leaf[index] for leaf in particles))


def _equal(particles: Particles, count: int) -> Any:
    """Log weights of draws that weigh alike."""
    xp = namespace(particles.points)
    return xp.full(count, -np.log(count), particles.points.dtype)

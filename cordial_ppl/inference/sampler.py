r"""The default posterior: particles tempered from the prior, weighed by importance and moved.

1. :func:`init_from_prior` draws points from the prior and weighs them by ``likelihood ** beta``
   as far as their effective size allows.
2. :func:`temper_step` moves the particles resampled from them, and raises ``beta`` again, until it
   is 1 (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006, JRSS B 68(3)).
3. :func:`importance_step` proposes fresh points from two Student-t distributions, one with the
   particles' mean and covariance, one with those of their core where the likelihood is high.
   Importance weights remove what bias the particles carry, and k-hat and the effective sample size
   say whether they did.  Particles resampled from them are moved once more.  If the weights were
   not good enough, the particles at hand are moved instead, and this stage is repeated.
4. :func:`carry` takes the particles to the posterior of other labels, as where a fold is held out:
   by smoothed importance weights, and by moves where their k-hat is poor.

It needs no mode and no gradient, so it serves any channel, also one with several modes.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Data
from cordial_ppl.inference.importance import (
    effective_sample_size,
    khat_limit,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import BLOCK, Gaussian, Particles, gaussian, init_pcn
from cordial_ppl.inference.programs import density, draw_prior, run_pcn
from cordial_ppl.inference.target import Prior, Target

PRECISION = np.float32
"""Log densities are needed to far less than their Monte Carlo error: half the digits suffice."""

FREEDOM, HEAVY = 8, 4
"""Degrees of freedom of the proposals, and where a prior is no Gaussian.

Bounded parameters have exponential tails on the unconstrained scale: 8 degrees leave a bump of the
weights 8 standard deviations out, which few points meet and k-hat takes for a heavy tail; 4 none.
"""
SHARPEN = 0.5
"""Extra power of the likelihood whose moments describe the core of the posterior."""
SECANTS, NEAR = 20, 0.005
MAX_TEMPERATURES = 60


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


class Problem(NamedTuple):
    """What is sampled: a channel with its prior and labelled texts, in single precision."""

    target: Target
    prior: Prior
    data: Data

    def evaluate(self, points: Float[np.ndarray, "M P"], particles: int) -> tuple[Any, Any]:
        """Compute log prior and log likelihood of whitened points, as many at once as particles."""
        return density(*self, points, particles)


@np.errstate(all="ignore")
def sample(problem: Problem, seed: Sequence[int], effort: Effort) -> State:
    """Sample a posterior.

    Args:
        problem: the channel, its prior and the labelled texts.
        seed: numbers that all randomness follows from.
        effort: how much work to do.

    Returns:
        Particles, equally weighted, with the figures of the last importance step.
    """
    rng = generator(seed)
    state = init_from_prior(problem, effort, rng)
    for _ in range(MAX_TEMPERATURES):
        if state.temper >= 1:
            break
        state = temper_step(problem, effort, rng, state)
    # One that is not at power 1 by now is weighed from where it is.
    for _ in range(1 + effort.repairs):
        state = importance_step(problem, effort, rng, state)
        if _trusted(state.khat, state.ess, effort):
            break
    return state


@np.errstate(all="ignore")
def carry(
    problem: Problem, seeds: Sequence[Sequence[int]], state: State, effort: Effort
) -> list[State]:
    """Take particles to posteriors of other labels, by weights or, failing that, moves.

    Args:
        problem: as of the particles, with a row for each set of labels and its histogram: a call
            takes longer to begin than to evaluate few labels.
        seeds: numbers that the randomness of each follows from.
        state: the particles.
        effort: how much work to do where the weights are poor.
    """
    logs = zip(*problem.evaluate(state.particles.points, effort.particles), strict=True)
    states = [reweigh(state, *terms) for terms in logs]
    for row, weighed in enumerate(states):
        if not weighed.khat <= khat_limit(effort.particles):
            labels, histogram = problem.data.labels[row], problem.data.histogram[row]
            data = problem.data._replace(labels=labels, histogram=histogram)
            fold = problem._replace(data=data)
            states[row] = refresh(fold, effort, generator(seeds[row]), weighed)
    return states


def generator(seed: Sequence[int]) -> np.random.Generator:
    """Make a generator of a quick kind: random numbers are a good part of the work."""
    return np.random.Generator(np.random.SFC64(seed))


def _draw_numbers(
    rng: np.random.Generator, normals: tuple[int, ...], uniforms: tuple[int, ...]
) -> tuple[Any, Any]:
    """Draw standard normal numbers, and uniform ones in (0, 1], in single precision."""
    normal = np.asarray(rng.standard_normal(normals, np.float32))
    return normal, np.asarray(1 - rng.random(uniforms, np.float32))


def _trusted(khat: Any, ess: Any, effort: Effort) -> Any:
    """Judge whether the weights behind the particles are to be trusted."""
    # Written so that figures that are not numbers count as poor.
    return (khat <= khat_limit(effort.proposals * effort.particles)) & (ess >= effort.least_ess)


def log_first_step(size: int) -> float:
    """Return the log of the typical step to begin moving with."""
    return math.log(0.6 if size < 8 else 0.4)


def init_from_prior(problem: Problem, effort: Effort, rng: np.random.Generator) -> State:
    """Propose points from the prior and resample them at the highest power that they serve."""
    # Half of what is weighed at the end is enough to begin with.
    multiple, size = max(effort.proposals // 2, 1), problem.target.size
    total = multiple * effort.particles
    points, offset = _draw_numbers(rng, (total, size), ())
    if not problem.target.gaussian:
        points = draw_prior(*problem, total, rng.integers(2**32, dtype=np.uint32))
    proposals = Particles(points, *problem.evaluate(points, effort.particles))
    zero = np.zeros((), points.dtype)
    state = State(
        particles=proposals,
        log_weights=np.zeros_like(proposals.log_prior),
        # Of the right shapes; what is resampled gives it.
        around=Gaussian(points[0], points[:size], points[:size]),
        temper=zero,
        log_step=zero + log_first_step(size),
        khat=zero + np.inf,
        ess=zero,
        acceptance=zero + np.nan,
        rounds=np.zeros((), np.int32),
    )
    return _raise_temper(state, offset, effort.particles / 2 * multiple**0.5, effort)


def temper_step(problem: Problem, effort: Effort, rng: np.random.Generator, state: State) -> State:
    """Move the particles at their power of the likelihood, then raise it and resample them."""
    state, offset = _move(problem, state, rng, effort.moves), _offset(rng)
    return _raise_temper(state, offset, effort.particles / 2, effort)


def _raise_temper(state: State, offset: Any, least_ess: float, effort: Effort) -> State:
    """Reweight particles by the highest power of the likelihood that keeps an ESS; resample."""
    particles = state.particles
    temper = next_temper(state.temper, state.log_weights, particles.log_likelihood, least_ess)
    log_weights = state.log_weights + _log_power(temper - state.temper, particles.log_likelihood)
    return state._replace(
        particles=_take(particles, resample(offset, log_weights, effort.particles)),
        log_weights=_equal_log_weights(particles, effort.particles),
        around=gaussian(particles.points, normalise(log_weights)),
        temper=temper,
    )


def importance_step(
    problem: Problem, effort: Effort, rng: np.random.Generator, state: State
) -> State:
    """Propose, weigh and resample points under the whole posterior, and move them.

    Where the weights are poor the particles at hand are moved instead: that is better than copies
    of the few proposals that carry weight.
    """
    total, freedom = effort.proposals * effort.particles, (HEAVY, FREEDOM)[problem.target.gaussian]
    points, log_proposal, offset = _propose(state, rng, total, freedom)
    proposals = Particles(points, *problem.evaluate(points, effort.particles))
    log_weights = proposals.log_prior - log_proposal + proposals.log_likelihood
    smoothed, khat = pareto_smooth(log_weights)
    ess, one = effective_sample_size(log_weights), np.ones_like(state.temper)
    state = state._replace(khat=khat, ess=ess, temper=one, rounds=state.rounds + 1)
    if _trusted(khat, ess, effort):
        state = state._replace(
            particles=_take(proposals, resample(offset, smoothed, effort.particles)),
            log_weights=_equal_log_weights(proposals, effort.particles),
            around=gaussian(points, smoothed),
        )
    else:
        state = state._replace(around=gaussian(state.particles.points, state.log_weights))
    return _move(problem, state, rng, effort.last_moves)


def from_draws(particles: Particles) -> State:
    """Make the state of whitened draws from the posterior itself, equally weighted."""
    points = particles.points
    none, zero = np.zeros((), np.int32), np.zeros((), points.dtype)
    weights = _equal_log_weights(particles, len(points))
    step = zero + log_first_step(points.shape[1])
    around = gaussian(points, weights)
    return State(particles, weights, around, zero + 1, step, zero, zero, zero, none)


def reweigh(state: State, log_prior: Any, log_likelihood: Any) -> State:
    """Weigh the particles of another posterior for this one, by their densities under it."""
    old = state.particles
    change = log_prior + log_likelihood - old.log_prior - old.log_likelihood
    change = change + (state.log_weights - np.max(state.log_weights))
    smoothed, khat = pareto_smooth(change)
    new = Particles(old.points, log_prior, log_likelihood)
    ess = effective_sample_size(smoothed)
    return state._replace(particles=new, log_weights=smoothed, khat=khat, ess=ess)


def refresh(problem: Problem, effort: Effort, rng: np.random.Generator, state: State) -> State:
    """Resample weighted particles and move them."""
    offset, particles = _offset(rng), state.particles
    chosen = state._replace(
        particles=_take(particles, resample(offset, state.log_weights, effort.particles)),
        log_weights=_equal_log_weights(particles, effort.particles),
        around=gaussian(particles.points, state.log_weights),
    )
    return _move(problem, chosen, rng, effort.moves)


def next_temper(temper: Any, log_weights: Any, log_likelihood: Any, least_ess: float) -> Any:
    """Find the largest power of the likelihood, at most 1, that keeps an effective sample size.

    Args:
        temper: the power at which ``log_weights`` stand.
        log_weights: unnormalised log weights in nats, ``[S]``.
        log_likelihood: log likelihood of each point in nats, ``[S]``.
        least_ess: the effective sample size to keep.

    Returns:
        The power, above ``temper``; 1 where ``temper`` is 1 already.
    """
    one = np.ones_like(temper)

    def excess(candidate: Any) -> Any:
        """Compute by how much the logarithm of the size is above what is asked for."""
        weights = log_weights + _log_power(candidate - temper, log_likelihood)
        return np.log(effective_sample_size(weights) / least_ess)

    # Regula falsi that halves the other end each time.
    low, high, above, below = temper, one, excess(temper), excess(one)
    complete = (below > 0) | (temper >= one)
    for _ in range(SECANTS):
        if complete or 0 <= above < NEAR:
            break
        middle = low + (high - low) * above / (above - below)
        gap = excess(middle)
        enough = gap > 0
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        above, below = np.where(enough, gap, above / 2), np.where(enough, below / 2, gap)
    return np.where(complete, one, np.minimum(np.maximum(low, temper + 1e-5), one))


def _propose(
    state: State, rng: np.random.Generator, total: int, freedom: int
) -> tuple[Any, Any, Any]:
    """Draw Student-t points around the particles and their core; with log density and offset."""
    points = state.particles.points
    size = points.shape[1]
    cloud = gaussian(points, state.log_weights)
    core = gaussian(points, normalise(SHARPEN * state.particles.log_likelihood))
    normal, uniform = _draw_numbers(rng, (total, size), (freedom // 2 * total + 1,))
    # Two degrees of freedom for each uniform number.
    chi_square = -2 * np.sum(np.log(uniform[1:]).reshape(-1, total), axis=0)
    student = normal * np.sqrt(freedom / chi_square)[:, None]
    half = total // 2
    proposed = np.concatenate([cloud.unwhiten(student[:half]), core.unwhiten(student[half:])])
    log_proposal = np.logaddexp(*(_log_student(each, proposed, freedom) for each in (cloud, core)))
    return proposed, log_proposal, uniform[0]


def _log_student(around: Gaussian, points: Any, freedom: int) -> Any:
    """Compute a Student-t's log density up to a constant that location and scale leave alone."""
    size = points.shape[1]
    log_scale = np.sum(np.log(np.diagonal(around.factor)))
    standard = around.whiten(points)
    distances = np.vecdot(standard, standard)
    return -0.5 * (freedom + size) * np.log1p(distances / freedom) - log_scale


def _move(problem: Problem, state: State, rng: np.random.Generator, blocks: int) -> State:
    begin = init_pcn(state.particles, state.around, state.log_step)
    (count, size), moves = begin.standard.shape, blocks * BLOCK
    numbers = _draw_numbers(rng, (moves, count, size + 1), (moves, count))
    end = run_pcn(*problem, begin, state.around, state.temper, *numbers)
    return state._replace(particles=end.particles, log_step=end.log_step, acceptance=end.rate)


def _offset(rng: np.random.Generator) -> Any:
    """Draw where the points of a systematic resample begin, in (0, 1]."""
    return _draw_numbers(rng, (), ())[1]


def _log_power(power: Any, log_likelihood: Any) -> Any:
    """Raise a likelihood to a power; the power of nothing is one even where it is zero."""
    safe = np.where(power > 0, power, 1.0)
    return np.where(power > 0, safe * log_likelihood, 0.0)


def _take(particles: Particles, index: Any) -> Particles:
    return Particles(*(leaf[index] for leaf in particles))


def _equal_log_weights(particles: Particles, count: int) -> Any:
    """Return log weights of draws that weigh alike."""
    return np.full(count, -np.log(count), particles.points.dtype)

r"""The default posterior: particles tempered from the prior, weighed by importance and moved.

1. :func:`init_from_prior` draws points from the prior and weighs them by ``likelihood ** beta``
   as far as their effective size allows.
2. :func:`temper_step` moves the particles resampled from them, and raises ``beta`` again, until it
   is 1 (sequential Monte Carlo: Del Moral, Doucet and Jasra 2006, JRSS B 68(3)).
3. :func:`importance_step` proposes fresh points from two Student-t distributions, one with the
   particles' mean and covariance, one with those of their core where the likelihood is high.
   Importance weights remove what bias the particles carry, and k-hat and the effective sample size
   say whether they did.  Particles resampled from few of them are moved once more.  If the weights
   were not good enough, the particles at hand are moved instead, and this stage is repeated.
4. :func:`extend` takes particles of a coreset, a few weighted texts in place of hundreds, to all
   texts by importance weights; k-hat and effective size are then of both steps.
5. :func:`carry` takes the particles to the posterior of other labels, as where a fold is held out:
   by smoothed importance weights, and by moves where their k-hat is poor.

It needs no mode and no gradient, so it serves any channel, also one with several modes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from cordial_ppl.runtime.arrays import either, iterate

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
FAR, MOST_ROUNDS = 1.0, 8
"""How far particles are to move before the power of the likelihood is raised, and rounds at most.

A round counts its moves times the acceptance and squared step of its last one.  Coordinates then
correlate with those before by .2 to .45, and by .73 in the slowest direction.  Long, narrow
posteriors, as those of thousands of hard ratings, allow only short steps.
"""


class Effort(NamedTuple):
    """How much work the default inference does.

    Attributes:
        particles: number of particles S, and number of draws returned.
        proposals: number of points proposed at a time, as a multiple of the particles; half as many
            at first.
        moves: moves of every particle at each temperature, in blocks of four; up to eight times as
            many if the steps are short.
        last_moves: moves after the importance step, in blocks of four, if the effective sample size
            is below the number of particles.
        least_ess: effective sample size below which the proposals are repeated.
        repairs: maximum number of repetitions.
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
        acceptance: share of the last moves that was accepted; NaN if none followed the weights.
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


@dataclass(frozen=True)
class Problem:
    """What is sampled: a channel with its prior and labelled texts, in single precision.

    The sampler knows no more of it than these methods; `cordial_ppl.inference.lanes` has them
    for many problems side by side, whose arrays have an axis of problems in front.
    """

    target: Target
    prior: Prior
    data: Data

    def draw_prior(self, rng: np.random.Generator, draws: int) -> Any:
        """Draw whitened points from a prior that is no Gaussian."""
        seed = rng.integers(2**32, dtype=np.uint32)
        return draw_prior(self.target, self.prior, self.data, draws, seed)

    def draw_numbers(
        self, rng: np.random.Generator, normals: tuple[int, ...], uniforms: tuple[int, ...]
    ) -> tuple[Any, Any]:
        """Draw standard normal numbers, and uniform ones in (0, 1], in single precision."""
        normal = np.asarray(rng.standard_normal(normals, PRECISION))
        return normal, np.asarray(1 - rng.random(uniforms, PRECISION))

    def evaluate(self, points: Float[Any, "*many M P"], particles: int) -> tuple[Any, Any]:
        """Compute log prior and log likelihood of whitened points, as many at once as particles."""
        return density(self.target, self.prior, self.data, points, particles)

    def move(self, state: "State", normal: Any, uniform: Any) -> "State":
        """Move the particles of a state at its power of the likelihood."""
        begin = init_pcn(state.particles, state.around, state.log_step)
        arrays = begin, state.around, state.temper, (normal, uniform)
        end = run_pcn(self.target, self.prior, self.data, *arrays)
        return state._replace(particles=end.particles, log_step=end.log_step, acceptance=end.rate)

    def do[**P, R](self, stage: Callable[P, R], *args: P.args, **settings: P.kwargs) -> R:
        """Do what concerns one problem at a time."""
        return stage(*args, **settings)

    def go_on(
        self, active: Any, stage: Callable[..., "State"], effort: Any, rng: Any, state: "State"
    ) -> "State":
        """Do a stage, unless the problem needs no more."""
        return stage(self, effort, rng, state) if active else state


@np.errstate(all="ignore")
def sample(problem: Problem, rng: Any, effort: Effort) -> State:
    """Sample a posterior.

    Args:
        problem: the channel, its prior and the labelled texts.
        rng: source of all randomness, as the problem draws from it.
        effort: how much work to do.

    Returns:
        Particles, equally weighted, with the figures of the last importance step.
    """
    state = init_from_prior(problem, effort, rng)
    for _ in range(MAX_TEMPERATURES):
        if not (below := state.temper < 1).any():
            break
        state = problem.go_on(below, temper_step, effort, rng, state)
    # One that is not at power 1 by now is weighed from where it is.
    return weigh(problem, rng, effort, state)


@np.errstate(all="ignore")
def weigh(problem: Problem, rng: Any, effort: Effort, state: State) -> State:
    """Weigh proposals around particles, and move these until the weights are to be trusted."""
    doubted = state.rounds == 0
    for _ in range(1 + effort.repairs):
        state = problem.go_on(doubted, importance_step, effort, rng, state)
        doubted = doubted & ~_trusted(state.khat, state.ess, effort)
        if not doubted.any():
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
        if is_poor(weighed):
            labels, histogram = problem.data.labels[row], problem.data.histogram[row]
            fold = replace(problem, data=problem.data._replace(labels=labels, histogram=histogram))
            states[row] = refresh(fold, effort, generator(seeds[row]), weighed)
    return states


@np.errstate(all="ignore")
def extend(problem: Problem, rng: Any, effort: Effort, state: State) -> State:
    """Take particles of a coreset to all texts: by weights or, if they are poor, by proposals."""
    there = reweigh(state, *problem.evaluate(state.particles.points, effort.particles))
    if is_poor(there):
        moved = refresh(problem, effort, rng, there)._replace(rounds=state.rounds * 0)
        return weigh(problem, rng, effort, moved)
    share = there.ess / len(there.log_weights)
    return there._replace(khat=max(state.khat, there.khat), ess=state.ess * share)


def generator(seed: Sequence[int]) -> np.random.Generator:
    """Make a generator of a quick kind: random numbers are a good part of the work."""
    return np.random.Generator(np.random.SFC64(seed))


def is_poor(state: State) -> Any:
    """Judge whether carried particles are to be moved."""
    return ~(state.khat <= khat_limit(state.log_weights.shape[-1]))


def _trusted(khat: Any, ess: Any, effort: Effort) -> Any:
    """Judge whether the weights behind the particles are to be trusted."""
    # Written so that figures that are not numbers count as poor.
    return (khat <= khat_limit(effort.proposals * effort.particles)) & (ess >= effort.least_ess)


def init_from_prior(problem: Problem, effort: Effort, rng: Any) -> State:
    """Propose points from the prior and resample them at the highest power that they serve."""
    # Half of what is weighed at the end is enough to begin with.
    multiple, size = max(effort.proposals // 2, 1), problem.target.size
    total = multiple * effort.particles
    points, offset = problem.draw_numbers(rng, (total, size), ())
    if not problem.target.gaussian:
        points = problem.draw_prior(rng, total)
    state = problem.do(_begin, Particles(points, *problem.evaluate(points, effort.particles)))
    least = effort.particles / 2 * multiple**0.5
    return problem.do(_raise_temper, state, offset, least_ess=least, count=effort.particles)


def temper_step(problem: Problem, effort: Effort, rng: Any, state: State) -> State:
    """Move the particles at their power of the likelihood, then raise it and resample them."""
    distance, near = np.zeros_like(state.temper), np.full_like(state.temper, True, bool)
    for _ in range(MOST_ROUNDS):
        state = problem.go_on(near, _move, effort.moves, rng, state)
        step = np.exp(2 * state.log_step) * state.acceptance
        distance = distance + BLOCK * effort.moves * step
        near = distance < FAR
        if not near.any():
            break
    offset, count = _offset(problem, rng), effort.particles
    return problem.do(_raise_temper, state, offset, least_ess=count / 2, count=count)


def importance_step(problem: Problem, effort: Effort, rng: Any, state: State) -> State:
    """Propose, weigh and resample points under the whole posterior, and move copies of few.

    Where the weights are poor the particles at hand are moved instead: that is better than copies
    of the few proposals that carry weight.
    """
    points, log_proposal, offset = problem.do(
        _propose, state, *_draw_proposals(problem, effort, rng), freedom=_freedom(problem.target)
    )
    proposals = Particles(points, *problem.evaluate(points, effort.particles))
    state = problem.do(_weigh, state, proposals, log_proposal, offset, effort=effort)
    few = ~(_trusted(state.khat, state.ess, effort) & (state.ess >= effort.particles))
    return problem.go_on(few, _move, effort.last_moves, rng, state)


def estimate_evidence(
    problem: Problem, rng: Any, effort: Effort, state: State
) -> tuple[float, float]:
    r"""Estimate the log of the likelihood's average over the prior from weighted points.

    .. math:: \log \frac{1}{2M} \sum_m \frac{p(w_m) L(w_m)}{q(w_m) / 2 + p(w_m) / 2}

    Half of the points are from the Student-t distributions q around the particles, drawn anew, and
    half from the prior, which bounds the weights where the posterior has flat tails.

    Returns:
        The estimate, nats, and k-hat of the weights, which are smoothed.
    """
    freedom = _freedom(problem.target)
    students, *_ = _propose(state, *_draw_proposals(problem, effort, rng), freedom)
    points = np.concatenate([students, problem.draw_prior(rng, len(students))])
    log_prior, log_likelihood = problem.evaluate(points, effort.particles)
    size, units = problem.target.size, problem.prior.scale.astype(np.float64)
    # The prior is a density of the unconstrained parameters, proposals of those in its units.
    log_prior = log_prior + np.log(units).sum()
    constant = math.lgamma((freedom + size) / 2) - math.lgamma(freedom / 2)
    constant -= size / 2 * math.log(freedom * math.pi)
    log_student = _log_proposal(_around(state), points, freedom) + constant - math.log(2)
    logs = log_prior + log_likelihood - np.logaddexp(log_student, log_prior) + math.log(2)
    smoothed, khat = pareto_smooth(logs)
    # All but the largest weights are only divided by their sum.
    middle = np.argsort(logs)[-len(logs) // 2]
    return float(logs[middle] - smoothed[middle] - math.log(len(logs))), float(khat)


def _freedom(target: Target) -> int:
    return FREEDOM if target.gaussian else HEAVY


def _draw_proposals(problem: Problem, effort: Effort, rng: Any) -> tuple[Any, Any]:
    """Draw the numbers that proposals are made of."""
    total, freedom = effort.proposals * effort.particles, _freedom(problem.target)
    return problem.draw_numbers(rng, (total, problem.target.size), (freedom // 2 * total + 1,))


def refresh(problem: Problem, effort: Effort, rng: Any, state: State) -> State:
    """Resample weighted particles and move them."""
    state = problem.do(_resample, state, _offset(problem, rng), count=effort.particles)
    return _move(problem, effort.moves, rng, state)


def _move(problem: Problem, blocks: int, rng: Any, state: State) -> State:
    (*_, count, size), moves = state.particles.points.shape, blocks * BLOCK
    return problem.move(state, *problem.draw_numbers(rng, (moves, count, size + 1), (moves, count)))


def _offset(problem: Problem, rng: Any) -> Any:
    """Draw where the points of a systematic resample begin, in (0, 1]."""
    return problem.draw_numbers(rng, (), ())[1]


# What follows is of one problem, in NumPy or, compiled for many, in JAX.


def _begin(proposals: Particles) -> State:
    """Make the state of points from the prior."""
    points, zero = proposals.points, 0 * proposals.log_prior[0]
    size, none = points.shape[1], 0 * proposals.log_prior
    # Of the right shapes; what is resampled gives it.
    around, step = Gaussian(points[0], points[:size], points[:size]), 0.6 if size < 8 else 0.4
    step, rounds = zero + PRECISION(math.log(step)), zero.astype(np.int32)
    never = zero + PRECISION(np.nan)
    return State(proposals, none, around, zero, step, zero + PRECISION(np.inf), zero, never, rounds)


def _resample(state: State, offset: Any, count: int, raw: Any = None) -> State:
    """Resample weighted particles, and fit the Gaussian that they move around."""
    particles, logs = state.particles, state.log_weights
    index = resample(offset, logs if raw is None else raw, count)
    return state._replace(
        particles=Particles(*(leaf[index] for leaf in particles)),
        log_weights=_equal_log_weights(particles, count),
        around=gaussian(particles.points, logs),
    )


def _raise_temper(state: State, offset: Any, least_ess: float, count: int) -> State:
    """Reweight particles by the highest power of the likelihood that keeps an ESS; resample."""
    log_likelihood = state.particles.log_likelihood
    temper = next_temper(state.temper, state.log_weights, log_likelihood, least_ess)
    logs = state.log_weights + _log_power(temper - state.temper, log_likelihood)
    state = state._replace(temper=temper, log_weights=normalise(logs))
    return _resample(state, offset, count, logs)


def _weigh(
    state: State, proposals: Particles, log_proposal: Any, offset: Any, effort: Effort
) -> State:
    """Weigh proposals under the posterior; go on with these where the weights are good."""
    logs = proposals.log_prior - log_proposal + proposals.log_likelihood
    smoothed, khat = pareto_smooth(logs)
    ess, one = effective_sample_size(logs), state.temper * 0 + 1
    figures = {"khat": khat, "ess": ess, "acceptance": one * np.nan}
    weighed = state._replace(**figures, temper=one, rounds=state.rounds + 1)
    moved = weighed._replace(particles=proposals, log_weights=smoothed)
    return either(
        _trusted(khat, ess, effort),
        lambda: _resample(moved, offset, effort.particles),
        lambda: weighed._replace(around=gaussian(state.particles.points, state.log_weights)),
    )


def from_draws(particles: Particles) -> State:
    """Make the state of whitened draws from the posterior itself, equally weighted."""
    weights = _equal_log_weights(particles, len(particles.points))
    around, zero = gaussian(particles.points, weights), weights[0] * 0
    state = _begin(particles)._replace(log_weights=weights, around=around, temper=zero + 1)
    return state._replace(khat=zero, acceptance=zero)


def reweigh(state: State, log_prior: Any, log_likelihood: Any) -> State:
    """Weigh the particles of another posterior for this one, by their densities under it."""
    old, log_weights = state.particles, state.log_weights
    change = log_prior + log_likelihood - old.log_prior - old.log_likelihood
    smoothed, khat = pareto_smooth(change + (log_weights - log_weights.max()))
    new = Particles(old.points, log_prior, log_likelihood)
    ess = effective_sample_size(smoothed)
    return state._replace(particles=new, log_weights=smoothed, khat=khat, ess=ess)


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
    xp, one = log_weights.__array_namespace__(), temper * 0 + 1

    def excess(candidate: Any) -> Any:
        """Compute by how much the logarithm of the size is above what is asked for."""
        weights = log_weights + _log_power(candidate - temper, log_likelihood)
        return xp.log(effective_sample_size(weights) / least_ess)

    # Regula falsi that halves the other end each time.
    def go_on(ends: tuple) -> Any:
        *_, above, below, rounds = ends
        return (rounds < SECANTS) & ~((below > 0) | (temper >= one) | (0 <= above) & (above < NEAR))

    def step(ends: tuple) -> tuple:
        low, high, above, below, rounds = ends
        middle = low + (high - low) * above / (above - below)
        gap = excess(middle)
        enough = gap > 0
        low, high = xp.where(enough, middle, low), xp.where(enough, high, middle)
        above, below = xp.where(enough, gap, above / 2), xp.where(enough, below / 2, gap)
        return low, high, above, below, rounds + 1

    begin = temper, one, excess(temper), excess(one), temper * 0
    low, _, _, below, _ = iterate(go_on, step, begin)
    complete = (begin[3] > 0) | (temper >= one)
    return xp.where(complete, one, xp.minimum(xp.maximum(low, temper + 1e-5), one))


def _propose(state: State, normal: Any, uniform: Any, freedom: int) -> tuple[Any, Any, Any]:
    """Draw Student-t points around the particles and their core; with log density and offset."""
    xp, total = normal.__array_namespace__(), len(normal)
    around = _around(state)
    # Two degrees of freedom for each uniform number.
    chi_square = -2 * xp.sum(xp.log(uniform[1:]).reshape(-1, total), axis=0)
    student = normal * xp.sqrt(freedom / chi_square)[:, None]
    half = total // 2
    halves = zip(around, (student[:half], student[half:]), strict=True)
    proposed = xp.concat([each.unwhiten(part) for each, part in halves])
    return proposed, _log_proposal(around, proposed, freedom), uniform[0]


def _around(state: State) -> tuple[Gaussian, Gaussian]:
    """Fit Gaussians to particles, and to their core where the likelihood is high."""
    points, sharp = state.particles.points, normalise(SHARPEN * state.particles.log_likelihood)
    return gaussian(points, state.log_weights), gaussian(points, sharp)


def _log_proposal(around: tuple[Gaussian, Gaussian], points: Any, freedom: int) -> Any:
    """Compute the log of twice the density of proposals, up to a constant of their size."""
    xp = points.__array_namespace__()
    return xp.logaddexp(*(_log_student(each, points, freedom) for each in around))


def _log_student(around: Gaussian, points: Any, freedom: int) -> Any:
    """Compute a Student-t's log density up to a constant that location and scale leave alone."""
    xp, size = points.__array_namespace__(), points.shape[1]
    log_scale = xp.sum(xp.log(around.factor.diagonal()))
    standard = around.whiten(points)
    return -0.5 * (freedom + size) * xp.log1p(xp.vecdot(standard, standard) / freedom) - log_scale


def _log_power(power: Any, log_likelihood: Any) -> Any:
    """Raise a likelihood to a power; the power of nothing is one even where it is zero."""
    xp = log_likelihood.__array_namespace__()
    safe = xp.where(power > 0, power, 1.0)
    return xp.where(power > 0, safe * log_likelihood, 0.0)


def _equal_log_weights(particles: Particles, count: int) -> Any:
    """Return log weights of draws that weigh alike."""
    xp = particles.points.__array_namespace__()
    return xp.full(count, -np.log(count), particles.points.dtype)

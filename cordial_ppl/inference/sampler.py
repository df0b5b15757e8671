r"""The default posterior: particles tempered from the prior, weighed by importance and moved.

1. :func:`climb` draws points from the prior, weighs them by ``likelihood ** beta`` as far as their
   effective size allows, and resamples and moves them, until ``beta`` is 1 (sequential Monte Carlo:
   Del Moral, Doucet and Jasra 2006, JRSS B 68(3)).
2. :func:`weigh` proposes fresh points from two Student-t distributions, one with the particles'
   mean and covariance, one with those of their core where the likelihood is high.  Importance
   weights remove what bias the particles carry, and k-hat and the effective sample size say
   whether they did.  Particles resampled from them are moved once more.  If the weights were not
   good enough, the particles at hand are moved instead, and this stage is repeated.
3. :func:`carry` takes the particles to the posterior of other labels, as where a fold is held out:
   by smoothed importance weights, and by moves where their k-hat is poor.

It needs no mode and no gradient, so it serves any channel, also one with several modes.  All of it
is NumPy, in single precision, but for the channel's density and the moves (`programs`).
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Data
from cordial_ppl.inference.importance import (
    effective_sample_size,
    khat_limit,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import Gaussian, Particles, gaussian
from cordial_ppl.inference.programs import Problem, density, walk
from cordial_ppl.inference.target import Prior, Target

PRECISION = np.float32
"""Log densities are needed to far less than their Monte Carlo error: half the digits suffice."""

BLOCK = 4
FREEDOM = 8
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
        log_step: log of the typical step of their moves.
        khat: Pareto shape of the last importance weights.
        ess: effective sample size of those weights.
        acceptance: share of the last moves that was accepted.
        rounds: how often proposals were weighed against the whole posterior.
    """

    particles: Particles
    log_weights: Float[np.ndarray, " S"]
    log_step: Any
    khat: Any = np.inf
    ess: Any = 0.0
    acceptance: Any = np.nan
    rounds: int = 0

    def good(self, effort: Effort) -> bool:
        """Whether the importance weights behind the particles are to be trusted."""
        limit = khat_limit(effort.proposals * effort.particles)
        # Written so that figures that are not numbers count as poor.
        return bool(self.khat <= limit and self.ess >= effort.least_ess)


def generator(seed: tuple[int, ...]) -> np.random.Generator:
    """Random numbers, of a quick kind: they are a good part of the work."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))


@np.errstate(all="ignore")
def sample(problem: Problem, effort: Effort, seed: tuple[int, ...]) -> State:
    """Sample a posterior.

    Args:
        problem: the channel, its prior and labelled texts, in single precision.
        effort: how much work to do.
        seed: numbers that all randomness follows from.

    Returns:
        Equally weighted particles, with the figures of the last importance step.
    """
    rng = generator(seed)
    state = climb(problem, effort, rng)
    while state.rounds <= effort.repairs and not (state.rounds and state.good(effort)):
        state = weigh(problem, effort, rng, state)
    return state


@np.errstate(all="ignore")
def carry(problem: Problem, effort: Effort, seed: tuple[int, ...], whole: State) -> State:
    """Take particles of another posterior to this one, by weights or, failing that, moves.

    Args:
        problem: what is sampled; most of its labels are those of the other posterior.
        effort: how much work to do where the weights are poor.
        seed: numbers that all randomness follows from.
        whole: the other posterior, equally weighted particles.

    Returns:
        Particles with smoothed weights, or, where their k-hat was poor, equally weighted ones that
        were moved.
    """
    rng, old = generator(seed), whole.particles
    new = Particles(old.points, *density(problem, old.points, effort.particles))
    change = new.log_prior + new.log_likelihood - old.log_prior - old.log_likelihood
    log_weights, khat = pareto_smooth(change)
    ess = effective_sample_size(log_weights)
    state = whole._replace(particles=new, log_weights=log_weights, khat=khat, ess=ess)
    if khat <= khat_limit(effort.particles):
        return state
    around, chosen = gaussian(new.points, log_weights), _resample(new, log_weights, rng, effort)
    state = state._replace(particles=chosen, log_weights=_equal(effort.particles))
    return _move(problem, rng, state, around, effort.moves)


def settle(problem: Problem, points: Float[np.ndarray, "S P"]) -> State:
    """The state of whitened draws from the posterior itself, equally weighted."""
    found = Particles(points, *density(problem, points, len(points)))
    return State(found, _equal(len(points)), first_step(points.shape[1]))


def first_step(size: int) -> float:
    """Log of the typical step to begin moving with."""
    return math.log(0.6 if size < 8 else 0.4)


def climb(problem: Problem, effort: Effort, rng: np.random.Generator) -> State:
    """Move particles drawn from the prior under ever higher powers of the likelihood, up to 1."""
    # Half of what is weighed at the end is enough to begin with.
    multiple, size = max(effort.proposals // 2, 1), problem.target.size
    total = multiple * effort.particles
    points = rng.standard_normal((total, size), PRECISION)
    if not problem.target.gaussian:
        points = _draw_prior(problem, rng, total)
    found = Particles(points, *density(problem, points, effort.particles))
    state = State(found, np.zeros(total, PRECISION), first_step(size))
    temper, least_ess = PRECISION(0), effort.particles / 2 * multiple**0.5
    for _ in range(MAX_TEMPERATURES):
        found, before = state.particles, temper
        temper = next_temper(before, state.log_weights, found.log_likelihood, least_ess)
        log_weights = state.log_weights + _raised(temper - before, found.log_likelihood)
        around = gaussian(found.points, normalise(log_weights))
        found = _resample(found, log_weights, rng, effort)
        state = state._replace(particles=found, log_weights=_equal(effort.particles))
        if temper >= 1:
            break
        state = _move(problem, rng, state, around, effort.moves, temper)
        least_ess = effort.particles / 2
    return state


def weigh(problem: Problem, effort: Effort, rng: np.random.Generator, state: State) -> State:
    """Propose, weigh and resample points under the whole posterior, and move them.

    Where the weights are poor the particles at hand are moved instead: that is better than copies
    of the few proposals that carry weight.
    """
    proposals, log_proposal = _propose(state, rng, effort.proposals * effort.particles)
    found = Particles(proposals, *density(problem, proposals, effort.particles))
    log_weights = found.log_prior - log_proposal + found.log_likelihood
    smoothed, khat = pareto_smooth(log_weights)
    ess = effective_sample_size(log_weights)
    state = state._replace(khat=khat, ess=ess, rounds=state.rounds + 1)
    around = gaussian(state.particles.points, state.log_weights)
    if state.good(effort):
        around = gaussian(found.points, smoothed)
        state = state._replace(particles=_resample(found, smoothed, rng, effort))
    return _move(problem, rng, state, around, effort.last_moves)


def next_temper(
    temper: Any,
    log_weights: Float[np.ndarray, " S"],
    log_likelihood: Float[np.ndarray, " S"],
    least_ess: float,
) -> Any:
    """Largest power of the likelihood, at most 1, whose weights keep an effective sample size.

    Args:
        temper: the power at which ``log_weights`` stand.
        log_weights: unnormalised log weights in nats.
        log_likelihood: log likelihood of each point in nats.
        least_ess: the effective sample size to keep.

    Returns:
        The power, above ``temper``; 1 where ``temper`` is 1 already.
    """
    one = np.ones_like(temper)

    def excess(candidate: Any) -> Any:
        """By how much the logarithm of the size is above what is asked for."""
        weights = log_weights + _raised(candidate - temper, log_likelihood)
        return np.log(effective_sample_size(weights) / least_ess)

    # Regula falsi that halves the other end each time.
    low, high, above, below = temper, one, excess(temper), excess(one)
    if below > 0 or temper >= one:
        return one
    for _ in range(SECANTS):
        if 0 <= above < NEAR:
            break
        middle = low + (high - low) * above / (above - below)
        found = excess(middle)
        if found > 0:
            low, above, below = middle, found, below / 2
        else:
            high, above, below = middle, above / 2, found
    return np.minimum(np.maximum(low, temper + 1e-5), one)


def _propose(state: State, rng: np.random.Generator, total: int) -> tuple[Any, Any]:
    """Student-t points around the particles and their core, and their log density."""
    points = state.particles.points
    whole = gaussian(points, state.log_weights)
    core = gaussian(points, normalise(SHARPEN * state.particles.log_likelihood))
    normal = rng.standard_normal((total, points.shape[1]), PRECISION)
    # Two degrees of freedom for each uniform number.
    uniform = 1 - rng.random((FREEDOM // 2, total), PRECISION)
    chi_square = -2 * np.sum(np.log(uniform), axis=0)
    student = normal * np.sqrt(FREEDOM / chi_square)[:, None]
    half = total // 2
    proposed = np.concatenate([whole.unwhiten(student[:half]), core.unwhiten(student[half:])])
    return proposed, np.logaddexp(_log_student(whole, proposed), _log_student(core, proposed))


def _log_student(around: Gaussian, points: Float[np.ndarray, "S P"]) -> Float[np.ndarray, " S"]:
    """Log density of a Student-t up to a constant that does not depend on the location or scale."""
    log_scale, standard = np.sum(np.log(np.diagonal(around.factor))), around.whiten(points)
    distances = np.vecdot(standard, standard)
    return -0.5 * (FREEDOM + points.shape[1]) * np.log1p(distances / FREEDOM) - log_scale


def _draw_prior(problem: Problem, rng: np.random.Generator, total: int) -> np.ndarray:
    """Whitened draws from a prior that is no fixed Gaussian."""
    key = jax.random.key(rng.integers(2**32, dtype=np.uint32))
    return np.asarray(_prior_program(problem.target, total)(problem.prior, problem.data, key))


@lru_cache(maxsize=256)
def _prior_program(target: Target, total: int) -> Callable[..., Any]:
    def run(prior: Prior, data: Data, key: Any) -> Any:
        flat = target.sample_prior(key, prior, data.readings, total)
        loc, scale = (jnp.asarray(part)[None] for part in prior)
        return ((flat - loc) / scale).astype(PRECISION)

    return compiled(run)


def _move(
    problem: Problem,
    rng: np.random.Generator,
    state: State,
    around: Gaussian,
    blocks: int,
    temper: Any = 1.0,
) -> State:
    """Move the particles under a power of the likelihood."""
    moves, (count, size) = blocks * BLOCK, state.particles.points.shape
    normal = rng.standard_normal((moves, count, size + 1), PRECISION)
    uniform = 1 - rng.random((moves, count), PRECISION)
    start = state.particles, around, temper, state.log_step
    particles, log_step, acceptance = walk(problem, *start, normal, uniform)
    return state._replace(particles=particles, log_step=log_step, acceptance=acceptance)


def _resample(
    particles: Particles, log_weights: np.ndarray, rng: np.random.Generator, effort: Effort
) -> Particles:
    """Resample to equally weighted particles."""
    offset = 1 - rng.random(dtype=PRECISION)
    index = resample(offset, log_weights, effort.particles)
    return Particles(*(leaf[index] for leaf in particles))


def _raised(power: Any, log_likelihood: np.ndarray) -> np.ndarray:
    """Log of a power of the likelihood: 0 at power 0, even where the likelihood is zero."""
    return power * log_likelihood if power > 0 else np.zeros_like(log_likelihood)


def _equal(count: int) -> np.ndarray:
    """Log weights of equally weighted draws."""
    return np.full(count, -np.log(count), PRECISION)

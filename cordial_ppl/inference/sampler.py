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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.labelled import Data
from cordial_ppl.inference.effort import Effort
from cordial_ppl.inference.moves import BLOCK, Particles, init_pcn
from cordial_ppl.inference.programs import density, draw_prior, run_pcn
from cordial_ppl.inference.proposals import freedom_of, propose
from cordial_ppl.inference.state import (
    PRECISION,
    State,
    from_prior,
    is_poor,
    is_trusted,
    raise_temper,
    resample_state,
    reweigh,
    weigh_proposals,
)
from cordial_ppl.inference.target import Prior, Target

MAX_TEMPERATURES = 60
FAR, MOST_ROUNDS = 1.0, 8
"""How far particles are to move before the power of the likelihood is raised, and rounds at most.

A round counts its moves times the acceptance and squared step of its last one.  Long, narrow
posteriors, as those of thousands of hard ratings, allow only short steps.
"""


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

    def move(self, state: State, normal: Any, uniform: Any) -> State:
        """Move the particles of a state at its power of the likelihood."""
        begin = init_pcn(state.particles, state.around, state.log_step)
        arrays = begin, state.around, state.temper, (normal, uniform)
        end = run_pcn(self.target, self.prior, self.data, *arrays)
        return state._replace(particles=end.particles, log_step=end.log_step, acceptance=end.rate)

    def do[**P, R](self, stage: Callable[P, R], *args: P.args, **settings: P.kwargs) -> R:
        """Do what concerns one problem at a time."""
        return stage(*args, **settings)

    def go_on(
        self, active: Any, stage: Callable[..., State], effort: Any, rng: Any, state: State
    ) -> State:
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
        doubted = doubted & ~is_trusted(state.khat, state.ess, effort)
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


def init_from_prior(problem: Problem, effort: Effort, rng: Any) -> State:
    """Propose points from the prior and resample them at the highest power that they serve."""
    # Half of what is weighed at the end is enough to begin with.
    multiple, size = max(effort.proposals // 2, 1), problem.target.size
    total = multiple * effort.particles
    points, offset = problem.draw_numbers(rng, (total, size), ())
    if not problem.target.gaussian:
        points = problem.draw_prior(rng, total)
    state = problem.do(from_prior, Particles(points, *problem.evaluate(points, effort.particles)))
    least = effort.particles / 2 * multiple**0.5
    return problem.do(raise_temper, state, offset, least_ess=least, count=effort.particles)


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
    return problem.do(raise_temper, state, offset, least_ess=count / 2, count=count)


def importance_step(problem: Problem, effort: Effort, rng: Any, state: State) -> State:
    """Propose, weigh and resample points under the whole posterior, and move copies of few.

    Where the weights are poor the particles at hand are moved instead: that is better than copies
    of the few proposals that carry weight.
    """
    points, log_proposal, offset = draw_proposals(problem, effort, rng, state)
    proposals = Particles(points, *problem.evaluate(points, effort.particles))
    state = problem.do(weigh_proposals, state, proposals, log_proposal, offset, effort=effort)
    few = ~(is_trusted(state.khat, state.ess, effort) & (state.ess >= effort.particles))
    return problem.go_on(few, _move, effort.last_moves, rng, state)


def draw_proposals(problem: Problem, effort: Effort, rng: Any, state: State) -> Any:
    """Draw proposals around the particles; return points, their log density and an offset."""
    total, freedom = effort.proposals * effort.particles, freedom_of(problem.target)
    sizes = (total, problem.target.size), (freedom // 2 * total + 1,)
    return problem.do(propose, state, *problem.draw_numbers(rng, *sizes), freedom=freedom)


def refresh(problem: Problem, effort: Effort, rng: Any, state: State) -> State:
    """Resample weighted particles and move them."""
    state = problem.do(resample_state, state, _offset(problem, rng), count=effort.particles)
    return _move(problem, effort.moves, rng, state)


def _move(problem: Problem, blocks: int, rng: Any, state: State) -> State:
    (*_, count, size), moves = state.particles.points.shape, blocks * BLOCK
    return problem.move(state, *problem.draw_numbers(rng, (moves, count, size + 1), (moves, count)))


def _offset(problem: Problem, rng: Any) -> Any:
    """Draw where the points of a systematic resample begin, in (0, 1]."""
    return problem.draw_numbers(rng, (), ())[1]

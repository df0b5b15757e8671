"""The default fit of every lane: the first from the prior, the others from the first one's draws.

Leaving out a quarter of the labels widens a posterior only a little, so that the smoothed
importance weights of the draws mostly serve as well as a fit of its own would.  Where their k-hat
exceeds 0.7, the draws are resampled by them and moved under the fold's own posterior.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from cordial_ppl.inference.family import OneOf
from cordial_ppl.inference.lanes import LaneFit, Lanes, held_out
from cordial_ppl.inference.moves import Particles
from cordial_ppl.inference.problem import (
    PRECISION,
    Cloud,
    Problem,
    in_precision,
    problem_in_precision,
)
from cordial_ppl.inference.sampler import Effort, State, as_cloud, from_particles, from_prior
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.inference.tempering import advance


def sample_lanes(
    target: Target | OneOf, lanes: Lanes, prior: Prior, key: jax.Array, effort: Effort
) -> LaneFit:
    """Sample the posterior of the first lane and carry it over to the others.

    Args:
        target: the channel, or one of a family.
        lanes: the data.
        prior: location and scale of the unconstrained parameters.
        key: random key.
        effort: how much work to do.

    Returns:
        The posterior of the first lane, whose ``fold_khat`` is the worst k-hat of the others, and
        the predictions of the others.
    """
    count = lanes.labels.shape[0]
    precise: Lanes = in_precision(lanes)

    def one(whole: Particles, own: tuple) -> tuple[Particles, State]:
        index, labels, histogram, own_key = own
        problem = problem_in_precision(precise.problem(target, prior, labels, histogram))
        start = from_prior(problem, effort)
        if count > 1:
            carried = from_particles(problem, whole)
            start = _choose(index == 0, start, carried)
        state = advance(problem, start, own_key, effort)
        return _choose(index == 0, state.particles, whole), state

    # One after the other: most lanes are done before they begin.
    nowhere = from_prior(lanes.problem(target, prior, None, None), effort).particles
    each = (
        jnp.arange(count),
        jnp.asarray(lanes.labels),
        precise.histograms,
        jax.random.split(key, count),
    )
    _, states = jax.lax.scan(one, nowhere, each)
    first, rest = (jax.tree.map(lambda leaf, at=at: leaf[at], states) for at in (0, slice(1, None)))
    whole = lanes.problem(target, prior, lanes.labels[0], lanes.histograms[0])
    return _fit(target, lanes, as_cloud(whole, first), precise, prior, rest)


def carry_lanes(
    target: Target | OneOf, lanes: Lanes, prior: Prior, cloud: Cloud, key: jax.Array, effort: Effort
) -> LaneFit:
    """Carry a posterior of the first lane, equally weighted draws, over to the others.

    Args:
        target: the channel, or one of a family.
        lanes: the data.
        prior: location and scale of the unconstrained parameters.
        cloud: the posterior.
        key: random key.
        effort: how much work to do where the weights are poor.
    """
    precise: Lanes = in_precision(lanes)

    def problem(labels: Array, histogram: Array) -> Problem:
        return problem_in_precision(precise.problem(target, prior, labels, histogram))

    whole = problem(jnp.asarray(lanes.labels)[0], precise.histograms[0])
    points = whole.whiten(cloud.draws.astype(PRECISION))
    particles = Particles(points, *whole.evaluate(points))

    def one(own: tuple) -> State:
        labels, histogram, own_key = own
        fold = problem(labels, histogram)
        return advance(fold, from_particles(fold, particles), own_key, effort)

    labels, histograms = jnp.asarray(lanes.labels)[1:], precise.histograms[1:]
    states = jax.lax.map(one, (labels, histograms, jax.random.split(key, len(labels))))
    return _fit(target, lanes, cloud, precise, prior, states)


def _choose[T](which: Array, one: T, other: T) -> T:
    return jax.tree.map(lambda first, second: jnp.where(which, first, second), one, other)


def _fit(
    target: Target | OneOf, lanes: Lanes, cloud: Cloud, precise: Lanes, prior: Prior, states: State
) -> LaneFit:
    if not len(states.khat):
        nothing = (lanes.logits.shape[0], lanes.logits.shape[-1])
        return LaneFit(cloud, jnp.zeros(nothing, lanes.logits.dtype))
    problem = problem_in_precision(precise.problem(target, prior, None, None))
    clouds = jax.vmap(lambda state: as_cloud(problem, state))(states)
    found = held_out(target, precise, clouds).astype(lanes.logits.dtype)
    worst = jnp.max(states.khat).astype(cloud.khat.dtype)
    return LaneFit(cloud._replace(fold_khat=worst), found)

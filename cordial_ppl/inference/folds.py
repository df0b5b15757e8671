"""Carrying a posterior of all labels over to a fold of them, with no fit of its own."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from cordial_ppl.inference.importance import (
    KHAT_LIMIT,
    effective_sample_size,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import (
    EXTRA_NOISE,
    Particles,
    first_step,
    moments,
    move,
    take,
)
from cordial_ppl.inference.noise import uniform_and_normal
from cordial_ppl.inference.problem import PRECISION, Cloud, Problem, problem_in_precision

MOVES = 8


def carry(problem: Problem, cloud: Cloud, fold: Problem, key: jax.Array) -> Cloud:
    """Carry a posterior over to a subset of its labels by importance weights.

    Leaving out a quarter of the labels widens a posterior only a little, so that smoothed weights
    mostly serve as well as a fit of its own would.  Where their k-hat exceeds 0.7, the draws are
    resampled by them and moved under the fold's own posterior.

    Args:
        problem: the problem that ``cloud`` solves.
        cloud: its posterior, equally weighted draws.
        fold: the same texts with some labels left out, and the histogram of the labels that remain.
        key: random key of the moves.

    Returns:
        Draws with the weights of the fold's posterior; k-hat and ESS are those of the weights, also
        where the draws were moved.
    """
    kind, exact = cloud.draws.dtype, fold
    points = problem.whiten(cloud.draws).astype(PRECISION)
    old = problem_in_precision(problem).evaluate(points)
    fold = problem_in_precision(fold)
    new = fold.evaluate(points)
    change = new[0] + new[1] - old[0] - old[1]
    smoothed, khat = pareto_smooth(change.astype(kind))

    def keep() -> tuple[Array, Array]:
        return cloud.draws, smoothed

    def repair() -> tuple[Array, Array]:
        count, weights = len(points), smoothed.astype(PRECISION)
        shape = MOVES, count, points.shape[1] + EXTRA_NOISE
        comb, noise = uniform_and_normal(key, shape, points.dtype)
        chosen = take(Particles(points, *new), resample(comb, weights, count))
        one, around = jnp.ones((), PRECISION), moments(points, weights)
        moved, _, _ = move(fold.evaluate, chosen, around, one, first_step(points), noise)
        equal = jnp.full(count, -jnp.log(jnp.asarray(count, kind)), kind)
        return exact.colour(moved.points.astype(kind)).astype(kind), equal

    draws, log_weights = jax.lax.cond(khat <= KHAT_LIMIT, keep, repair)
    ess = effective_sample_size(smoothed)
    return cloud._replace(draws=draws, log_weights=log_weights, khat=khat, ess=ess)

"""Choice of the particles that a stage moves: from those at hand, or from fresh proposals."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from cordial_ppl.inference.family import of_target
from cordial_ppl.inference.importance import (
    KHAT_LIMIT,
    effective_sample_size,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import Moments, Particles, distances, moments, take
from cordial_ppl.inference.noise import normal_and_uniform
from cordial_ppl.inference.problem import PRECISION, Problem
from cordial_ppl.inference.sampler import Effort, Phase, State

FREEDOM = 8
SHARPEN = 0.5
"""Extra power of the likelihood whose moments describe the core of the posterior."""
BISECTIONS = 20


class Choice(NamedTuple):
    """Particles to move, what to move them by, and the figures of the weights behind them.

    Attributes:
        particles: the particles, all of one weight.
        around: moments that their moves are made from.
        temper: the power of the likelihood at which they stand.
        khat: Pareto shape of the last weights.
        ess: effective sample size of the last weights.
    """

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


def good(choice: Choice, effort: Effort) -> Bool[Array, ""]:
    """Whether the weights behind a choice are to be trusted."""
    # Written so that figures that are not numbers count as poor.
    return (choice.khat <= KHAT_LIMIT) & (choice.ess >= effort.least_ess)


def choose_particles(state: State, comb: Array) -> Choice:
    """Reweight the particles at hand by a higher power of the likelihood and resample them."""
    particles, count = state.particles, len(state.log_weights)
    temper = next_temper(state.temper, state.log_weights, particles.log_likelihood, count / 2)
    change = _raised(temper - state.temper, particles.log_likelihood)
    log_weights = normalise(state.log_weights + change)
    return Choice(
        take(particles, resample(comb, log_weights, count)),
        moments(particles.points, log_weights),
        temper,
        state.khat,
        state.ess,
    )


def choose_proposals(
    problem: Problem,
    state: State,
    kept: Choice,
    key: jax.Array,
    comb: Array,
    fresh: Array,
    effort: Effort,
) -> Choice:
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
    chosen = Choice(
        take(found, resample(comb, smoothed, count)),
        moments(found.points, smoothed),
        temper,
        khat,
        ess,
    )
    # Particles that were only moved are better than copies of the few proposals that carry weight.
    usable = first | good(chosen, effort)
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

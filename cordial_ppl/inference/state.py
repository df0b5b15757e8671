"""State of the sampler: weighted particles, and updates that evaluate no density.

Each update is of one problem, in NumPy; `cordial_ppl.inference.lanes` maps it over many in JAX.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.inference.effort import Effort
from cordial_ppl.inference.importance import (
    effective_sample_size,
    khat_limit,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.moves import Gaussian, Particles, gaussian
from cordial_ppl.runtime.arrays import either, iterate

PRECISION = np.float32
"""Log densities are needed to far less than their Monte Carlo error: half the digits suffice."""

SECANTS, NEAR = 20, 0.005
"""Secants at most to the next power of the likelihood, and the error of the log of its ESS."""


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


def from_prior(particles: Particles) -> State:
    """Make the state of points from the prior."""
    points, zero = particles.points, 0 * particles.log_prior[0]
    size, none = points.shape[1], 0 * particles.log_prior
    # Of the right shapes; what is resampled gives it.
    around, step = Gaussian(points[0], points[:size], points[:size]), 0.6 if size < 8 else 0.4
    step, rounds = zero + PRECISION(math.log(step)), zero.astype(np.int32)
    never = zero + PRECISION(np.nan)
    return State(particles, none, around, zero, step, zero + PRECISION(np.inf), zero, never, rounds)


def from_draws(particles: Particles) -> State:
    """Make the state of whitened draws from the posterior itself, equally weighted."""
    weights = _equal_log_weights(particles, len(particles.points))
    around, zero = gaussian(particles.points, weights), weights[0] * 0
    state = from_prior(particles)._replace(log_weights=weights, around=around, temper=zero + 1)
    return state._replace(khat=zero, acceptance=zero)


def reweigh(state: State, log_prior: Any, log_likelihood: Any) -> State:
    """Weigh the particles of another posterior for this one, by their densities under it."""
    old, log_weights = state.particles, state.log_weights
    change = log_prior + log_likelihood - old.log_prior - old.log_likelihood
    smoothed, khat = pareto_smooth(change + (log_weights - log_weights.max()))
    new = Particles(old.points, log_prior, log_likelihood)
    ess = effective_sample_size(smoothed)
    return state._replace(particles=new, log_weights=smoothed, khat=khat, ess=ess)


def is_poor(state: State) -> Any:
    """Judge whether carried particles are to be moved."""
    return ~(state.khat <= khat_limit(state.log_weights.shape[-1]))


def is_trusted(khat: Any, ess: Any, effort: Effort) -> Any:
    """Judge whether the weights behind the particles are to be trusted."""
    # Written so that figures that are not numbers count as poor.
    return (khat <= khat_limit(effort.proposals * effort.particles)) & (ess >= effort.least_ess)


def weigh_proposals(
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
        is_trusted(khat, ess, effort),
        lambda: resample_state(moved, offset, effort.particles),
        lambda: weighed._replace(around=gaussian(state.particles.points, state.log_weights)),
    )


def resample_state(state: State, offset: Any, count: int, raw: Any = None) -> State:
    """Resample weighted particles, and fit the Gaussian that they move around."""
    particles, logs = state.particles, state.log_weights
    index = resample(offset, logs if raw is None else raw, count)
    return state._replace(
        particles=Particles(*(leaf[index] for leaf in particles)),
        log_weights=_equal_log_weights(particles, count),
        around=gaussian(particles.points, logs),
    )


def raise_temper(state: State, offset: Any, least_ess: float, count: int) -> State:
    """Reweight particles by the highest power of the likelihood that keeps an ESS; resample."""
    log_likelihood = state.particles.log_likelihood
    temper = next_temper(state.temper, state.log_weights, log_likelihood, least_ess)
    logs = state.log_weights + _log_power(temper - state.temper, log_likelihood)
    state = state._replace(temper=temper, log_weights=normalise(logs))
    return resample_state(state, offset, count, logs)


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


def _log_power(power: Any, log_likelihood: Any) -> Any:
    """Raise a likelihood to a power; the power of nothing is one even where it is zero."""
    xp = log_likelihood.__array_namespace__()
    safe = xp.where(power > 0, power, 1.0)
    return xp.where(power > 0, safe * log_likelihood, 0.0)


def _equal_log_weights(particles: Particles, count: int) -> Any:
    """Return log weights of draws that weigh alike."""
    xp = particles.points.__array_namespace__()
    return xp.full(count, -np.log(count), particles.points.dtype)

"""What a posterior and its labels say beyond the draws: the mode, and the evidence.

Both are of the density of the unconstrained parameters, and are computed when they are asked for.
"""

import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from cordial_ppl.data.labelled import pad
from cordial_ppl.errors import warn
from cordial_ppl.inference.diagnostics import PAPER_METHODS
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.importance import khat_limit, pareto_smooth, resample
from cordial_ppl.inference.laplace import Laplace, Mode, draw_around, find_modes
from cordial_ppl.inference.moves import Particles
from cordial_ppl.inference.proposals import fit_proposals, freedom_of, log_proposals
from cordial_ppl.inference.sampler import Problem, draw_proposals, generator, weigh
from cordial_ppl.inference.state import PRECISION, State, from_draws
from cordial_ppl.inference.target import convert_prior
from cordial_ppl.runtime.blas import on_one_core

EFFORT = DEFAULT_EFFORT._replace(proposals=32)
"""Four times the proposals of a fit halve the error of an evidence."""

if TYPE_CHECKING:
    from cordial_ppl.inference.posterior import Posterior


@on_one_core
def find_mode(posterior: "Posterior") -> Mode:
    """Find the highest mode of a posterior, and the Gaussian there, in units of the prior."""
    data = pad(posterior.data, posterior.histogram, np.float64)
    with jax.enable_x64(True):
        (mode,) = find_modes(posterior.target, posterior.replaced_prior, [data])
    return mode


@on_one_core
def estimate_log_evidence(posterior: "Posterior") -> float:
    """Estimate the log evidence of a posterior's channel; see ``Posterior.log_evidence``."""
    target, prior, effort = posterior.target, posterior.replaced_prior, EFFORT
    data, rng = pad(posterior.data, posterior.histogram, PRECISION), generator((0,))
    if posterior.diagnostics.method in PAPER_METHODS:
        points = draw_around(find_mode(posterior), rng, Laplace(effort.particles, 1.0))[0]
    else:
        with np.errstate(divide="ignore"):
            rows = resample(rng.random(), np.log(posterior.weights), effort.particles)
        points = (posterior.draws[rows] - prior.loc) / prior.scale
    problem = Problem(target, convert_prior(prior, PRECISION), data)
    points = points.astype(PRECISION)
    with jax.enable_x64(True):
        state = from_draws(Particles(points, *problem.evaluate(points, effort.particles)))
        state = weigh(problem, rng, effort, state)
        evidence, khat = _log_evidence(problem, rng, effort, state)
    if not khat <= khat_limit(effort.proposals * effort.particles):
        warn(
            f"the log evidence of channel {target.channel.name!r}, {evidence:.1f}, may be off by "
            f"tenths of a nat (k-hat {khat:.2f}). Ignore differences of this size."
        )
    return evidence


def _log_evidence(problem: Problem, rng: Any, effort: Effort, state: State) -> tuple[float, float]:
    r"""Estimate the log evidence from weighted points, half of them from the prior.

    .. math:: \log \frac{1}{2M} \sum_m \frac{p(w_m) L(w_m)}{q(w_m) / 2 + p(w_m) / 2}

    Half of the points are from the Student-t distributions q around the particles, drawn anew, and
    half from the prior, which bounds the weights where the posterior has flat tails.

    Returns:
        The estimate, nats, and k-hat of the weights, which are smoothed.
    """
    freedom = freedom_of(problem.target)
    students, *_ = draw_proposals(problem, effort, rng, state)
    points = np.concatenate([students, problem.draw_prior(rng, len(students))])
    log_prior, log_likelihood = problem.evaluate(points, effort.particles)
    size, units = problem.target.size, problem.prior.scale.astype(np.float64)
    # The prior is a density of the unconstrained parameters, proposals of those in its units.
    log_prior = log_prior + np.log(units).sum()
    constant = math.lgamma((freedom + size) / 2) - math.lgamma(freedom / 2)
    constant -= size / 2 * math.log(freedom * math.pi)
    log_student = log_proposals(fit_proposals(state), points, freedom) + constant - math.log(2)
    logs = log_prior + log_likelihood - np.logaddexp(log_student, log_prior) + math.log(2)
    smoothed, khat = pareto_smooth(logs)
    # All but the largest weights are only divided by their sum.
    middle = np.argsort(logs)[-len(logs) // 2]
    return float(logs[middle] - smoothed[middle] - math.log(len(logs))), float(khat)

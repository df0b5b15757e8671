"""What a posterior and its labels say beyond the draws: the mode, and the evidence.

Both are of the density of the unconstrained parameters, and are computed when they are asked for.
"""

from typing import TYPE_CHECKING

import jax
import numpy as np

from cordial_ppl.data.labelled import pad
from cordial_ppl.errors import warn
from cordial_ppl.inference.diagnostics import PAPER_METHODS
from cordial_ppl.inference.importance import khat_limit, resample
from cordial_ppl.inference.laplace import Laplace, Mode, draw_around, find_modes
from cordial_ppl.inference.moves import Particles
from cordial_ppl.inference.sampler import (
    DEFAULT_EFFORT,
    PRECISION,
    Problem,
    estimate_evidence,
    from_draws,
    generator,
    weigh,
)
from cordial_ppl.inference.target import Prior
from cordial_ppl.runtime.blas import on_one_core

EFFORT = DEFAULT_EFFORT._replace(proposals=32)
"""Four times the proposals of a fit halve the error of an evidence, and take .2 s."""

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
    single = Prior(*(np.asarray(part, PRECISION) for part in prior))
    data, rng = pad(posterior.data, posterior.histogram, PRECISION), generator((0,))
    if posterior.diagnostics.method in PAPER_METHODS:
        points = draw_around(find_mode(posterior), rng, Laplace(effort.particles, 1.0))[0]
    else:
        with np.errstate(divide="ignore"):
            rows = resample(rng.random(), np.log(posterior.weights), effort.particles)
        points = (posterior.draws[rows] - prior.loc) / prior.scale
    problem, points = Problem(target, single, data), points.astype(PRECISION)
    with jax.enable_x64(True):
        state = from_draws(Particles(points, *problem.evaluate(points, effort.particles)))
        state = weigh(problem, rng, effort, state)
        evidence, khat = estimate_evidence(problem, rng, effort, state)
    if not khat <= khat_limit(effort.proposals * effort.particles):
        warn(
            f"the log evidence of channel {target.channel.name!r}, {evidence:.1f}, may be off by "
            f"tenths of a nat (k-hat {khat:.2f}). Ignore differences of this size."
        )
    return evidence

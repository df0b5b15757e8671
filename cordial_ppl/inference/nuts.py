"""NUTS through NumPyro on the same log density: the reference that the fast methods answer to."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

from cordial_ppl.compilation import compiled
from cordial_ppl.inference.problem import Cloud, Problem
from cordial_ppl.inference.target import Target

CHAINS = 4
WARMUP = 1000
ACCEPTANCE = 0.9
LARGEST_RHAT = 1.05
STARTS = 64
FIELDS = {
    "diverging": "diverging",
    "acceptance_rate": "accept_prob",
    "energy": "energy",
    "n_steps": "num_steps",
}
"""What ArviZ calls NumPyro's figures of a transition."""


def sample_nuts(
    problem: Problem, key: jax.Array, *, draws: int = 2000, warmup: int = WARMUP
) -> Cloud:
    """Sample a posterior with the No-U-Turn sampler in whitened coordinates.

    Four chains begin at draws from the prior, which is wider than the posterior, so that R-hat can
    tell whether they found the same one; they run side by side (Hoffman and Gelman 2014, JMLR 15).
    Not for use inside ``jit``.

    Args:
        problem: what to fit.
        key: random key.
        draws: draws kept, over all chains.
        warmup: warm-up steps of each chain.

    Returns:
        Equally weighted draws; ``ess`` is the smallest over the parameters, and zero if the chains
        disagree (R-hat above 1.05).
    """
    kernel = NUTS(potential_fn=lambda w: -problem.log_density(w), target_accept_prob=ACCEPTANCE)
    sampler = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=-(-draws // CHAINS),
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )

    def run(key: jax.Array, starts: Array) -> tuple[Any, Any]:
        sampler.run(key, init_params=starts, extra_fields=tuple(FIELDS.values()))
        return sampler.get_samples(group_by_chain=True), sampler.get_extra_fields()

    start_key, run_key = jax.random.split(key)
    # NumPyro divides floats by integers, which a user's strict settings would forbid.
    with jax.numpy_dtype_promotion("standard"):
        # Within a program of ours, for NumPyro's own is compiled with other options.
        samples, figures = compiled(run)(run_key, scatter(problem, start_key))
    chains = np.asarray(samples)
    agree = np.max(split_gelman_rubin(chains)) <= LARGEST_RHAT
    ess = np.min(effective_sample_size(chains)) if agree else 0.0
    points = jnp.asarray(chains.reshape(-1, problem.target.size)[:draws])
    nothing = jnp.full((), jnp.nan, points.dtype)
    return Cloud(
        draws=problem.colour(points),
        log_weights=jnp.full(len(points), -np.log(len(points)), points.dtype),
        khat=nothing,
        ess=jnp.asarray(ess, points.dtype),
        acceptance=jnp.asarray(np.mean(figures["accept_prob"]), points.dtype),
        gradient_norm=nothing,
        repairs=jnp.zeros((), jnp.int32),
        # Like the draws: chain after chain.
        transitions={
            name: jnp.asarray(np.ravel(figures[field])[: len(points)])
            for name, field in FIELDS.items()
        },
    )


def scatter(problem: Problem, key: jax.Array) -> Float[Array, "chains P"]:
    """Whitened draws from the prior for the chains to begin at, where the density is positive."""
    # Only the default shares its program among targets.
    target = cast(Target, problem.target)
    flat = target.sample_prior(key, problem.prior, problem.readings, STARTS)
    points = problem.whiten(flat)
    prior, likelihood = problem.evaluate(points)
    # Sorting by whether the density is zero keeps the random order of the others.
    return points[jnp.argsort(~jnp.isfinite(prior + likelihood), stable=True)[:CHAINS]]

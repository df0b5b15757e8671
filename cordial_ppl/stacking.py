"""Stacking: how far each member of an ensemble is believed, from out-of-fold predictions.

The stack predicts the mixture `sum_m w_m p_m(z)`.  Its weights are those under which the labels
are likeliest, when every label is predicted by members that did not see it.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from cordial_ppl.arrays import FLOOR, AnyArray

MIN_LABELS = 8
"""With fewer labels weights would be chance: they are what their prior says."""

MAX_ROUNDS = 200


class _Round(NamedTuple):
    weights: Array
    gap: Array
    rounds: Array


def assign_folds(n: int, folds: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
    """Assign texts to folds at random, whatever their labels; sizes differ by at most one.

    Args:
        n: number of texts.
        folds: number of folds, at least one.
        rng: source of randomness.

    Returns:
        The fold of each text, 0..folds-1, int64 `[n]`.
    """
    return rng.permutation(np.arange(n, dtype=np.int64) % folds)


def prior_weights(prior_counts: Float[AnyArray, " M"]) -> Float[Array, " M"]:
    """Likeliest weights without a label, `a_m / sum_m a_m`; equal ones under a flat prior.

    Args:
        prior_counts: Dirichlet pseudo-counts `a` of the members, nonnegative.

    Returns:
        Weights `[M]` that sum to one.
    """
    counts = jnp.asarray(prior_counts)
    counts = jnp.where(jnp.sum(counts) > 0.0, counts, jnp.ones_like(counts))
    return counts / jnp.sum(counts)


def stack_weights(
    log_probs: Float[AnyArray, "n M"],
    mask: Bool[AnyArray, " n"],
    prior_counts: Float[AnyArray, " M"],
    floor: float = FLOOR,
    min_labels: int = MIN_LABELS,
    present: Bool[AnyArray, "n M"] | None = None,
) -> Float[Array, " M"]:
    """Mixture weights with the highest posterior under a `Dirichlet(1 + prior_counts)` prior.

    Maximises `sum_i log sum_m w_m p_m(z_i) + sum_m a_m log w_m` over the simplex, which is concave.
    An EM step is `w_m = (sum_i r_im + a_m) / (n + sum_m a_m)`, with `r_im` the share of member `m`
    in the mixture's probability of label `i`.  Each is followed by a Newton step, kept where it
    raises the posterior further: it never falls, and members that are much alike, which EM alone
    would tell apart in thousands of steps, take a dozen.  It ends when no weights could be likelier
    by more than rounding.

    A member that says nothing of a text is left out of its mixture, `sum_m w_m p_m / s_i`, where
    `s_i` is the sum of the other weights.  The step is then, up to a factor,
    `w_m = (sum_i r_im + a_m) / (sum_i [m present] / s_i + sum_m a_m)`, which never falls either:
    it replaces the convex `-log s_i` by its tangent.

    Args:
        log_probs: log probability that each member gave to the observed label out of fold, nats.
        mask: the texts that count.
        prior_counts: `a`, nonnegative: 0 for maximum likelihood, 1 for one label's worth a member.
        floor: the least probability that is believed.
        min_labels: fewer labels than this, or none, give the weights of the prior alone.
        present: which members say something of which text; by default all of all.

    Returns:
        Weights `[M]`, nonnegative, summing to one.

    Source:
        Dempster, Laird and Rubin (1977), "Maximum likelihood from incomplete data via the EM
        algorithm"; Hunter and Lange (2004), "A tutorial on MM algorithms".
    """
    log_probs = jnp.maximum(jnp.asarray(log_probs), math.log(floor))
    dtype, members = log_probs.dtype, log_probs.shape[1]
    prior = jnp.asarray(prior_counts, dtype)
    seen = jnp.asarray(mask).astype(dtype)
    there = None if present is None else jnp.asarray(present)
    if there is not None:
        spoken = jnp.any(there, axis=1, keepdims=True)
        seen, there = jnp.where(spoken[:, 0], seen, 0.0), there | ~spoken
        log_probs = jnp.where(there, log_probs, -jnp.inf)
        there = there.astype(dtype)
    # A row's scale moves no weight; one as the best member's keeps every mixture away from zero.
    probs = jnp.exp(log_probs - jnp.max(log_probs, axis=1, keepdims=True))
    total = jnp.sum(seen) + jnp.sum(prior)
    eps = jnp.finfo(dtype).eps
    least = eps**2
    # Where members are missing Newton's step is a rougher guess.
    most = MAX_ROUNDS if there is None else 10 * MAX_ROUNDS
    equal = jnp.full(members, 1.0 / members, dtype)

    def objective(weights: Array) -> Array:
        mixed = jnp.log(probs @ weights)
        if there is not None:
            mixed = mixed - jnp.log(there @ weights)
        return jnp.sum(seen * mixed) + jnp.sum(
            jnp.where(prior > 0.0, prior * jnp.log(weights), 0.0)
        )

    def pull(weights: Array) -> Array:
        """What the slopes are to equal: the slope of what the weights are scaled by."""
        if there is None:
            return total
        return jnp.maximum((seen / (there @ weights)) @ there + jnp.sum(prior), least)

    def update(weights: Array) -> Array:
        shares = weights * ((seen / (probs @ weights)) @ probs)
        if there is None:
            return (shares + prior) / jnp.maximum(total, 1.0)
        moved = (shares + prior) / pull(weights)
        return moved / jnp.maximum(jnp.sum(moved), least)

    def going(state: _Round) -> Array:
        return (state.gap > eps**0.75) & (state.rounds < most)

    def slopes(weights: Array) -> Array:
        """Slope of the log posterior; at its top it is `pull` for every weight above zero."""
        return (seen / (probs @ weights)) @ probs + prior / jnp.maximum(weights, least)

    def leap(weights: Array) -> Array:
        """Newton's step, as if the weights were free to have any sum; they may fall to 1 %."""
        excess = slopes(weights) - pull(weights)
        shares = probs / (probs @ weights)[:, None]
        # A member that loses is drawn to zero; the floor tells members that are alike apart.
        above = jnp.maximum(weights, least)
        slack = jnp.maximum(-excess, 0.0) + prior / above + total * eps**0.5
        bend = (seen[:, None] * shares).T @ shares + jnp.diag(slack / above)
        moved = weights + jnp.linalg.solve(bend, excess)
        moved = jnp.maximum(moved, jnp.maximum(0.01 * weights, least))
        return moved / jnp.sum(moved)

    def step(state: _Round) -> _Round:
        plain = update(state.weights)
        bold = leap(plain)
        weights = jnp.where(objective(bold) >= objective(plain), bold, plain)
        level = pull(weights) if there is not None else jnp.maximum(total, 1.0)
        gap = jnp.max(slopes(weights) / level) - 1.0
        return _Round(weights, gap, state.rounds + 1)

    start = _Round(equal, jnp.asarray(jnp.inf, dtype), jnp.zeros((), jnp.int32))
    weights = jax.lax.while_loop(going, step, start).weights
    weights = weights / jnp.sum(weights)
    return jnp.where(jnp.sum(seen) < max(min_labels, 1), prior_weights(prior), weights)

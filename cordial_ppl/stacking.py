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
"""With fewer labels weights would be chance: every member gets the same."""

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


def stack_weights(
    log_probs: Float[AnyArray, "n M"],
    mask: Bool[AnyArray, " n"],
    prior_counts: Float[AnyArray, " M"],
    floor: float = FLOOR,
    min_labels: int = MIN_LABELS,
) -> Float[Array, " M"]:
    """Mixture weights with the highest posterior under a `Dirichlet(1 + prior_counts)` prior.

    Maximises `sum_i log sum_m w_m p_m(z_i) + sum_m a_m log w_m` over the simplex, which is concave.
    An EM step is `w_m = (sum_i r_im + a_m) / (n + sum_m a_m)`, with `r_im` the share of member `m`
    in the mixture's probability of label `i`.  Each is followed by a Newton step, kept where it
    raises the posterior further: it never falls, and members that are much alike, which EM alone
    would tell apart in thousands of steps, take a dozen.  It ends when no weights could be likelier
    by more than rounding.

    Args:
        log_probs: log probability that each member gave to the observed label out of fold, nats.
        mask: the texts that count.
        prior_counts: `a`, nonnegative: 0 for maximum likelihood, 1 for one label's worth a member.
        floor: the least probability that is believed.
        min_labels: fewer labels than this, or none, give equal weights.

    Returns:
        Weights `[M]`, nonnegative, summing to one.

    Source:
        Dempster, Laird and Rubin (1977), "Maximum likelihood from incomplete data via the EM
        algorithm".
    """
    log_probs = jnp.maximum(jnp.asarray(log_probs), math.log(floor))
    dtype, members = log_probs.dtype, log_probs.shape[1]
    prior = jnp.asarray(prior_counts, dtype)
    seen = jnp.asarray(mask).astype(dtype)
    # A row's scale moves no weight; one as the best member's keeps every mixture away from zero.
    probs = jnp.exp(log_probs - jnp.max(log_probs, axis=1, keepdims=True))
    total = jnp.sum(seen) + jnp.sum(prior)
    eps = jnp.finfo(dtype).eps
    least = eps**2
    equal = jnp.full(members, 1.0 / members, dtype)

    def objective(weights: Array) -> Array:
        return jnp.sum(seen * jnp.log(probs @ weights)) + jnp.sum(
            jnp.where(prior > 0.0, prior * jnp.log(weights), 0.0)
        )

    def update(weights: Array) -> Array:
        shares = weights * ((seen / (probs @ weights)) @ probs)
        return (shares + prior) / jnp.maximum(total, 1.0)

    def going(state: _Round) -> Array:
        return (state.gap > eps**0.75) & (state.rounds < MAX_ROUNDS)

    def slopes(weights: Array) -> Array:
        """Slope of the log posterior; at its top it is `total` for every weight above zero."""
        return (seen / (probs @ weights)) @ probs + prior / jnp.maximum(weights, least)

    def leap(weights: Array) -> Array:
        """Newton's step, as if `total * sum_m w_m` were subtracted; weights may fall to 1 %."""
        excess = slopes(weights) - total
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
        gap = jnp.max(slopes(weights)) / jnp.maximum(total, 1.0) - 1.0
        return _Round(weights, gap, state.rounds + 1)

    start = _Round(equal, jnp.asarray(jnp.inf, dtype), jnp.zeros((), jnp.int32))
    weights = jax.lax.while_loop(going, step, start).weights
    weights = weights / jnp.sum(weights)
    return jnp.where(jnp.sum(seen) < max(min_labels, 1), equal, weights)

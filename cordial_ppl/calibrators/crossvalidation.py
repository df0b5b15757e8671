"""Cross-validation of a calibrator's setting, all settings and folds in one batched fit."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import FLOOR, AnyArray

FOLDS = 4


def spread_folds(labels: Int[AnyArray, " n"], folds: int = FOLDS) -> Int[Array, " n"]:
    """Assign the labelled texts to folds at random, whatever their labels.

    The fold of a text depends on how many labelled texts are and how many come before it, so that
    padding and hidden texts change nothing.  Sizes differ by at most one.

    Args:
        labels: positions `[n]` on the scale; -1 marks texts to ignore.
        folds: number of folds.

    Returns:
        The fold of each text, 0..folds-1, and -1 for a text to ignore.
    """
    seen = jnp.asarray(labels) >= 0
    rank = jnp.cumsum(seen, dtype=jnp.int32)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.key(0), rank)
    noise = jax.vmap(lambda key: jax.random.uniform(key, dtype=jnp.float32))(keys)
    order = jnp.argsort(jnp.where(seen, noise, jnp.inf))
    place = jnp.zeros_like(rank).at[order].set(jnp.arange(rank.shape[0], dtype=jnp.int32))
    return jnp.where(seen, place % folds, -1)


def cross_validate[Setting, Params](
    fit: Callable[[Array, Array, Setting], Params],
    log_probs: Callable[[Params, Array], AnyArray],
    logits: Float[AnyArray, "n *readers K"],
    labels: Int[AnyArray, " n"],
    grid: Setting,
) -> Params:
    """Fit with the setting that has the lowest log loss on texts that a fit has not seen.

    Minimises `sum_i -log max(p_(-fold(i))(z_i), FLOOR)` over the grid.  Every setting is fitted to
    all labels and to all but each fold in one batched call, of which the best is then taken.

    Args:
        fit: from logits, labels (-1: ignored) and one setting to parameters.
        log_probs: from parameters and logits to log probabilities `[n, K]`.
        logits: readings `[n, K]`, or `[n, R, K]` for R readers, nats.
        labels: positions `[n]` on the scale; -1 marks texts to ignore.
        grid: settings, arrays whose first axis counts them, from the weakest to the strongest.

    Returns:
        The parameters fitted to all labels with the best setting; of several settings that are as
        good the last, the strongest.
    """
    logits, labels = jnp.asarray(logits), jnp.asarray(labels)
    folds = spread_folds(labels)
    left_out = folds[None] == jnp.arange(-1, FOLDS, dtype=folds.dtype)[:, None]
    chosen = jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)

    # The first lane leaves out what has no label anyway: it sees them all.
    def lane(left_out: Array) -> tuple[Params, Array]:
        visible = jnp.where(left_out, -1, labels)

        def one(setting: Setting) -> tuple[Params, Array]:
            params = fit(logits, visible, setting)
            own = jnp.sum(chosen * log_probs(params, logits), axis=1)
            return params, -jnp.sum(jnp.where(left_out, jnp.maximum(own, math.log(FLOOR)), 0.0))

        return jax.vmap(one)(grid)

    params, losses = jax.vmap(lane)(left_out)
    total = jnp.sum(losses[1:], axis=0)
    least = jnp.min(total)
    good = total <= least + jnp.finfo(total.dtype).eps ** 0.6 * (1.0 + least)
    best = total.shape[0] - 1 - jnp.argmax(good[::-1])
    return jax.tree.map(lambda values: values[0, best], params)

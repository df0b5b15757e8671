"""Fitting a channel to many data sets of one shape in one call, as a sweep does."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from cordial_ppl.batching import at_once, mapped
from cordial_ppl.inference.fit import SAMPLERS, fit_lanes
from cordial_ppl.inference.folds import sample_lanes
from cordial_ppl.inference.lanes import LaneFit, Lanes, lane_fit
from cordial_ppl.inference.laplace import DRAWS, find_modes, starts
from cordial_ppl.inference.problem import Problem
from cordial_ppl.inference.sampler import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.readings import Readings

MODES_SHARE = 0.15
"""Share of the working memory that goes to second derivatives: the search itself keeps more."""


def fit_batch(
    target: Target,
    lanes: Lanes,
    keys: jax.Array,
    *,
    method: str = "default",
    prior: Prior | None = None,
    effort: Effort = DEFAULT_EFFORT,
) -> LaneFit:
    """Fit a channel to many data sets of one shape, as `fit_lanes` would one after the other.

    Args:
        target: the channel.
        lanes: the data, with one more axis in front of every array, shape ``[S, ...]``.
        keys: a random key for each data set.
        method: "default", "laplace", "mode" or "nuts".
        prior: location and scale that replace the channel's own; locations may be one for each
            data set, ``[S, P]``.
        effort: how much work the default does.

    Returns:
        The fits, with the same axis in front.
    """
    prior = target.prior if prior is None else prior
    locs, scale = np.broadcast_to(prior.loc, (len(keys), target.size)), prior.scale
    for loc in np.unique(locs, axis=0):
        target.check_prior(Prior(loc, scale))
    if method == "nuts":
        sets = (jax.tree.map(lambda leaf, s=s: leaf[s], lanes) for s in range(len(keys)))
        fits = [
            fit_lanes(target, own, key, method=method, prior=Prior(loc, scale))
            for own, key, loc in zip(sets, keys, locs, strict=True)
        ]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *fits)
    count, rows = lanes.labels.shape[1:]
    texts = rows * lanes.logits.shape[2]
    if method == "default":
        # Loops that depend on the data wait for the slowest: a CPU takes one data set at a time.
        alone = jax.default_backend() == "cpu"
        size = 1 if alone else at_once(4.0 * effort.particles * texts)
        return _default_fitter(target, effort, size)(scale, (lanes, keys, locs))
    # Second derivatives of every text's log likelihood, and what a search keeps of its path.
    width = at_once(8.0 * texts * (target.size + 1), MODES_SHARE)
    size = at_once(8.0 * count * len(starts(target)) * (2 * target.size**2 + 16 * target.size))
    batch = at_once(8.0 * count * DRAWS * texts)
    return _mode_fitter(target, method, size, width, batch)(scale, (lanes, keys, locs))


@lru_cache(maxsize=512)
def _default_fitter(target: Target, effort: Effort, size: int) -> Callable[..., LaneFit]:
    def one(scale: Array, own: tuple[Lanes, Array, Array]) -> LaneFit:
        lanes, key, loc = own
        return sample_lanes(target, lanes, Prior(loc, scale), key, effort)

    if size > 1:
        return mapped(jax.vmap(one, (None, 0)), size)

    def alone(scale: Array, own: tuple[Lanes, Array, Array]) -> LaneFit:
        found = one(scale, jax.tree.map(lambda leaf: leaf[0], own))
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], found)

    return mapped(alone, 1)


@lru_cache(maxsize=512)
def _mode_fitter(
    target: Target, method: str, size: int, width: int, batch: int
) -> Callable[..., LaneFit]:
    sample = SAMPLERS[method]

    def run(scale: Array, own: tuple[Lanes, Array, Array]) -> LaneFit:
        lanes, keys, locs = own
        sets, count, rows = lanes.labels.shape
        index = jnp.repeat(jnp.arange(sets), count)
        each = jax.vmap(partial(jax.random.split, num=count))(keys).reshape(sets * count)
        data = (
            index,
            lanes.labels.reshape(-1, rows),
            lanes.histograms.reshape(sets * count, -1),
        )

        def make(own: tuple[Array, Array, Array]) -> Problem:
            place, labels, histogram = own
            logits, covariates = jax.tree.map(
                lambda leaf: leaf[place], (lanes.logits, lanes.covariates)
            )
            prior = Prior(locs[place], scale)
            return Problem(target, prior, Readings(logits, histogram, covariates), labels)

        # Where the search begins depends on the scale alone.
        modes = find_modes(make, target, Prior(locs[0], scale), data, width)
        found = jax.tree.map(
            lambda leaf: leaf.reshape(sets, count, *leaf.shape[1:]), (data, each, modes)
        )

        def draw(own: Any) -> LaneFit:
            lanes, of_lanes = own
            clouds = jax.vmap(lambda data, key, mode: sample(make(data), key, mode))(*of_lanes)
            return lane_fit(target, lanes, clouds)

        return jax.lax.map(draw, (lanes, found), batch_size=batch)

    return mapped(run, size)

"""Fitting a channel by name of the method: one batched call for all labels and every fold of them.

``Lanes`` hold one data set and several sets of visible labels: the first lane sees all labels, the
others leave one fold out.  One compiled program a channel, method and bucket fits all lanes and
predicts every text from the lane that has not seen its label.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import bucket, pad_rows
from cordial_ppl.batching import at_once, mapped
from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled
from cordial_ppl.covariates import as_covariates
from cordial_ppl.errors import InputError
from cordial_ppl.inference.folds import carry
from cordial_ppl.inference.laplace import find_modes, sample_laplace, sample_mode, starts
from cordial_ppl.inference.nuts import sample_nuts
from cordial_ppl.inference.posterior import Posterior, diagnose
from cordial_ppl.inference.problem import CHUNK_ELEMENTS, Cloud, Problem, in_precision, predict
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.inference.tempering import (
    DEFAULT_EFFORT,
    Effort,
    sample_tempered,
)
from cordial_ppl.loading import load_channel
from cordial_ppl.readings import Readings, as_logits, label_histogram
from cordial_ppl.scale import Scale

METHODS = ("default", "laplace", "mode", "nuts")
SAMPLERS: dict[str, Callable[..., Cloud]] = {
    "default": sample_tempered,
    "laplace": sample_laplace,
    "mode": sample_mode,
}

MODES_SHARE = 0.25
"""Share of the working memory that goes to second derivatives: the search itself keeps more."""


class Lanes(NamedTuple):
    """One data set seen through several masks of its labels.

    Attributes:
        logits: centred logits, padded, shape ``[n, K]``.
        covariates: per-text covariates, padded, each of shape ``[n]``.
        labels: visible labels of each lane, -1 for the others, shape ``[L, n]``.
        histograms: smoothed histogram of each lane's labels, shape ``[L, K]``.
        lane: for each text, a lane that has not seen its label, shape ``[n]``; 0 without folds.
    """

    logits: Float[Any, "n K"]
    covariates: dict[str, Any]
    labels: Int[Any, "L n"]
    histograms: Float[Any, "L K"]
    lane: Int[Any, " n"]


def make_lanes(
    logits: Float[np.ndarray, "n K"],
    labels: Int[np.ndarray, " n"],
    folds: Int[np.ndarray, " n"] | None = None,
    covariates: dict[str, np.ndarray] | None = None,
    rows: int | None = None,
) -> Lanes:
    """Pad a data set to its bucket and mask its labels, once whole and once for each fold.

    Args:
        logits: centred logits.
        labels: options 0..K-1.
        folds: fold of each text, 0..F-1; None for a single lane.
        covariates: per-text covariates.
        rows: what to pad to; by default the bucket.

    Returns:
        ``1 + F`` lanes; a fold's histogram counts the labels that the fold sees.
    """
    size, count = logits.shape[1], len(labels)
    rows = bucket(count) if rows is None else rows
    lane = np.zeros(count, np.int64) if folds is None else folds + 1
    masks = [np.ones(count, bool)] + [lane != f for f in range(1, lane.max() + 1)]
    visible = [np.where(mask, labels, -1) for mask in masks]
    return Lanes(
        logits=pad_rows(logits, rows, 0.0),
        covariates={k: pad_rows(v, rows, 0.0) for k, v in (covariates or {}).items()},
        labels=np.stack([pad_rows(v, rows, -1) for v in visible]),
        histograms=np.stack([label_histogram(v, size) for v in visible]),
        lane=pad_rows(lane, rows, 0),
    )


class LaneFit(NamedTuple):
    """Posterior of the first lane, and each text's prediction from a lane that has not seen it."""

    cloud: Cloud
    held_out: Float[Array, "n K"]


def fit_lanes(
    target: Target,
    lanes: Lanes,
    key: jax.Array,
    *,
    method: str = "default",
    prior: Prior | None = None,
    effort: Effort = DEFAULT_EFFORT,
) -> LaneFit:
    """Fit a channel to every lane.  To be called where 64-bit numbers are enabled.

    The literal methods fit each lane afresh.  The default, and NUTS, fit the first lane and carry
    its draws over to the others.

    Args:
        target: the channel.
        lanes: the data.
        key: random key.
        method: "default", "laplace", "mode" or "nuts".
        prior: location and scale that replace the channel's own.
        effort: how much work the default does.
    """
    prior = target.prior if prior is None else target.check_prior(prior)
    if method == "nuts":
        problem = Problem(target, prior, _readings(lanes, 0), lanes.labels[0])
        own_key, fold_key = jax.random.split(key)
        return _carrier(target)(lanes, prior, sample_nuts(problem, own_key), fold_key)
    return _fitter(target, method, effort)(lanes, prior, key)


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
        prior: location and scale that replace the channel's own.
        effort: how much work the default does.

    Returns:
        The fits, with the same axis in front.
    """
    prior = target.prior if prior is None else target.check_prior(prior)
    if method == "nuts":
        settings = {"method": method, "prior": prior}
        sets = (jax.tree.map(lambda leaf, s=s: leaf[s], lanes) for s in range(len(keys)))
        fits = [
            fit_lanes(target, own, key, **settings) for own, key in zip(sets, keys, strict=True)
        ]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *fits)
    count, rows = lanes.labels.shape[1:]
    texts = rows * lanes.logits.shape[2]
    if method == "default":
        proposals = effort.proposals * effort.particles
        size = at_once(4.0 * proposals * min(texts, CHUNK_ELEMENTS // proposals))
        return _batch_fitter(target, effort, size)(prior, (lanes, keys))
    # Second derivatives of every text's log likelihood, and what a search keeps of its path.
    width = at_once(8.0 * texts * (target.size + 1), MODES_SHARE)
    size = at_once(8.0 * count * len(starts(target)) * (2 * target.size**2 + 16 * target.size))
    return _mode_fitter(target, method, size, width)(prior, (lanes, keys))


@lru_cache(maxsize=512)
def _batch_fitter(target: Target, effort: Effort, size: int) -> Callable[..., LaneFit]:
    run = _runner(target, "default", effort)
    return mapped(jax.vmap(lambda prior, own: run(own[0], prior, own[1]), (None, 0)), size)


@lru_cache(maxsize=512)
def _mode_fitter(target: Target, method: str, size: int, width: int) -> Callable[..., LaneFit]:
    sample = SAMPLERS[method]

    def run(prior: Prior, own: tuple[Lanes, Array]) -> LaneFit:
        lanes, keys = own
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
            return Problem(target, prior, Readings(logits, histogram, covariates), labels)

        modes = find_modes(make, target, prior, data, width)
        clouds = jax.vmap(lambda own, key, mode: sample(make(own), key, mode))(data, each, modes)
        split = jax.tree.map(lambda leaf: leaf.reshape(sets, count, *leaf.shape[1:]), clouds)
        return jax.vmap(partial(_own_and_rest, target))(lanes, split)

    return mapped(run, size)


def _own_and_rest(target: Target, lanes: Lanes, clouds: Cloud) -> LaneFit:
    """The first lane's posterior, and what the others say of the texts that they have not seen."""
    first = jax.tree.map(lambda leaf: leaf[0], clouds)
    rest = jax.tree.map(lambda leaf: leaf[1:], clouds)
    return LaneFit(first, _held_out(target, lanes, rest))


@lru_cache(maxsize=512)
def _fitter(target: Target, method: str, effort: Effort) -> Callable[..., LaneFit]:
    return compiled(_runner(target, method, effort))


def _runner(target: Target, method: str, effort: Effort) -> Callable[..., LaneFit]:
    def run(lanes: Lanes, prior: Prior, key: jax.Array) -> LaneFit:
        if method == "default":
            problem = Problem(target, prior, _readings(lanes, 0), lanes.labels[0])
            own_key, fold_key = jax.random.split(key)
            cloud = sample_tempered(problem, own_key, effort)
            return _carry(target, lanes, prior, cloud, fold_key)
        sample = SAMPLERS[method]
        keys = jax.random.split(key, lanes.labels.shape[0])

        def one(labels: Array, histogram: Array, key: jax.Array) -> Cloud:
            readings = Readings(lanes.logits, histogram, lanes.covariates)
            return sample(Problem(target, prior, readings, labels), key)

        clouds = jax.vmap(one)(lanes.labels, lanes.histograms, keys)
        return _own_and_rest(target, lanes, clouds)

    return run


@lru_cache(maxsize=512)
def _carrier(target: Target) -> Callable[..., LaneFit]:
    return compiled(partial(_carry, target))


def _carry(target: Target, lanes: Lanes, prior: Prior, cloud: Cloud, key: jax.Array) -> LaneFit:
    if lanes.labels.shape[0] == 1:
        return LaneFit(cloud, jnp.zeros_like(jnp.asarray(lanes.logits)))
    whole = Problem(target, prior, _readings(lanes, 0), lanes.labels[0])

    def one(fold: tuple[Array, Array, Array]) -> Cloud:
        labels, histogram, own_key = fold
        readings = Readings(lanes.logits, histogram, lanes.covariates)
        return carry(whole, cloud, Problem(target, prior, readings, labels), own_key)

    labels, histograms = jnp.asarray(lanes.labels)[1:], jnp.asarray(lanes.histograms)[1:]
    keys = jax.random.split(key, len(labels))
    # One after the other: only the folds that need it are moved.
    clouds = jax.lax.map(one, (labels, histograms, keys))
    held_out = _held_out(target, in_precision(lanes), in_precision(clouds))
    carried = cloud._replace(fold_khat=jnp.max(clouds.khat))
    return LaneFit(carried, held_out.astype(lanes.logits.dtype))


def _held_out(target: Target, lanes: Lanes, clouds: Cloud) -> Float[Array, "n K"]:
    """Predict each text from the lane that has not seen its label; zeros without folds."""
    if not clouds.draws.shape[0]:
        return jnp.zeros_like(jnp.asarray(lanes.logits))

    def one(histogram: Array, cloud: Cloud) -> Array:
        return predict(target, cloud, Readings(lanes.logits, histogram, lanes.covariates))

    probs = jax.vmap(one)(jnp.asarray(lanes.histograms)[1:], clouds)
    return probs[jnp.maximum(jnp.asarray(lanes.lane) - 1, 0), jnp.arange(probs.shape[1])]


def _readings(lanes: Lanes, lane: int) -> Readings:
    return Readings(lanes.logits, lanes.histograms[lane], lanes.covariates)


def as_posterior(channel: Channel, method: str, cloud: Cloud, lanes: Lanes) -> Posterior:
    """Take a fitted cloud out of JAX, with its diagnostics judged."""
    weights = np.exp(np.asarray(cloud.log_weights, np.float64))
    return Posterior(
        channel=channel,
        histogram=np.asarray(lanes.histograms[0], np.float64),
        draws=np.asarray(cloud.draws, np.float64),
        weights=weights / weights.sum(),
        diagnostics=diagnose(method, cloud),
        covariates=tuple(lanes.covariates),
    )


def fit_channel(
    channel: str | Channel,
    logits,
    labels,
    *,
    method: str = "default",
    prior: Prior | None = None,
    seed: int = 0,
    covariates: Mapping[str, Any] | None = None,
) -> Posterior:
    """Fit one channel to labelled readings.

    Args:
        channel: name, path of a channel file, or channel.
        logits: option logits, shape ``[n, K]``.
        labels: options 0..K-1, shape ``[n]``.
        method: "default", "laplace", "mode" or "nuts".
        prior: location and scale of the unconstrained parameters that replace the channel's own.
        seed: seed of the random numbers.
        covariates: per-text covariates that the channel uses, each of shape ``[n]``.

    Returns:
        The posterior; ``diagnostics.trusted`` says whether to believe it.

    Raises:
        InputError: the readings, labels or covariates are not usable, one that the channel uses is
            missing, or the method is unknown.
        ChannelError: the channel is unknown or breaks the contract.
    """
    if method not in METHODS:
        raise InputError(f"inference must be one of {', '.join(METHODS)}; got {method!r}.")
    chosen = load_channel(channel)
    readings = as_logits(logits)
    codes = Scale.default(readings.shape[1]).encode(labels)
    if len(codes) != len(readings):
        raise InputError(f"{len(readings)} rows of logits came with {len(codes)} labels.")
    extra = as_covariates(covariates, len(readings))
    lanes = make_lanes(readings, codes, covariates=extra)
    with jax.enable_x64(True):
        target = build_target(chosen, readings.shape[1], tuple(lanes.covariates))
        fitted = fit_lanes(target, lanes, jax.random.key(seed), method=method, prior=prior)
        return as_posterior(chosen, method, fitted.cloud, lanes)


def fit_laplace(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel as the paper does: `fit_channel` with ``method="laplace"``."""
    return fit_channel(channel, readings, labels, method="laplace", **settings)


def fit_nuts(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel by NUTS: `fit_channel` with ``method="nuts"``."""
    return fit_channel(channel, readings, labels, method="nuts", **settings)

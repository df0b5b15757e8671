"""Fitting a channel by name of the method: one call for all labels and every fold of them.

One compiled program fits all lanes of a bucket of rows and predicts every text from the lane that
has not seen its label: one a channel and method, and by the default one a family of channels.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from cordial_ppl.channel import Channel
from cordial_ppl.compilation import compiled
from cordial_ppl.covariates import as_covariates
from cordial_ppl.errors import InputError
from cordial_ppl.inference.family import OneOf
from cordial_ppl.inference.folds import carry_lanes, sample_lanes
from cordial_ppl.inference.lanes import Data, LaneFit, Lanes, lane_fit, make_lanes
from cordial_ppl.inference.laplace import find_modes, sample_laplace, sample_mode
from cordial_ppl.inference.nuts import sample_nuts
from cordial_ppl.inference.posterior import Posterior, diagnose
from cordial_ppl.inference.problem import Cloud, Problem
from cordial_ppl.inference.state import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.loading import load_channel
from cordial_ppl.readings import as_logits
from cordial_ppl.scale import Scale

METHODS = ("default", "laplace", "mode", "nuts")
SAMPLERS: dict[str, Callable[..., Cloud]] = {"laplace": sample_laplace, "mode": sample_mode}
"""The literal methods, which fit each lane afresh."""


def fit_lanes(
    target: Target,
    lanes: Lanes,
    key: jax.Array,
    *,
    method: str = "default",
    prior: Prior | None = None,
    effort: Effort = DEFAULT_EFFORT,
    family: tuple[Target, ...] = (),
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
        family: targets of the same size, this one among them, that the default is compiled for
            together; by default this one alone.
    """
    prior = target.prior if prior is None else target.check_prior(prior)
    if method == "default":
        family = family or (target,)
        index = np.int32(family.index(target))
        return _default_fitter(family, effort)(index, lanes, prior, key)
    if method != "nuts":
        return _mode_fitter(target, method)(lanes, prior, key)
    lanes = jax.tree.map(jnp.asarray, lanes)
    first = lanes.labels[0], lanes.histograms[0]
    problem = lanes.problem(target, prior, *first)
    own_key, fold_key = jax.random.split(key)
    cloud = sample_nuts(problem, own_key)
    return _carrier(target, effort)(lanes, prior, cloud, fold_key)


@lru_cache(maxsize=512)
def _default_fitter(family: tuple[Target, ...], effort: Effort) -> Callable[..., LaneFit]:
    def run(index: Array, lanes: Lanes, prior: Prior, key: jax.Array) -> LaneFit:
        return sample_lanes(OneOf(family, index), lanes, prior, key, effort)

    return compiled(run)


@lru_cache(maxsize=512)
def _mode_fitter(target: Target, method: str) -> Callable[..., LaneFit]:
    sample = SAMPLERS[method]

    def run(lanes: Lanes, prior: Prior, key: jax.Array) -> LaneFit:
        def make(own: tuple[Array, Array]) -> Problem:
            return lanes.problem(target, prior, *own)

        data = lanes.labels, lanes.histograms
        modes = find_modes(make, target, prior, data)
        keys = jax.random.split(key, lanes.labels.shape[0])
        clouds = jax.vmap(lambda own, *rest: sample(make(own), *rest))(data, keys, modes)
        return lane_fit(target, lanes, clouds)

    return compiled(run)


@lru_cache(maxsize=512)
def _carrier(target: Target, effort: Effort) -> Callable[..., LaneFit]:
    return compiled(partial(carry_lanes, target, effort=effort))


def as_posterior(
    channel: Channel, method: str, cloud: Cloud, lanes: Lanes, prior: Prior | None = None
) -> Posterior:
    """Take a fitted cloud out of JAX, with its diagnostics judged."""
    labelled = np.flatnonzero(np.asarray(lanes.labels[0]) >= 0)
    values = {name: np.asarray(column)[labelled] for name, column in lanes.covariates.items()}
    weights = np.exp(np.asarray(cloud.log_weights, np.float64))
    return Posterior(
        channel=channel,
        histogram=np.asarray(lanes.histograms[0], np.float64),
        draws=np.asarray(cloud.draws, np.float64),
        weights=weights / weights.sum(),
        diagnostics=diagnose(method, cloud),
        covariates=tuple(lanes.covariates),
        readers=lanes.logits.shape[1] if lanes.logits.ndim == 3 else None,
        prior=prior,
        data=Data(lanes.logits[labelled], lanes.labels[0][labelled], values),
        transitions={name: np.asarray(own) for name, own in cloud.transitions.items()},
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
        return as_posterior(chosen, method, fitted.cloud, lanes, prior)


def fit_laplace(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel as the paper does: `fit_channel` with ``method="laplace"``."""
    return fit_channel(channel, readings, labels, method="laplace", **settings)


def fit_nuts(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel by NUTS: `fit_channel` with ``method="nuts"``."""
    return fit_channel(channel, readings, labels, method="nuts", **settings)

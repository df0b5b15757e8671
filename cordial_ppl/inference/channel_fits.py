"""Fitting one channel to labelled readings, by the default, by Laplace or by NUTS."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.checks import check_names, check_number, check_seed
from cordial_ppl.data.labelled import label_readings
from cordial_ppl.data.readings import as_logits, as_logits_of_readers
from cordial_ppl.data.scale import Scale
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import METHODS, Method, fit_cases
from cordial_ppl.inference.laplace import PAPER, Laplace
from cordial_ppl.inference.nuts import DEFAULT, Nuts
from cordial_ppl.inference.posterior import Posterior, warn_if_doubtful
from cordial_ppl.inference.priors import as_priors, reading_spread, resolve
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.inference.used_covariates import keep_used
from cordial_ppl.runtime.progress import doing


def fit_channel(
    channel: str | Path | Channel,
    logits,
    labels,
    *,
    method: Method = "default",
    prior: Any = None,
    seed: int = 0,
    covariates: Mapping[str, Any] | None = None,
) -> Posterior:
    """Fit one channel to labelled readings.

    Args:
        channel: name of a channel, path of a channel file, or ``Channel``.
        logits: option logits, shape ``[n, K]``; for a channel of several judges ``[n, R, K]``, with
            NaN where a judge has not rated a text.
        labels: options 0..K-1, shape ``[n]``.
        method: "default", "laplace", "mode" or "nuts".
        prior: replaces the channel's own prior: location and scale of all unconstrained parameters
            or of some parameters by name, a learned prior, or the path of a prior file; see
            ``ChannelCalibrator``.
        seed: seed of the random numbers.
        covariates: per-text covariates that the channel uses, each of shape ``[n]``; covariates
            with levels, such as users, are whole numbers.

    Returns:
        The posterior; ``diagnostics.trusted`` shows whether it is reliable. If it is not, a warning
        is issued.

    Raises:
        InputError: the readings, labels, prior or covariates are invalid, a covariate is missing,
            or the method is unknown.
        ChannelError: the channel is unknown or breaks the contract.
    """
    check_names("method", [getattr(method, "name", method)], METHODS)
    chosen = load_channel(channel)
    readings = as_logits_of_readers(logits) if chosen.several else as_logits(logits)
    *readers, size = readings.shape[1:]
    scale, levels = Scale.default(size), count_levels(chosen)
    texts = label_readings(logits, readings, labels, scale, covariates, levels)
    texts = replace(texts, covariates=keep_used(texts.covariates, [chosen], readings))
    target = build_target(chosen, size, tuple(texts.covariates), *readers)
    pair = isinstance(prior, tuple | list | np.ndarray) and len(prior) == 2
    priors = as_priors(Prior(*prior) if pair else prior, [chosen.name])
    priors.check([target])
    source = resolve(priors.of(chosen.name), target, reading_spread(readings))
    case = Case(texts, seed=(check_seed(seed),), prior=source)
    with doing(f"fitting {chosen.name}"):
        posterior = fit_cases(target, [case], method=method)[0].fitted
    warn_if_doubtful(posterior)
    return posterior


def fit_laplace(
    channel: str | Path | Channel,
    readings,
    labels,
    *,
    draws: int = PAPER.draws,
    inflation: float = PAPER.inflation,
    df: float | None = None,
    **settings,
) -> Posterior:
    """Fit a channel by weighted draws around its mode; the defaults are those of the paper.

    Args:
        channel: name of a channel, path of a channel file, or ``Channel``.
        readings: option logits, as in `fit_channel`.
        labels: options 0..K-1, shape ``[n]``.
        draws: number of draws.
        inflation: factor on the standard deviations of the Laplace approximation.
        df: degrees of freedom of a Student-t distribution to draw from; None for a Gaussian.
        settings: ``prior``, ``seed`` and ``covariates``, as in `fit_channel`.
    """
    # Of one weight there is no tail to judge.
    draws = int(check_number("draws", draws, 2, whole=True))
    spread = check_number("inflation", inflation, 1e-3)
    method = Laplace(draws, spread, None if df is None else check_number("df", df, 1))
    return fit_channel(channel, readings, labels, method=method, **settings)


def fit_nuts(
    channel: str | Path | Channel,
    readings,
    labels,
    *,
    draws: int = DEFAULT.draws,
    chains: int = DEFAULT.chains,
    warmup: int = DEFAULT.warmup,
    **settings,
) -> Posterior:
    """Fit a channel by NUTS, the No-U-Turn sampler of NumPyro.

    Args:
        channel: name of a channel, path of a channel file, or ``Channel``.
        readings: option logits, as in `fit_channel`.
        labels: options 0..K-1, shape ``[n]``.
        draws: number of draws kept per chain.
        chains: number of chains.
        warmup: number of warm-up steps per chain.
        settings: ``prior``, ``seed`` and ``covariates``, as in `fit_channel`.
    """
    # R-hat halves each chain.
    counts = {"draws": (draws, 4), "chains": (chains, 1), "warmup": (warmup, 0)}
    method = Nuts(*(int(check_number(k, *each, whole=True)) for k, each in counts.items()))
    return fit_channel(channel, readings, labels, method=method, **settings)

"""Fitting a channel to labelled texts and to every fold of them, by name of the method.

A single fit is a batch of one.  A text's held-out prediction is by a posterior that has not seen
its label: the folds' posteriors are the first one's draws, carried over, or, by the literal
methods, fits of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import pad_rows
from cordial_ppl.channel import Channel
from cordial_ppl.covariates import as_covariates
from cordial_ppl.errors import InputError
from cordial_ppl.inference.cloud import Cloud
from cordial_ppl.inference.data import Data, Labelled, hold_out, on_cpu, pad
from cordial_ppl.inference.importance import resample
from cordial_ppl.inference.laplace import Gaussian, find_modes, sample_laplace
from cordial_ppl.inference.noise import Source
from cordial_ppl.inference.nuts import sample_nuts
from cordial_ppl.inference.posterior import LITERAL, Posterior, diagnose, precision
from cordial_ppl.inference.programs import predict
from cordial_ppl.inference.sampler import (
    DEFAULT_EFFORT,
    PRECISION,
    Effort,
    State,
    carry,
    sample,
    settle,
)
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.loading import load_channel
from cordial_ppl.readings import Readings, as_logits, as_logits_of_readers, label_histogram
from cordial_ppl.scale import Scale

Found = tuple[Cloud, list[Cloud]]
"""A posterior, and those without each fold."""

UNSEEN = 256
"""Draws of a fold's posterior that predict its texts."""

METHODS = ("default", "laplace", "mode", "nuts")


class Case(NamedTuple):
    """One data set to fit.

    Attributes:
        texts: the labelled texts.
        folds: fold of each text, 0..F-1; None to fit all labels alone.
        seed: numbers that all randomness follows from.
        prior: location and scale that replace the channel's own; None for these.
        pseudo_counts: of the label histogram, for each option or for all alike.
        histogram: in its place, whatever the labels are; None for theirs.
    """

    texts: Labelled
    folds: Int[np.ndarray, " n"] | None = None
    seed: tuple[int, ...] = (0,)
    prior: Prior | None = None
    pseudo_counts: Any = 1.0
    histogram: Float[np.ndarray, " K"] | None = None

    def shares(self, labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, " K"]:
        """Smoothed histogram of those labels that are seen."""
        if self.histogram is not None:
            return self.histogram
        size = self.texts.logits.shape[-1]
        return np.asarray(label_histogram(labels, size, None, self.pseudo_counts))

    @property
    def masks(self) -> list[Int[np.ndarray, " n"]]:
        """The labels without each fold in turn; none without folds."""
        return [] if self.folds is None else hold_out(self.texts.labels, self.folds)


class ChannelFit(NamedTuple):
    """A channel fitted to one case.

    Attributes:
        posterior: given all labels.
        held_out: probabilities of each text by a posterior without its fold; None without folds.
    """

    posterior: Posterior
    held_out: Float[np.ndarray, "n K"] | None


def fit_cases(
    target: Target,
    cases: Sequence[Case],
    *,
    method: str = "default",
    effort: Effort = DEFAULT_EFFORT,
) -> list[ChannelFit]:
    """Fit a channel to several data sets.

    Args:
        target: the channel.
        cases: the data sets, on an accelerator with equally many texts.
        method: "default", "laplace", "mode" or "nuts".
        effort: how much work the default does, and NUTS to carry its draws to the folds.
    """
    cases = [
        case._replace(prior=target.prior if case.prior is None else target.check_prior(case.prior))
        for case in cases
    ]
    with jax.enable_x64(True):
        if method in ("laplace", "mode"):
            clouds = _literal(target, cases, method)
        elif method == "nuts":
            clouds = [_nuts(target, case, effort) for case in cases]
        elif on_cpu():
            clouds = [_sampled(target, case, effort) for case in cases]
        else:
            clouds = _sampled_together(target, cases, effort)
        return [
            _fit(target, case, method, *found) for case, found in zip(cases, clouds, strict=True)
        ]


def _sampled(target: Target, case: Case, effort: Effort) -> Found:
    """The default posterior, and those of the folds."""
    rng, (prior, data) = _generator(case.seed), _arrays([(case, case.texts.labels)])
    state = sample(target, prior, data, rng, effort)
    found = case, _cloud(case, state, effort), state
    return _carried(target, *found, prior, data, rng, effort)


def _nuts(target: Target, case: Case, effort: Effort) -> Found:
    """The posterior by NUTS, and its draws carried over to the folds."""
    texts, (key,) = case.texts, _keys([case.seed])
    readings = Readings(texts.logits, case.shares(texts.labels), dict(texts.covariates))
    cloud = sample_nuts(target, case.prior, readings, texts.labels, key)
    if case.folds is None:
        return cloud, []
    prior, data = _arrays([(case, texts.labels)])
    loc, scale = cast(Prior, case.prior)
    points = (cloud.draws - loc) / scale
    some = np.linspace(0, len(points) - 1, effort.particles).astype(int)
    state = settle(target, prior, data, points[some].astype(PRECISION))
    return _carried(target, case, cloud, state, prior, data, _generator(case.seed), effort)


def _carried(
    target: Target,
    case: Case,
    cloud: Cloud,
    state: State,
    prior: Prior,
    data: Data,
    source: Source,
    effort: Effort,
) -> Found:
    """A posterior with those of the folds, to which its particles are carried over."""
    states = []
    for labels in case.masks:
        own = pad_rows(labels.astype(np.int32), len(data.labels), -1)
        fold = data._replace(labels=own, histogram=case.shares(labels).astype(PRECISION))
        states.append(carry(target, prior, fold, state, source, effort))
    return _with_folds(case, cloud, states, effort)


def _sampled_together(target: Target, cases: Sequence[Case], effort: Effort) -> list[Found]:
    """The same for many data sets, side by side on an accelerator."""
    source = _keys([case.seed for case in cases])
    whole = [(case, case.texts.labels) for case in cases]
    states = sample(target, *_arrays(whole), source, effort)
    clouds = [_cloud(case, own, effort) for case, own in zip(cases, _apart(states), strict=True)]
    folds = [(at, labels) for at, case in enumerate(cases) for labels in case.masks]
    if not folds:
        return [(cloud, []) for cloud in clouds]
    owners = np.array([at for at, _ in folds])
    start = jax.tree.map(lambda leaf: leaf[owners], states)
    source = _keys([(*cases[at].seed, place) for place, (at, _) in enumerate(folds)])
    arrays = _arrays([(cases[at], labels) for at, labels in folds])
    carried = _apart(carry(target, *arrays, start, source, effort))
    return [
        _with_folds(case, cloud, [carried[j] for j in np.flatnonzero(owners == at)], effort)
        for at, (case, cloud) in enumerate(zip(cases, clouds, strict=True))
    ]


def _literal(target: Target, cases: Sequence[Case], method: str) -> list[Found]:
    """The paper's own: each fold is fitted afresh."""
    jobs = [(case, labels) for case in cases for labels in (case.texts.labels, *case.masks)]
    data = [pad(case.texts, labels, case.shares(labels), np.float64) for case, labels in jobs]
    priors = [cast(Prior, case.prior) for case, _ in jobs]
    modes = find_modes(target, Prior(*map(np.stack, zip(*priors, strict=True))), data)
    rngs = {id(case): np.random.default_rng(case.seed) for case in cases}
    clouds = iter(
        [
            _at_mode(prior, mode)
            if method == "mode"
            else _laplace(target, prior, own, mode, rngs[id(case)])
            for (case, _), own, prior, mode in zip(jobs, data, priors, modes, strict=True)
        ]
    )
    return [(next(clouds), [next(clouds) for _ in case.masks]) for case in cases]


def _at_mode(prior: Prior, mode: Gaussian) -> Cloud:
    """All weight on the posterior mode."""
    draw = prior.loc + prior.scale * mode.mean
    return Cloud(draw[None], np.ones(1), ess=1.0, gradient_norm=mode.gradient_norm)


def _laplace(
    target: Target, prior: Prior, data: Data, mode: Gaussian, rng: np.random.Generator
) -> Cloud:
    """The paper's draws, with their weights."""
    found = sample_laplace(target, prior, data, mode, rng)
    return Cloud(
        draws=prior.loc + prior.scale * found.points,
        weights=np.exp(found.log_weights),
        khat=found.khat,
        ess=found.ess,
        weighed=len(found.points),
        gradient_norm=mode.gradient_norm,
    )


def _arrays(jobs: Sequence[tuple[Case, np.ndarray]]) -> tuple[Prior, Data]:
    """Prior and data on the device; of several jobs with one more axis in front."""
    each = [
        (
            Prior(*(np.asarray(part, PRECISION) for part in cast(Prior, case.prior))),
            pad(case.texts, labels, case.shares(labels), PRECISION),
        )
        for case, labels in jobs
    ]
    if on_cpu():
        return jax.device_put(each[0])
    prior, data = jax.tree.map(lambda *leaves: np.stack(leaves), *each)
    return jax.device_put((prior, data._replace(tiles=each[0][1].tiles)))


def _generator(seed: tuple[int, ...]) -> np.random.Generator:
    """A generator that is quick: random numbers are a good part of a fit."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))


def _keys(seeds: Sequence[tuple[int, ...]]) -> jax.Array:
    words = [np.random.SeedSequence(seed).generate_state(2) for seed in seeds]
    return jax.random.wrap_key_data(jnp.asarray(np.stack(words)), impl="threefry2x32")


def _apart(states: State) -> list[State]:
    states = jax.device_get(states)
    count = len(states.temper)
    return [jax.tree.map(lambda leaf, at=at: leaf[at], states) for at in range(count)]


def _cloud(case: Case, state: State, effort: Effort) -> Cloud:
    """What a state says of the posterior."""
    loc, scale = cast(Prior, case.prior)
    weights = np.exp(np.asarray(state.log_weights, np.float64))
    return Cloud(
        draws=loc + scale * np.asarray(state.particles.points, np.float64),
        weights=weights / weights.sum(),
        khat=float(state.khat),
        ess=float(state.ess),
        weighed=effort.proposals * effort.particles,
        acceptance=float(state.acceptance),
        repairs=max(int(state.rounds) - 1, 0),
    )


def _with_folds(case: Case, cloud: Cloud, states: Sequence[State], effort: Effort) -> Found:
    worst = max((float(state.khat) for state in states), default=float("nan"))
    return cloud._replace(fold_khat=worst), [_cloud(case, own, effort) for own in states]


def _fit(
    target: Target, case: Case, method: str, cloud: Cloud, folds: Sequence[Cloud]
) -> ChannelFit:
    """A fit as its users see it, with its diagnostics judged and its held-out predictions."""
    texts, own = case.texts, case.prior
    posterior = Posterior(
        channel=target.channel,
        histogram=case.shares(texts.labels),
        draws=cloud.draws,
        weights=cloud.weights,
        diagnostics=diagnose(method, cloud),
        covariates=tuple(texts.covariates),
        readers=texts.logits.shape[1] if texts.logits.ndim == 3 else None,
        prior=None if own is target.prior else own,
        data=texts,
        transitions=cloud.transitions,
    )
    if case.folds is None:
        return ChannelFit(posterior, None)
    held_out, kind = np.empty((len(texts.labels), target.options)), precision(method)
    for fold, (labels, found) in enumerate(zip(case.masks, folds, strict=True)):
        rows = case.folds == fold
        unseen = {name: column[rows].astype(kind) for name, column in texts.covariates.items()}
        readings = Readings(texts.logits[rows].astype(kind), case.shares(labels), unseen)
        draws, weights = found.draws, found.weights
        if method not in LITERAL:
            some = resample(0.5, np.log(weights), UNSEEN)
            draws, weights = draws[some], np.full(UNSEEN, 1 / UNSEEN)
        probs = predict(target, draws, weights, readings)[0].astype(np.float64)
        held_out[rows] = probs / probs.sum(axis=1, keepdims=True)
    return ChannelFit(posterior, held_out)


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
        logits: option logits, shape ``[n, K]``; for a channel of several readers ``[n, R, K]``,
            with NaN for the options of a reader that has not read a text.
        labels: options 0..K-1, shape ``[n]``.
        method: "default", "laplace", "mode" or "nuts".
        prior: location and scale of the unconstrained parameters that replace the channel's own.
        seed: seed of the random numbers.
        covariates: per-text covariates that the channel uses, each of shape ``[n]``; those that it
            has levels of, such as users, are whole numbers.

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
    readings = as_logits_of_readers(logits) if chosen.several else as_logits(logits)
    *readers, size = readings.shape[1:]
    codes = Scale.default(size).encode(labels)
    if len(codes) != len(readings):
        raise InputError(f"{len(readings)} rows of logits came with {len(codes)} labels.")
    extra = as_covariates(covariates, len(readings), levels=chosen.levels)
    with jax.enable_x64(True):
        target = build_target(chosen, size, tuple(extra), *readers)
    case = Case(Labelled(readings, codes, extra), seed=(seed,), prior=prior)
    return fit_cases(target, [case], method=method)[0].posterior


def fit_laplace(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel as the paper does: `fit_channel` with ``method="laplace"``."""
    return fit_channel(channel, readings, labels, method="laplace", **settings)


def fit_nuts(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel by NUTS: `fit_channel` with ``method="nuts"``."""
    return fit_channel(channel, readings, labels, method="nuts", **settings)

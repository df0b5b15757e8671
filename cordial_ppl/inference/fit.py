"""Fitting a channel to labelled texts and to every fold of them, by name of the method.

A single fit is a batch of one.  A text's held-out prediction is by a posterior that has not seen
its label: the folds' posteriors are the first one's draws, carried over, or, by the literal
methods, fits of their own.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.channels.channel import Channel, count_levels
from cordial_ppl.channels.loading import load_channel
from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.labelled import Labelled, hold_out, pad
from cordial_ppl.data.readings import Readings, as_logits, as_logits_of_readers, label_histogram
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.inference.draws import NOTHING, Draws, diagnose
from cordial_ppl.inference.importance import (
    effective_sample_size,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.laplace import Weighted, find_modes, sample_laplace
from cordial_ppl.inference.moves import Particles
from cordial_ppl.inference.nuts import sample_nuts
from cordial_ppl.inference.posterior import PAPER_METHODS, Posterior, precision
from cordial_ppl.inference.programs import DRAWS, predict_folds
from cordial_ppl.inference.sampler import (
    DEFAULT_EFFORT,
    PRECISION,
    Effort,
    Problem,
    State,
    carry,
    from_draws,
    sample,
)
from cordial_ppl.inference.target import Prior, Target, build_target
from cordial_ppl.runtime.arrays import pad_rows
from cordial_ppl.runtime.progress import doing

FoldDraws = tuple[Draws, list[Draws]]
"""A posterior, and those without each fold."""

METHODS = ("default", "laplace", "mode", "nuts")


class Case(NamedTuple):
    """One data set to fit.

    Attributes:
        texts: the labelled texts.
        folds: fold of each label, 0..F-1, the same for those of a text; None to fit all labels
            alone.
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
        return label_histogram(labels, size, self.pseudo_counts, self.texts.weights)

    @property
    def masks(self) -> list[Int[np.ndarray, " n"]]:
        """The labels without each fold in turn; none without folds."""
        return [] if self.folds is None else hold_out(self.texts.labels, self.folds)


class Fit(NamedTuple):
    """A channel, or another member of a stack, fitted to one data set.

    Attributes:
        fitted: the fit to all labels; of a channel its posterior.
        held_out: probabilities of each text by a fit without its fold; None without folds.
    """

    fitted: Any
    held_out: Float[np.ndarray, "n K"] | None


def fit_cases(
    target: Target,
    cases: Sequence[Case],
    *,
    method: str = "default",
    effort: Effort = DEFAULT_EFFORT,
) -> list[Fit]:
    """Fit a channel to several data sets.

    Args:
        target: the channel.
        cases: the data sets, with equally many texts on an accelerator or by a literal method.
        method: "default", "laplace", "mode" or "nuts".
        effort: how much work the default does, and NUTS to carry its draws to the folds.
    """
    cases = [
        case._replace(prior=target.prior if case.prior is None else target.check_prior(case.prior))
        for case in cases
    ]
    run = {"default": _default, "nuts": _nuts}.get(method, partial(_literal, method=method))
    with jax.enable_x64(True):
        pairs = zip(cases, run(target, cases, effort), strict=True)
        return [_fit(target, case, method, *posteriors) for case, posteriors in pairs]


def _default(target: Target, cases: Sequence[Case], effort: Effort) -> list[FoldDraws]:
    """The default posteriors, and those of the folds."""
    states = [sample(_problem(target, case), case.seed, effort) for case in cases]
    wholes = [_as_draws(case, state, effort) for case, state in zip(cases, states, strict=True)]
    return _carried(target, cases, wholes, states, effort)


def _nuts(target: Target, cases: Sequence[Case], effort: Effort) -> list[FoldDraws]:
    """Posteriors by NUTS, and their draws carried over to the folds."""
    wholes, states = [], []
    for case in cases:
        texts, word = case.texts, np.random.SeedSequence(case.seed).generate_state(1)[0]
        readings = Readings(texts.logits, case.shares(texts.labels), dict(texts.covariates))
        key, weights = jax.random.key(word), texts.weights
        wholes.append(sample_nuts(target, case.prior, readings, texts.labels, key, weights=weights))
        points = _whiten(wholes[-1].draws, cast(Prior, case.prior))
        some = np.linspace(0, len(points) - 1, effort.particles).astype(int)
        chosen = points[some]
        logs = _problem(target, case).evaluate(chosen, effort.particles)
        states.append(from_draws(Particles(chosen, *logs)))
    return _carried(target, cases, wholes, states, effort)


def _carried(
    target: Target,
    cases: Sequence[Case],
    wholes: Sequence[Draws],
    states: Sequence[State],
    effort: Effort,
) -> list[FoldDraws]:
    """Posteriors with those of the folds, to which their particles are carried over."""
    posteriors = []
    for case, draws, state in zip(cases, wholes, states, strict=True):
        folds: list[Draws] = []
        if case.masks:
            seeds = [(*case.seed, 1 + fold) for fold in range(len(case.masks))]
            without = carry(_problem(target, case, case.masks), seeds, state, effort)
            folds = [_as_draws(case, fold, effort) for fold in without]
            worst = max(fold.diagnostics.khat for fold in folds)
            draws = draws._replace(diagnostics=draws.diagnostics._replace(fold_khat=worst))
        posteriors.append((draws, folds))
    return posteriors


def _literal(target: Target, cases: Sequence[Case], effort: Effort, method: str) -> list[FoldDraws]:
    """The paper's methods: each fold is fitted afresh."""
    del effort
    jobs = [(case, labels) for case in cases for labels in (case.texts.labels, *case.masks)]
    data = [pad(case.texts, labels, case.shares(labels), np.float64) for case, labels in jobs]
    prior = Prior(*map(np.stack, zip(*(cast(Prior, case.prior) for case, _ in jobs), strict=True)))
    modes = find_modes(target, prior, data)
    if not all(np.isfinite(mode.log_density) for mode in modes):
        raise InputError(
            f"the density of channel {target.channel.name!r} is zero wherever the search for its "
            "mode begins: look at its prior, or use the default inference."
        )
    if method == "mode":
        points = prior.loc + prior.scale * np.stack([mode.mean for mode in modes])
        drawn = [Weighted(point[None], np.zeros(1), None) for point in points]
    else:
        rngs = {id(case): np.random.default_rng(case.seed) for case in cases}
        drawn = sample_laplace(target, prior, data, modes, [rngs[id(case)] for case, _ in jobs])
    turn = zip(modes, drawn, strict=True)

    def judge(with_all: bool) -> Draws:
        """Self-normalised, unsmoothed weights, and what those of all labels are worth."""
        mode, (draws, logs, probs) = next(turn)
        khat = float(pareto_smooth(logs)[1]) if with_all and method == "laplace" else NOTHING
        figures = {"ess": float(effective_sample_size(logs)), "gradient_norm": mode.gradient_norm}
        judged = diagnose(method, draws, weighed=len(draws), khat=khat, **figures)
        return Draws(draws, np.exp(normalise(logs)), judged, probs)

    return [(judge(True), [judge(False) for _ in case.masks]) for case in cases]


def _whiten(draws: Float[np.ndarray, "S P"], prior: Prior) -> Float[np.ndarray, "S P"]:
    """Draws in units of a prior."""
    return ((draws - prior.loc) / prior.scale).astype(PRECISION)


def _problem(
    target: Target, case: Case, masks: Sequence[Int[np.ndarray, " n"]] | None = None
) -> Problem:
    """A case as it is sampled, with all of its labels, or with several sets of those seen."""
    prior = Prior(*(np.asarray(part, PRECISION) for part in cast(Prior, case.prior)))
    data = pad(case.texts, case.texts.labels, case.shares(case.texts.labels), PRECISION)
    if masks is not None:
        rows = len(data.labels)
        labels = np.stack([pad_rows(mask.astype(np.int32), rows, -1) for mask in masks])
        shares = np.stack([case.shares(mask).astype(PRECISION) for mask in masks])
        data = data._replace(labels=labels, histogram=shares)
    return Problem(target, prior, data)


def _as_draws(case: Case, state: State, effort: Effort) -> Draws:
    """What a state says of the posterior."""
    loc, scale = cast(Prior, case.prior)
    weights = np.exp(np.asarray(state.log_weights, np.float64))
    draws = loc + scale * np.asarray(state.particles.points, np.float64)
    judged = diagnose(
        "default",
        draws,
        weighed=effort.proposals * effort.particles,
        khat=float(state.khat),
        ess=float(state.ess),
        acceptance=float(state.acceptance),
        repairs=max(int(state.rounds) - 1, 0),
    )
    return Draws(draws, weights / weights.sum(), judged)


def _fit(target: Target, case: Case, method: str, draws: Draws, folds: Sequence[Draws]) -> Fit:
    """A fit as its users see it, with its diagnostics judged and its held-out predictions."""
    texts, prior = case.texts, case.prior
    posterior = Posterior(
        channel=target.channel,
        histogram=case.shares(texts.labels),
        draws=draws.draws,
        weights=draws.weights,
        diagnostics=draws.diagnostics,
        covariates=tuple(texts.covariates),
        readers=texts.logits.shape[1] if texts.logits.ndim == 3 else None,
        prior=None if prior is target.prior else prior,
        data=texts,
        transitions=draws.transitions,
    )
    if case.folds is None:
        return Fit(posterior, None)
    return Fit(posterior, _predict_held_out(target, case, method, folds))


def _predict_held_out(
    target: Target, case: Case, method: str, folds: Sequence[Draws]
) -> Float[np.ndarray, "n K"]:
    """Probabilities of each text by the posterior that has not seen it."""
    texts, index, kind = case.texts, cast(np.ndarray, case.folds), precision(method)
    if all(fold.probs is not None for fold in folds):
        probs = np.stack([cast(np.ndarray, fold.probs)[: len(index)] for fold in folds])
        held_out = probs[index, np.arange(len(index))]
        return held_out / held_out.sum(axis=1, keepdims=True)
    if method in PAPER_METHODS:
        draws = [fold.draws for fold in folds]
    else:
        with np.errstate(divide="ignore"):
            draws = [fold.draws[resample(0.5, np.log(fold.weights), DRAWS)] for fold in folds]
    shares = np.stack([case.shares(labels) for labels in case.masks]).astype(kind)
    extra = {name: column.astype(kind) for name, column in texts.covariates.items()}
    readings = Readings(texts.logits.astype(kind), shares[0], extra)
    return predict_folds(target, np.stack(draws), shares, readings, index)


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
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number from 0 up; got {seed!r}.")
    chosen = load_channel(channel)
    readings = as_logits_of_readers(logits) if chosen.several else as_logits(logits)
    *readers, size = readings.shape[1:]
    codes = Scale.default(size).encode(labels)
    if len(codes) != len(readings):
        raise InputError(f"{len(readings)} rows of logits came with {len(codes)} labels.")
    extra = as_covariates(covariates, len(readings), levels=count_levels(chosen))
    with jax.enable_x64(True):
        target = build_target(chosen, size, tuple(extra), *readers)
    case = Case(Labelled(readings, codes, extra), seed=(seed,), prior=prior)
    with doing(f"fitting {chosen.name}"):
        return fit_cases(target, [case], method=method)[0].fitted


def fit_laplace(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel as the paper does: `fit_channel` with ``method="laplace"``."""
    return fit_channel(channel, readings, labels, method="laplace", **settings)


def fit_nuts(channel: str | Channel, readings, labels, **settings) -> Posterior:
    """Fit a channel by NUTS: `fit_channel` with ``method="nuts"``."""
    return fit_channel(channel, readings, labels, method="nuts", **settings)

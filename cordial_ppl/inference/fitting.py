"""Fitting a channel to labelled texts and to every fold of them, by name of the method.

A text's held-out prediction is by a posterior that has not seen its label: the folds' posteriors
are the first one's draws, carried over, or, by the literal methods, fits of their own.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.coreset import build_coreset
from cordial_ppl.data.readings import Readings
from cordial_ppl.errors import InputError
from cordial_ppl.inference.case import Case, CaseFit
from cordial_ppl.inference.diagnostics import NOTHING, PAPER_METHODS, Draws, diagnose, precision
from cordial_ppl.inference.effort import DEFAULT_EFFORT, Effort
from cordial_ppl.inference.importance import (
    effective_sample_size,
    normalise,
    pareto_smooth,
    resample,
)
from cordial_ppl.inference.laplace import PAPER, Laplace, Mode, find_modes, sample_laplace
from cordial_ppl.inference.moves import Particles
from cordial_ppl.inference.nuts import DEFAULT, Nuts, sample_nuts
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.predictions import DRAWS, predict
from cordial_ppl.inference.sampler import Problem, carry, extend, generator, sample
from cordial_ppl.inference.state import PRECISION, State, from_draws
from cordial_ppl.inference.target import Prior, Target, check_gradient, convert_prior
from cordial_ppl.runtime.arrays import pad_rows
from cordial_ppl.runtime.blas import on_one_core

METHODS = ("default", "laplace", "mode", "nuts")

Method = str | Laplace | Nuts
"""A method of inference by its name, or with settings of its own."""

FoldDraws = tuple[Draws, list[Draws]]
"""A posterior, and those without each fold."""


@on_one_core
def fit_cases(
    target: Target,
    cases: Sequence[Case],
    *,
    method: Method = "default",
    effort: Effort = DEFAULT_EFFORT,
) -> list[CaseFit]:
    """Fit a channel to several data sets.

    Args:
        target: the channel.
        cases: the data sets.
        method: "default", "laplace", "mode" or "nuts", or a record of settings of one of these.
        effort: how much work the default does, and NUTS to carry its draws to the folds.
    """
    chosen: Method = next((each for each in (PAPER, DEFAULT) if each.name == method), method)
    name = method if isinstance(method, str) else method.name
    with jax.enable_x64(True):
        return [_fit(target, case.seen_by(name), chosen, effort) for case in cases]


def _fit(target: Target, case: Case, method: Method, effort: Effort) -> CaseFit:
    """Fit one data set."""
    prior, whole, (case, rows) = choose_prior(target, case), case, case.merge()
    if isinstance(method, Nuts):
        sampled, folds = _sample_nuts(target, prior, case, effort, method)
    elif method == "default":
        sampled, folds = sample_default(target, prior, case, effort)
    else:
        sampled, folds = _fit_literal(target, prior, case, method)
    posterior = make_posterior(target, whole, sampled)
    if case.folds is None:
        return CaseFit(posterior, None)
    return CaseFit(posterior, _predict_held_out(target, case, case.folds, folds)[rows])


def choose_prior(target: Target, case: Case) -> Prior:
    """Return the prior of a data set: its own, checked, or the channel's."""
    return target.prior if case.prior is None else target.check_prior(case.prior)


def make_posterior(target: Target, case: Case, sampled: Draws) -> Posterior:
    """Make the posterior of a data set from its draws."""
    return Posterior(
        channel=target.channel,
        histogram=case.histogram_of(case.texts.labels),
        draws=sampled.draws,
        weights=sampled.weights,
        diagnostics=sampled.diagnostics,
        data=case.texts,
        prior=None if case.prior is None else choose_prior(target, case),
        transitions=sampled.transitions,
    )


def sample_default(target: Target, prior: Prior, case: Case, effort: Effort) -> FoldDraws:
    """Sample the default posterior, and those of the folds."""
    problem, rng = _problem(target, prior, case), generator(case.seed)
    if (few := build_coreset(case.texts)) is case.texts:
        state = sample(problem, rng, effort)
    else:
        state = sample(_problem(target, prior, case._replace(texts=few)), rng, effort)
        state = extend(problem, rng, effort, state)
    return _carry_to_folds(problem, case, as_draws(prior, state, effort), state, prior, effort)


def _sample_nuts(
    target: Target, prior: Prior, case: Case, effort: Effort, method: Nuts
) -> FoldDraws:
    """Sample the posterior by NUTS, and carry its draws over to the folds."""
    texts, seed = case.texts, np.random.SeedSequence(case.seed).generate_state(1)[0]
    histogram, key = case.histogram_of(texts.labels), jax.random.key(seed)
    sampled = sample_nuts(target, prior, texts, histogram, key, method)
    if sampled.diagnostics.divergences == len(sampled.draws):
        check_gradient(target)
    rows = np.linspace(0, len(sampled.draws) - 1, effort.particles).astype(int)
    points = ((sampled.draws[rows] - prior.loc) / prior.scale).astype(PRECISION)
    problem = _problem(target, prior, case)
    state = from_draws(Particles(points, *problem.evaluate(points, effort.particles)))
    return _carry_to_folds(problem, case, sampled, state, prior, effort)


def _carry_to_folds(
    problem: Problem, case: Case, sampled: Draws, state: State, prior: Prior, effort: Effort
) -> FoldDraws:
    """Carry the particles of a posterior over to the folds."""
    if not (masks := case.masks):
        return sampled, []
    seeds, rows = [(*case.seed, 1 + f) for f in range(len(masks))], len(problem.data.labels)
    labels = np.array([pad_rows(mask, rows, -1) for mask in masks], np.int32)
    shares = np.array([case.histogram_of(mask) for mask in masks], PRECISION)
    masked = replace(problem, data=problem.data._replace(labels=labels, histogram=shares))
    folds = [as_draws(prior, fold, effort) for fold in carry(masked, seeds, state, effort)]
    worst = max(fold.diagnostics.khat for fold in folds)
    return sampled._replace(diagnostics=sampled.diagnostics._replace(fold_khat=worst)), folds


def _problem(target: Target, prior: Prior, case: Case) -> Problem:
    """Make the problem to sample of a case, with all of its labels."""
    return Problem(target, convert_prior(prior, PRECISION), case.pad(PRECISION))


def as_draws(prior: Prior, state: State, effort: Effort) -> Draws:
    """Turn particles into draws, and diagnose them."""
    weights = np.exp(np.asarray(state.log_weights, np.float64))
    draws = prior.loc + prior.scale * np.asarray(state.particles.points, np.float64)
    diagnostics = diagnose(
        "default",
        draws,
        weighed=effort.proposals * effort.particles,
        khat=float(state.khat),
        ess=float(state.ess),
        acceptance=float(state.acceptance),
        repairs=max(int(state.rounds) - 1, 0),
    )
    return Draws(draws, weights / weights.sum(), diagnostics)


def _fit_literal(target: Target, prior: Prior, case: Case, method: Method) -> FoldDraws:
    """Fit by a method of the paper all labels and each fold afresh."""
    data = [case.pad(np.float64, labels) for labels in (None, *case.masks)]
    modes = find_modes(target, prior, data)
    check_modes(target, modes)
    rng, posteriors = np.random.default_rng(case.seed), []
    for seen, mode in zip(data, modes, strict=True):
        if isinstance(method, Laplace):
            drawn = sample_laplace(target, prior, seen, mode, rng, method)
            posteriors.append(weigh_literal("laplace", mode, *drawn))
        else:
            point = prior.loc + prior.scale * mode.mean[None]
            posteriors.append(weigh_literal("mode", mode, point, np.zeros(1)))
    return posteriors[0], posteriors[1:]


def check_modes(target: Target, modes: Sequence[Mode]) -> None:
    """Refuse a channel whose density is zero at every start of a search."""
    if not all(np.isfinite(mode.log_density) for mode in modes):
        check_gradient(target)
        raise InputError(
            f"the density of channel {target.channel.name!r} is zero at every starting point of "
            "the search for the mode. Check the prior, or use the default inference."
        )


def weigh_literal(
    method: str,
    mode: Mode,
    draws: Float[np.ndarray, "S P"],
    logs: Float[np.ndarray, " S"],
    probs: Float[np.ndarray, "rows K"] | None = None,
) -> Draws:
    """Weigh draws around a mode: self-normalised, unsmoothed."""
    khat = float(pareto_smooth(logs)[1]) if method == "laplace" else NOTHING
    figures = {"ess": float(effective_sample_size(logs)), "gradient_norm": mode.gradient_norm}
    diagnostics = diagnose(method, draws, weighed=len(draws), khat=khat, **figures)
    return Draws(draws, np.exp(normalise(logs)), diagnostics, probs)


def _predict_held_out(
    target: Target, case: Case, folds: Int[np.ndarray, " n"], posteriors: Sequence[Draws]
) -> Float[np.ndarray, "n K"]:
    """Predict each text by the posterior that has not seen it."""
    texts, dtype = case.texts, precision(posteriors[0].diagnostics.method)
    probs = np.empty((len(folds), texts.logits.shape[-1]))
    for fold, (labels, posterior) in enumerate(zip(case.masks, posteriors, strict=True)):
        rows, draws, weights = folds == fold, posterior.draws, posterior.weights
        if posterior.probs is not None:
            probs[rows] = posterior.probs[: len(folds)][rows]
            probs[rows] /= probs[rows].sum(axis=1, keepdims=True)
            continue
        if posterior.diagnostics.method not in PAPER_METHODS:
            with np.errstate(divide="ignore"):
                draws = draws[resample(0.5, np.log(weights), DRAWS)]
            weights = np.full(DRAWS, 1 / DRAWS)
        extra = {name: column[rows].astype(dtype) for name, column in texts.covariates.items()}
        readings = Readings(texts.logits[rows].astype(dtype), case.histogram_of(labels), extra)
        probs[rows], _ = predict(target, draws, weights, readings)
    return probs

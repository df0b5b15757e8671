"""Episodes: the default stack fitted to a few labels of a task, as numbers that a prior reweighs.

The draws of every member are kept with what they predict, so that the loss under another prior of
the channels follows from the ratio of the priors' densities, without another fit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.estimators.subsets import make_cases
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.effort import DEFAULT_EFFORT
from cordial_ppl.inference.fitting import choose_prior, sample_default
from cordial_ppl.inference.importance import resample
from cordial_ppl.inference.predictions import predict_draws
from cordial_ppl.inference.priors import LearnedPrior, reading_spread
from cordial_ppl.inference.sites import Site
from cordial_ppl.inference.state import PRECISION
from cordial_ppl.inference.target import Target
from cordial_ppl.stack.members import CalibratorMember, ChannelMember
from cordial_ppl.stack.stacking import MIN_LABELS

REPORT, PARTICLES = 120, 256
"""Texts that an episode is scored on, and draws that are kept of each posterior."""


class Draws(NamedTuple):
    """Draws of a member, of a posterior or of one for each fold.

    Attributes:
        moments: sum and sum of squares of the standardised values of each site.
        probs: probability of each text's label.
    """

    moments: Float[Any, "*F D sites 2"]
    probs: Float[Any, "D m"]


class Episode(NamedTuple):
    """The stack fitted to a few labels of a task; or several such, along a first axis.

    Attributes:
        group: number of the task's group.
        weight: what it counts among those of its group.
        folds: fold of each label; 0 where there are too few for folds.
        sizes: of each member's sites, the number of values, and of locations that may move.
        report: draws of each member, and the texts that the stack is scored on.
        held_out: draws of each member without each fold, and the labels; none without folds.
    """

    group: Int[Any, "*E"]
    weight: Float[Any, "*E"]
    folds: Int[Any, "*E n"]
    sizes: Mapping[str, Float[Any, "*E sites 2"]]
    report: Mapping[str, Draws]
    held_out: Mapping[str, Draws]


def play(
    texts: Labelled,
    unmoved: LearnedPrior,
    moved: LearnedPrior,
    *,
    group: int,
    weight: float,
    budgets: Sequence[int],
    draws: int,
    seed: Sequence[int],
) -> dict[int, list[Episode]]:
    """Fit the default stack to random labels of a task.

    Args:
        texts: labelled texts of the task; labels are drawn from half of them.
        unmoved: the prior whose location and scale standardise the draws.
        moved: the prior to fit with.
        group: number of the task's group.
        weight: what each episode counts among those of its group.
        budgets: numbers of labels; those larger than half the task are left out.
        draws: episodes for each number of labels.
        seed: seed of the random numbers.

    Returns:
        Episodes by number of labels.
    """
    rng, members = np.random.default_rng(seed), Cordial(prior=moved).settings.members(0)
    pool, report = np.array_split(rng.permutation(len(texts.labels)), 2)
    scored, played = texts.take(np.resize(report, REPORT)), {}
    for n in (n for n in budgets if n <= len(pool)):
        subsets = np.stack([rng.permutation(pool)[:n] for _ in range(draws)])
        cases = make_cases(texts, subsets, range(draws))
        if n < MIN_LABELS:
            cases = [case._replace(folds=None) for case in cases]
        parts: list[dict[str, Any]] = [{} for _ in cases]
        for member in members:
            if isinstance(member, ChannelMember):
                kept = _draw(member, cases, scored, unmoved)
            else:
                kept = _predict(member, cases, scored)
            for part, each in zip(parts, kept, strict=True):
                part[member.name] = each
        played[n] = [_episode(group, weight, *pair) for pair in zip(cases, parts, strict=True)]
    return played


def movable_sites(target: Target) -> list[Site]:
    """List the parameters whose priors training moves: those with Gaussian priors."""
    return [site for site in target.sites if site.gaussian]


def _episode(
    group: int, weight: float, case: Case, members: Mapping[str, tuple[Any, Draws, Draws | None]]
) -> Episode:
    """Put together what the members of a stack say."""
    folds = np.zeros(len(case.texts.labels)) if case.folds is None else case.folds
    parts: Any = ({name: each[i] for name, each in members.items()} for i in range(3))
    return Episode(np.int32(group), np.float32(weight), folds.astype(np.int32), *parts)


def _predict(
    member: CalibratorMember, cases: Sequence[Case], scored: Labelled
) -> list[tuple[Any, Draws, Draws | None]]:
    """Fit a calibrator to each data set: one draw, which no prior reweighs."""
    kept = []
    for case, fit in zip(cases, member.fit(cases), strict=True):
        held_out, nothing = None, np.zeros((1, 1, 2), np.float32)
        if fit.held_out is not None:
            moments = np.zeros((len(case.masks), 1, 1, 2), np.float32)
            held_out = Draws(moments, _of_labels(fit.held_out[None], case.texts.labels))
        probs = fit.fitted.predict(scored.logits)[0]
        kept.append((nothing[0], Draws(nothing, _of_labels(probs[None], scored.labels)), held_out))
    return kept


def _draw(
    member: ChannelMember, cases: Sequence[Case], scored: Labelled, unmoved: LearnedPrior
) -> list[tuple[Any, Draws, Draws | None]]:
    """Sample a channel's posterior of each data set, and those without each fold."""
    target, prepared = member.prepare(cases)
    sites = movable_sites(target)
    sizes = np.array([(np.prod(site.shape), not site.shape) for site in sites], np.float32)

    def keep(case: Case, sampled: Any, seen: Any, predicted: Labelled) -> Draws:
        with np.errstate(divide="ignore"):
            draws = sampled.draws[resample(0.5, np.log(sampled.weights), PARTICLES)]
        unit = unmoved.of(target, reading_spread(case.texts.logits, case.texts.weights))
        values = (draws - unit.loc) / unit.scale
        parts = [values[:, site.slice] for site in sites]
        moments = [np.stack([part.sum(1), np.square(part).sum(1)], -1) for part in parts]
        extra = {k: column.astype(PRECISION) for k, column in predicted.covariates.items()}
        histogram = case.histogram_of(seen).astype(PRECISION)
        readings = Readings(predicted.logits.astype(PRECISION), histogram, extra)
        histograms = np.broadcast_to(histogram, (PARTICLES, len(histogram)))
        probs = predict_draws(target, draws.astype(PRECISION), histograms, readings)
        return Draws(np.stack(moments, 1, dtype=np.float32), _of_labels(probs, predicted.labels))

    kept = []
    for case in prepared:
        with jax.enable_x64(True):
            prior, texts = choose_prior(target, case), case.texts
            whole, folds = sample_default(target, prior, case, DEFAULT_EFFORT)
        held_out = None
        if case.folds is not None:
            each = [keep(case, *pair, texts) for pair in zip(folds, case.masks, strict=True)]
            # Each label is predicted by the posterior that has not seen it.
            probs = np.stack([each[fold].probs[:, row] for row, fold in enumerate(case.folds)], -1)
            held_out = Draws(np.stack([fold.moments for fold in each]), probs)
        kept.append((sizes, keep(case, whole, texts.labels, scored), held_out))
    return kept


def _of_labels(
    probs: Float[np.ndarray, "D m K"], labels: Int[np.ndarray, " m"]
) -> Float[np.ndarray, "D m"]:
    """Return the probability of each label."""
    return probs[:, np.arange(len(labels)), labels].astype(np.float32)

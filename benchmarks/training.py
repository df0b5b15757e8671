"""Training a prior end to end: it moves to where the default stack loses least from few labels.

A prior that follows from fits to whole tasks says what readers are like.  It need not be the one
under which a stack of several channels, weighed by ten labels, predicts best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np
from descent import Moved, default_counts, descend, least_ess
from episodes import Episode, movable_sites, play
from spoiling import TRAINED_ON, make

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.errors import InputError, warn
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.inference.priors import LearnedPrior
from cordial_ppl.inference.target import build_target
from cordial_ppl.runtime.progress import doing

BUDGETS = (5, 10, 20, 50)
"""Labels of an episode."""

SPOILT = 0.2
"""What an episode counts whose readings say nothing, or whose scale has options that nobody uses:
both are rare in published sets."""

LEAST_ESS, ROUNDS = 0.1, 3
"""Effective share of the draws below which the stack is fitted anew, and how often it is fitted."""

FEWEST_GROUPS = 3
"""Groups of tasks that are needed, for each is left out in turn."""


class Training(NamedTuple):
    """What training gave.

    Attributes:
        prior: the trained prior.
        gains: for each number of labels, the mean gain in nats over the cautious rule, on groups
            left out.
        left_out: groups that were left out together, and the prior trained without them.
    """

    prior: LearnedPrior
    gains: dict[int, float]
    left_out: dict[tuple[str, ...], LearnedPrior]


def train_prior(
    prior: LearnedPrior,
    tasks: Sequence[tuple[str, Labelled]],
    *,
    groups: Mapping[str, str] | None = None,
    budgets: Sequence[int] = BUDGETS,
    draws: int = 4,
    seed: int = 0,
) -> Training:
    r"""Move a learned prior to where the default stack loses least from few labels.

    .. math:: \min_{d, g}\; \operatorname{mean}_{n, t, s} \ell_{nts}(d, g)
        + \lambda \lVert (d, g) \rVert^2, \qquad
        \mu = \mu_c + d \sigma_c, \quad \sigma = e^{g} \sigma_c

    Location and scale by the cautious rule, mu_c and sigma_c, are moved by d and g, for each
    parameter of each channel; parameters of single options share g and have no d.
    Pseudo-counts of the stack's weights are scaled too, which the formula leaves out.  An episode
    is a sample s of n labels of a task t, with the prior that other groups of tasks give, and l the
    log loss of the stack fitted to it, on other texts; further ones, which count little, are of
    shuffled readings and of a scale with options that nobody uses.  Draws are weighed by the ratio
    of the priors' densities, the stack's weights follow from them, and Adam follows the gradient of
    both.  Each group is left out in turn to tell how many steps it takes: none where they gain
    nothing.

    Args:
        prior: where it begins.
        tasks: name and labelled texts of each task and reader that the prior was learned from.
        groups: group of each task, which are left out together; by default each is its own.
        budgets: numbers of labels n.
        draws: episodes of each task, reader and n.
        seed: seed of the episodes.

    Returns:
        The prior, its gains, and the priors trained without each group.

    Raises:
        InputError: there are fewer than three groups, or no task has twice the fewest labels.

    Source:
        Gordon et al. (2019), "Meta-learning probabilistic inference for prediction".
    """
    group_of = {name: name for name in (*prior.tasks, *(name for name, _ in tasks))}
    group_of |= groups or {}
    names = list(dict.fromkeys(group_of[name] for name, _ in tasks))
    if len(names) < FEWEST_GROUPS:
        raise InputError(
            f"training a prior leaves out one task in turn and needs {FEWEST_GROUPS} tasks at "
            f"least; got {len(names)}. Add tasks, or learn it by the rule 'cautious'."
        )
    moved = cautious = replace(prior, rule=prior.rule.forget())
    left_out = {name: [t for t in prior.tasks if group_of[t] == name] for name in names}
    rng, everything = np.random.default_rng(seed), [(name, texts, 1.0) for name, texts in tasks]
    for kind in TRAINED_ON:
        everything += [(name, make(texts, kind, rng), SPOILT) for name, texts in tasks]
    start: Any = None
    for _ in range(ROUNDS):
        played: dict[int, list[Episode]] = {n: [] for n in budgets}
        with doing("fitting", len(everything), "tasks") as stage:
            for index, (name, texts, weight) in enumerate(everything):
                group = group_of[name]
                before = cautious.leave_out(left_out[group])
                priors = before, replace(before, rule=moved.rule)
                number = draws if weight == 1 else max(draws // 2, 1)
                settings = {"budgets": budgets, "draws": number, "weight": weight}
                for n, each in play(
                    texts, *priors, group=names.index(group), seed=(seed, index), **settings
                ).items():
                    played[n] += each
                stage.reach(index + 1)
        episodes = {
            n: jax.tree.map(lambda *e: np.stack(e), *each) for n, each in played.items() if each
        }
        if not episodes:
            raise InputError(
                f"training a prior needs a task with {2 * min(budgets)} labels at least."
            )
        sizes = next(iter(episodes.values())).sizes
        start = start or {k: np.zeros(each.shape[1:], np.float32) for k, each in sizes.items()}
        trained, apart, gains = descend(episodes, start, len(names))
        moved = _move(cautious, trained)
        ess = [float(least_ess(trained.moves, start, batch)) for batch in episodes.values()]
        start = trained.moves
        if min(ess) >= LEAST_ESS:
            break
    if not any(gains.values()):
        warn("training gains nothing on tasks that are left out: the prior stays cautious.")
    without = {}
    for part, trained in apart:
        chosen = tuple(names[number] for number in part)
        rest = cautious.leave_out([task for name in chosen for task in left_out[name]])
        without[chosen] = _move(rest, trained)
    return Training(moved, gains, without)


def _move(prior: LearnedPrior, trained: Moved) -> LearnedPrior:
    """Return a prior with what was trained in its rule."""
    adjustments = {}
    for channel in Cordial().settings.channels:
        target = build_target(channel, 2, prior.channels[channel.name].covariates)
        sites = [site.name for site in movable_sites(target)]
        each = np.asarray(trained.moves[channel.name], float).round(3).tolist()
        adjustments[channel.name] = dict(zip(sites, map(tuple, each), strict=True))
    before, factors = default_counts(trained.moves), np.exp(np.asarray(trained.counts, float))
    counts = (np.array([*before.values()]) * factors).round(3).tolist()
    settings = {"adjustments": adjustments, "counts": dict(zip(before, counts, strict=True))}
    return replace(prior, rule=msgspec.structs.replace(prior.rule, **settings))

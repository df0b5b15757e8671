"""Training a prior end to end: it moves to where the default stack loses least from few labels.

A prior that follows from fits to whole tasks says what readers are like.  It need not be the one
under which a stack of several channels, weighed by ten labels, predicts best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import optax
from jaxtyping import Array, Float

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.errors import InputError, warn
from cordial_ppl.estimators.episodes import Draws, Episode, play
from cordial_ppl.estimators.named import Cordial
from cordial_ppl.inference.priors import LearnedPrior
from cordial_ppl.inference.target import build_target
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.stacking import MIN_LABELS

BUDGETS = (5, 10, 20, 50)
"""Labels of an episode."""

STEPS, RATE, RIDGE = 100, 0.05, 0.003
"""Steps of Adam at most, their rate, and the penalty of a move by one scale, nats."""

EM_STEPS = 60
"""Steps to the weights of a stack; the gradient goes through them."""

LEAST_ESS, ROUNDS = 0.6, 3
"""Effective share of the draws below which the stack is fitted anew, and how often it is fitted."""

FEWEST_GROUPS, MOST_GROUPS = 3, 8
"""Groups of tasks that are needed, and those that are left out in turn."""

Moves = Mapping[str, Float[Any, "sites 2"]]
"""Of each member's sites, by how many scales the location moves, and the log of the scale's factor;
those of calibrators are zero."""


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
    parameter of each channel; parameters of single options share g and have no d.  An episode is a
    sample s of n labels of a task t, with the prior that other groups of tasks give, and l the log
    loss of the stack fitted to it, on other texts.  Draws are weighed by the ratio of the priors'
    densities, the stack's weights follow from them, and Adam follows the gradient of both.  Each
    group is left out in turn to tell how many steps it takes: none where they gain nothing.

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
    start: Any = None
    for _ in range(ROUNDS):
        played: dict[int, list[Episode]] = {n: [] for n in budgets}
        with doing("fitting", len(tasks), "tasks") as stage:
            for index, (name, texts) in enumerate(tasks):
                group = group_of[name]
                before = cautious.leave_out(left_out[group])
                priors = before, replace(before, rule=moved.rule)
                settings = {"budgets": budgets, "draws": draws, "seed": (seed, index)}
                for n, each in play(texts, *priors, group=names.index(group), **settings).items():
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
        moves, apart, gains = _descend(episodes, start, len(names))
        moved = _move(cautious, moves)
        ess = [float(_least_ess(moves, start, batch)) for batch in episodes.values()]
        start = moves
        if min(ess) >= LEAST_ESS:
            break
    if not any(gains.values()):
        warn("training gains nothing on tasks that are left out: the prior stays cautious.")
    without = {}
    for part, its_moves in apart:
        chosen = tuple(names[number] for number in part)
        rest = cautious.leave_out([task for name in chosen for task in left_out[name]])
        without[chosen] = _move(rest, its_moves)
    return Training(moved, gains, without)


def _move(prior: LearnedPrior, moves: Moves) -> LearnedPrior:
    """Return a prior with the moves as its rule's adjustments."""
    adjustments = {}
    for channel in Cordial().settings.channels:
        target = build_target(channel, 2, prior.channels[channel.name].covariates)
        sites = [site.name for site in target.sites if site.gaussian]
        each = np.asarray(moves[channel.name], float).round(3).tolist()
        adjustments[channel.name] = dict(zip(sites, map(tuple, each), strict=True))
    rule = msgspec.structs.replace(prior.rule, name="trained", adjustments=adjustments)
    return replace(prior, rule=rule)


def _weigh(
    moves: Moves, start: Moves, draws: Mapping[str, Draws], sizes: Mapping[str, Any]
) -> dict[str, Array]:
    """Weigh draws that were made after some moves for other moves."""

    def weigh(name: str) -> Array:
        moments, shape = draws[name].moments, (-1, *[1] * (draws[name].moments.ndim - 3))
        values, free = (sizes[name][..., i].reshape(*shape, sizes[name].shape[1]) for i in (0, 1))

        def log_density(move: Any) -> Array:
            loc, log_scale = move[:, 0], move[:, 1]
            squares = moments[..., 1] - 2 * free * loc * moments[..., 0] + free * loc**2
            return jnp.sum(-0.5 * jnp.exp(-2 * log_scale) * squares - values * log_scale, axis=-1)

        return jax.nn.softmax(log_density(moves[name]) - log_density(start[name]), axis=-1)

    return {name: weigh(name) for name in draws}


@jax.jit
def _least_ess(moves: Moves, start: Moves, episodes: Episode) -> Array:
    """Compute the effective share of the draws of the member where it is least, on the mean."""
    weights = _weigh(moves, start, episodes.report, episodes.sizes).values()
    return jnp.min(jnp.stack([jnp.mean(1 / jnp.sum(w**2, -1)) / w.shape[-1] for w in weights]))


def _losses(moves: Moves, start: Moves, episodes: Episode, counts: Any) -> Float[Array, " E"]:
    """Compute the log loss of the stack in each episode, with the weights that its labels give."""
    (_, n), total = episodes.folds.shape, jnp.sum(counts)
    weights = _weigh(moves, start, episodes.report, episodes.sizes)
    each = [jnp.einsum("ed,edm->em", w, episodes.report[name].probs) for name, w in weights.items()]
    probs, shares = jnp.stack(each, -1), jnp.broadcast_to(counts / total, (len(each[0]), len(each)))
    if n >= MIN_LABELS:
        rows, held_out = (jnp.arange(len(probs))[:, None], episodes.folds), episodes.held_out
        weights = _weigh(moves, start, held_out, episodes.sizes)
        each = [jnp.einsum("end,edn->en", w[rows], held_out[m].probs) for m, w in weights.items()]
        seen = jnp.maximum(jnp.stack(each, -1), FLOOR)

        def step(shares: Array, _: None) -> tuple[Array, None]:
            parts = seen * shares[:, None]
            parts = parts / jnp.sum(parts, axis=-1, keepdims=True)
            return (jnp.sum(parts, axis=1) + counts) / (n + total), None

        shares, _ = jax.lax.scan(step, shares, None, length=EM_STEPS)
    return -jnp.mean(jnp.log(jnp.maximum(jnp.einsum("emj,ej->em", probs, shares), FLOOR)), axis=1)


def _descend(
    episodes: Mapping[int, Episode], start: Moves, groups: int
) -> tuple[Moves, list[tuple[np.ndarray, Moves]], dict[int, float]]:
    """Find the moves, by as many steps as lower the loss of groups that are left out.

    Returns:
        The moves, those without each part of the groups, and the gains by number of labels.
    """
    batches, optimizer = list(episodes.values()), optax.adam(RATE)
    # JAX sorts the names.
    counts = np.array(
        [Cordial().settings.weight_counts[name] for name in sorted(start)], np.float32
    )

    def share(*chosen: int) -> list[np.ndarray]:
        """Weigh episodes so that each group of those chosen counts alike."""
        inside = [np.isin(batch.group, chosen) for batch in batches]
        each = [
            seen / np.maximum(np.bincount(batch.group, seen)[batch.group], 1)
            for seen, batch in zip(inside, batches, strict=True)
        ]
        return [np.asarray(part / max(part.sum(), 1.0), np.float32) for part in each]

    def objective(moves: Moves, shares: Any, data: Any) -> tuple[Array, list[Array]]:
        losses = [_losses(moves, start, batch, counts) for batch in data]
        means = [jnp.vdot(*pair) for pair in zip(shares, losses, strict=True)]
        ridge = sum(jnp.sum(move**2) for move in jax.tree.leaves(moves))
        return jnp.mean(jnp.stack(means)) + RIDGE * ridge, losses

    @jax.jit
    def descend(trained: Any, left_out: Any, data: Any) -> tuple[Moves, Array]:
        def step(carry: Any, _: None) -> tuple[Any, Any]:
            moves, state = carry
            (_, losses), slope = jax.value_and_grad(objective, has_aux=True)(moves, trained, data)
            updates, state = optimizer.update(slope, state)
            held_out = [jnp.vdot(*pair) for pair in zip(left_out, losses, strict=True)]
            return (optax.apply_updates(moves, updates), state), (moves, jnp.stack(held_out))

        zero = jax.tree.map(jnp.zeros_like, start)
        return jax.lax.scan(step, (zero, optimizer.init(zero)), None, length=STEPS + 1)[1]

    parts = np.array_split(np.random.default_rng(0).permutation(groups), min(groups, MOST_GROUPS))
    paths, everyone = [], range(groups)
    with doing("training", len(parts) + 1, "parts") as stage:
        for number, part in enumerate((*parts, np.array([], int))):
            rest = share(*np.setdiff1d(everyone, part))
            paths.append(jax.tree.map(np.asarray, descend(rest, share(*part), batches)))
            stage.reach(number + 1)
    curve = np.mean([held_out for _, held_out in paths[:-1]], axis=0)
    best = int(np.argmin(curve.mean(axis=1)))
    *apart, moves = ({name: each[best] for name, each in path.items()} for path, _ in paths)
    gains = dict(zip(episodes, (curve[0] - curve[best]).tolist(), strict=True))
    return moves, list(zip(parts, apart, strict=True)), gains

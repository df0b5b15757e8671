"""Descent of the stack's loss in many episodes, as a function of the channels' priors.

Draws are weighed for another prior by the ratio of the priors' densities, and a stack's weights
follow from what its members then say of labels held out: the loss has a gradient.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from episodes import Draws, Episode
from jaxtyping import Array, Float

from cordial_ppl.estimators.named import Cordial
from cordial_ppl.inference.priors.sources import OWN
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.stacking import MIN_LABELS

STEPS, RATE = 50, 0.08
"""Steps of Adam at most, and their rate."""

RIDGE, COUNTS_RIDGE = 0.003, 0.001
"""Penalties in nats of a move by one scale, and of a pseudo-count that grows e-fold."""

LEAST = 1e-9
"""Weight of nothing, in place of zero."""

EM_STEPS = 60
"""Steps to the weights of a stack; the gradient goes through them."""

MOST_PARTS = 8
"""Parts at most into which groups of tasks are put to be left out in turn."""

Moves = Mapping[str, Float[Any, "sites 2"]]
"""Of each member's sites, by how many scales the location moves, and the log of the scale's factor;
those of calibrators are zero."""


class Moved(NamedTuple):
    """What descent moves.

    Attributes:
        moves: of the members' priors.
        counts: log factor of the pseudo-count of each member's weight; names are sorted.
    """

    moves: Moves
    counts: Float[Any, " M"]


def default_counts(members: Iterable[str]) -> dict[str, float]:
    """Return the pseudo-counts of a stack's members before training; names are sorted."""
    counts = Cordial(prior=OWN).settings.weight_counts
    return {name: counts[name] for name in sorted(members)}


def descend(
    episodes: Mapping[int, Episode], start: Moves, groups: int
) -> tuple[Moved, list[tuple[np.ndarray, Moved]], dict[int, float]]:
    """Move priors and pseudo-counts, by as many steps as lower the loss of groups left out.

    Args:
        episodes: by number of labels.
        start: the moves that the draws were made after.
        groups: number of groups of tasks.

    Returns:
        What is moved, the same without each part of the groups, and the mean gain in nats on groups
        that are left out, by number of labels.
    """
    batches, optimizer = list(episodes.values()), optax.adam(RATE)
    before = np.array([*default_counts(start).values()], np.float32)

    def share(chosen: Any) -> list[np.ndarray]:
        """Weigh episodes so that each group of those chosen counts alike."""
        inside = [np.isin(batch.group, chosen) * batch.weight for batch in batches]
        each = [
            seen / np.maximum(np.bincount(batch.group, seen)[batch.group], LEAST)
            for seen, batch in zip(inside, batches, strict=True)
        ]
        return [np.asarray(part / max(part.sum(), LEAST), np.float32) for part in each]

    def objective(moved: Moved, shares: Any, data: Any) -> tuple[Array, list[Array]]:
        counts = before * jnp.exp(moved.counts)
        losses = [stack_losses(moved.moves, start, batch, counts) for batch in data]
        means = [jnp.vdot(*pair) for pair in zip(shares, losses, strict=True)]
        penalty = RIDGE * sum(jnp.sum(move**2) for move in moved.moves.values())
        penalty += COUNTS_RIDGE * jnp.sum(moved.counts**2)
        return jnp.mean(jnp.stack(means)) + penalty, losses

    @jax.jit
    def run(trained: Any, left_out: Any, data: Any) -> tuple[Moved, Array]:
        def step(carry: Any, _: None) -> tuple[Any, Any]:
            moved, state = carry
            (_, losses), slope = jax.value_and_grad(objective, has_aux=True)(moved, trained, data)
            with jax.numpy_dtype_promotion("standard"):  # Optax mixes its own types.
                updates, state = optimizer.update(slope, state)
            held_out = [jnp.vdot(*pair) for pair in zip(left_out, losses, strict=True)]
            return (optax.apply_updates(moved, updates), state), (moved, jnp.stack(held_out))

        zero = jax.tree.map(jnp.zeros_like, Moved(start, before))
        return jax.lax.scan(step, (zero, optimizer.init(zero)), None, length=STEPS + 1)[1]

    parts = np.array_split(np.random.default_rng(0).permutation(groups), min(groups, MOST_PARTS))
    paths, everyone = [], np.arange(groups)
    with doing("training", len(parts) + 1, "parts") as stage:
        for number, part in enumerate((*parts, everyone[:0])):
            rest = share(np.setdiff1d(everyone, part))
            paths.append(jax.tree.map(np.asarray, run(rest, share(part), batches)))
            stage.reach(number + 1)
    curve = np.mean([held_out for _, held_out in paths[:-1]], axis=0)
    best = int(np.argmin(curve.mean(axis=1)))
    *apart, moved = (jax.tree.map(lambda leaf: leaf[best], path) for path, _ in paths)
    gains = dict(zip(episodes, (curve[0] - curve[best]).tolist(), strict=True))
    return moved, list(zip(parts, apart, strict=True)), gains


def weigh_draws(
    moves: Moves, start: Moves, draws: Mapping[str, Draws], sizes: Mapping[str, Any]
) -> dict[str, Array]:
    """Weigh draws that were made after some moves for other moves."""

    def weigh(name: str) -> Array:
        moments = draws[name].moments
        ones, sites = [1] * (moments.ndim - 3), moments.shape[-2]
        values, free = (sizes[name][..., i].reshape(-1, *ones, sites) for i in (0, 1))

        def log_density(move: Any) -> Array:
            loc, log_scale = (move[:, i].reshape(1, *ones, sites) for i in (0, 1))
            squares = moments[..., 1] - 2 * free * loc * moments[..., 0] + free * loc**2
            return jnp.sum(-0.5 * jnp.exp(-2 * log_scale) * squares - values * log_scale, axis=-1)

        return jax.nn.softmax(log_density(moves[name]) - log_density(start[name]), axis=-1)

    return {name: weigh(name) for name in draws}


@jax.jit
def least_ess(moves: Moves, start: Moves, episodes: Episode) -> Array:
    """Compute the effective share of the draws of the member where it is least, on the mean."""
    weights = weigh_draws(moves, start, episodes.report, episodes.sizes).values()
    return jnp.min(jnp.stack([jnp.mean(1 / jnp.sum(w**2, -1)) / w.shape[-1] for w in weights]))


def stack_losses(moves: Moves, start: Moves, episodes: Episode, counts: Any) -> Float[Array, " E"]:
    """Compute the log loss of the stack in each episode, with the weights that its labels give."""
    (_, n), total = episodes.folds.shape, jnp.sum(counts)
    weights = weigh_draws(moves, start, episodes.report, episodes.sizes)
    each = [jnp.einsum("ed,edm->em", w, episodes.report[name].probs) for name, w in weights.items()]
    probs, shares = jnp.stack(each, -1), jnp.tile(counts / total, (len(each[0]), 1))
    if n >= MIN_LABELS:
        rows, held_out = (jnp.arange(len(probs))[:, None], episodes.folds), episodes.held_out
        weights = weigh_draws(moves, start, held_out, episodes.sizes)
        each = [jnp.einsum("end,edn->en", w[rows], held_out[m].probs) for m, w in weights.items()]
        seen = jnp.maximum(jnp.stack(each, -1), FLOOR)

        def step(shares: Array, _: None) -> tuple[Array, None]:
            parts = seen * shares[:, None]
            parts = parts / jnp.sum(parts, axis=-1, keepdims=True)
            return (jnp.sum(parts, axis=1) + counts[None]) / (n + total), None

        shares, _ = jax.lax.scan(step, shares, None, length=EM_STEPS)
    return -jnp.mean(jnp.log(jnp.maximum(jnp.einsum("emj,ej->em", probs, shares), FLOOR)), axis=1)

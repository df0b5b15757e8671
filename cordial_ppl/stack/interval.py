"""Intervals of a text's mean, over draws and members, and of its label."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.inference.predictions import DRAWS, TEXTS
from cordial_ppl.runtime.compilation import compiled

HALVINGS = 12
"""How often a quantile's range, at first that of a text's draws, is halved."""

UNROLLED = 4
"""Draws that one step of a loop adds up: more leave too few of the processor's registers."""


def quantiles(
    means: Sequence[Float[np.ndarray, "_ m"]],
    weights: Sequence[Float[np.ndarray, " _"]],
    shares: Float[np.ndarray, "#m M"],
    level: float,
) -> Float[np.ndarray, "2 m"]:
    r"""Find two quantiles of each text, over all draws of all members.

    .. math:: \inf \{ x : \sum_j \omega_j \sum_d w_{jd}\, [\mu_{jd} \le x] \ge \alpha \},
       \qquad \alpha = (1 \mp \mathrm{level}) / 2

    The sum is a step function of x, so x is found by bisection, up to ``2 ** -HALVINGS`` of the
    range of a text's draws and single precision of the sum.

    Args:
        means: expected position of each text under each draw of a member, ``[D_j, m]`` for
            member j; a calibrator counts as one draw.
        weights: of the draws of each member, ``[D_j]``.
        shares: weight of each member in each text's mixture, or in that of all texts.
        level: probability between the two.

    Returns:
        Lower and upper quantiles, each one of the draws.
    """
    count, size = means[0].shape[1], sum(map(len, weights))
    places = -(-size // DRAWS) * DRAWS, -(-count // TEXTS) * TEXTS
    draws = np.zeros(places, np.float32)
    np.concatenate(means, out=draws[:size, :count], casting="same_kind")
    mass = np.zeros((places[0], 1 if len(shares) == 1 else places[1]), np.float32)
    parts = zip(weights, np.ascontiguousarray(shares.T, np.float32), strict=True)
    np.concatenate([np.outer(np.float32(w), s) for w, s in parts], out=mass[:size, : len(shares)])
    tails = np.array([(1 - level) / 2, (1 + level) / 2], np.float32)
    (ends,) = _bisect(draws, mass, tails, np.int32(-(-size // UNROLLED)))
    return np.asarray(ends)[:, :count]


def label_range(probs: Float[np.ndarray, "m K"], level: float) -> Int[np.ndarray, "2 m"]:
    r"""Find the shortest run of options for each text that holds its label often enough.

    .. math:: \operatorname{arg\,min}_{[a, b]} \{ b - a : P(a \le z \le b) \ge \mathrm{level} \}

    Of several it is the most probable.

    Args:
        probs: probabilities of the options.
        level: the least probability of the set.

    Returns:
        The lowest and the highest option of the set, 0..K-1.
    """
    count, size = probs.shape
    below = np.concatenate([np.zeros((count, 1)), np.cumsum(probs, axis=1, dtype=float)], axis=1)
    first, last, left = np.zeros(count, np.int64), np.full(count, size - 1), np.arange(count)
    for length in range(1, size):
        masses = below[left, length:] - below[left, :-length]
        starts = masses.argmax(axis=1)
        # A probability of exactly the level, up to rounding, is enough.
        enough = masses[np.arange(len(left)), starts] >= level - 1e-12
        first[left[enough]], last[left[enough]] = starts[enough], starts[enough] + length - 1
        left = left[~enough]
    return np.stack([first, last])


@partial(compiled, name="quantiles")
def _bisect(
    draws: Float[Any, "D m"],
    mass: Float[Any, "D #m"],
    tails: Float[Any, " 2"],
    groups: Int[Any, ""],
) -> tuple[Float[Array, "2 m"]]:
    # An axis for the draws of a step, and one for the two quantiles.
    draws, mass = (each.reshape(-1, UNROLLED, 1, each.shape[1]) for each in (draws, mass))
    none = jnp.zeros((len(tails), draws.shape[3]), draws.dtype)

    def fold(add: Callable[..., Any], total: Any) -> Any:
        """Combine draws and their masses, one by one."""

        def go_on(group: Array, total: Any) -> Any:
            for row in range(UNROLLED):
                total = add(total, draws[group, row], mass[group, row])
            return total

        return jax.lax.fori_loop(0, groups, go_on, total)

    def below(cut: Float[Array, "2 m"]) -> Float[Array, "2 m"]:
        return fold(lambda sums, draw, share: sums + jnp.where(draw <= cut, share, 0), none)

    def last(cut: Any, sign: int = 1) -> Float[Array, "2 m"]:
        def add(most: Array, draw: Array, share: Array) -> Array:
            return jnp.where((share > 0) & (draw <= cut), jnp.maximum(most, sign * draw), most)

        return sign * fold(add, none - jnp.inf)

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        enough = below(middle) >= goal
        return jnp.where(enough, ends[0], middle), jnp.where(enough, middle, ends[1])

    highest = last(jnp.inf)
    goal = tails[:, None] * below(highest)
    _, high = jax.lax.fori_loop(0, HALVINGS, halve, (last(jnp.inf, -1), highest))
    return (last(high),)

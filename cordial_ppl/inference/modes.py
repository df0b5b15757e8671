"""Searches for modes, compiled: BFGS for many small problems at once, each from several starts.

Along the direction of BFGS a step is shortened until the function falls enough (Nocedal and Wright,
2nd ed., Sections 3.1 and 6.1).  Every search has a step length of its own; a round evaluates each
unfinished search at one point.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from cordial_ppl.arrays import pad_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.data import Data
from cordial_ppl.inference.minimise import DOWN, EPS
from cordial_ppl.inference.programs import take_tile
from cordial_ppl.inference.target import Prior, Target

SEARCHES = 64
"""Searches for a mode that one call goes on with."""

REACH = 40.0
"""Prior standard deviations beyond which no mode is sought."""

TOLERANCE = 1e-9
"""Largest gradient component of an end."""

NEAR = 0.01
"""Nats that do not matter between the searches of a problem."""

LONGEST = 1.0
"""The longest step, in prior standard deviations."""


class Ends(NamedTuple):
    """Where searches for a minimum are, or have ended.

    Attributes:
        x: the points.
        value: the functions there; infinite where a function was not finite at the start.
        gradient: their gradients there.
        rounds: evaluations that the slowest search took.
    """

    x: Float[Any, "L P"]
    value: Float[Any, " L"]
    gradient: Float[Any, "L P"]
    rounds: Any


def search_modes(
    target: Target,
    prior: Prior,
    data: Data,
    points: Float[np.ndarray, "A P"],
    index: Int[np.ndarray, " A"],
    max_rounds: int,
) -> Ends:
    """Search for modes from whitened points, each for one of several data sets.

    Args:
        target: the channel.
        prior: locations and scales, one of each a data set, ``[D, P]``.
        data: the data sets, every array but ``tiles`` with an axis of length D in front.
        points: where to begin, at most `SEARCHES`.
        index: the data set of each.
        max_rounds: points of a search at most; one tells the derivatives where it begins.

    Returns:
        Where the searches for a minimum of the negative log density, nats, ended.
    """
    count = len(points)
    given = pad_rows(points, SEARCHES, 0.0), pad_rows(index, SEARCHES, 0)
    going = np.arange(SEARCHES) < count
    found = _search_modes(target)(prior, data, *given, going, np.int32(max_rounds))
    return Ends(*(np.asarray(part)[:count] for part in found[:-1]), rounds=int(found[-1]))


@lru_cache(maxsize=512)
def _search_modes(target: Target) -> Callable[..., Any]:
    def run(
        prior: Prior, data: Data, points: Array, index: Array, going: Array, rounds: Array
    ) -> Ends:
        def loss(point: Array, place: Array) -> tuple[Array, Array]:
            own = Prior(prior.loc[place], prior.scale[place])

            def prior_density(w: Array) -> Array:
                readings, _ = take_tile(data, jnp.zeros((), jnp.int32), place)
                return target.log_prior(own.loc + own.scale * w, own, readings)

            def add(tile: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
                readings, labels = take_tile(data, tile, place)

                def likelihood(w: Array) -> Array:
                    return target.log_likelihood(own.loc + own.scale * w, readings, labels)

                return jax.tree.map(jnp.add, total, jax.value_and_grad(likelihood)(point))

            begin = jax.value_and_grad(prior_density)(point)
            value, slope = jax.lax.fori_loop(0, data.tiles, add, begin)
            fine = jnp.isfinite(value) & jnp.isfinite(slope).all() & (abs(point).max() <= REACH)
            return jnp.where(fine, -value, jnp.inf), jnp.where(fine, -slope, 0.0)

        return search(loss, points, index, going, rounds)

    return compiled(run, xla_backend_optimization_level=1)


class _Searches(NamedTuple):
    """Searches: where they are, which are not finished, and what they know.

    Attributes:
        inverse: inverse second derivatives, as BFGS knows them.
        share: of the full step, what is tried next.
    """

    ends: Ends
    going: Bool[Array, " L"]
    inverse: Float[Array, "L P P"]
    share: Float[Array, " L"]


def search(
    fun: Callable[[Array, Array], tuple[Array, Array]],
    starts: Float[Array, "L P"],
    index: Int[Array, " L"],
    going: Bool[Array, " L"],
    max_rounds: Any,
) -> Ends:
    """Search for minima of several functions; of each from one start or from several.

    All searches of a function go on until they are near their ends, and the lowest to its end.

    Args:
        fun: from a point and the number of a function to value and gradient; traced once.  A value
            that is infinite means that a step went too far.
        starts: where to begin.
        index: the function that each search is of.
        going: which searches there are; the others are not begun.
        max_rounds: evaluations of a search at most; one evaluates the starts.
    """
    count, size = starts.shape
    infinite, zeros = jnp.full(count, jnp.inf), jnp.zeros_like(starts)

    def evaluate(points: Array, going: Array) -> tuple[Array, Array]:
        """Values and gradients of unfinished searches, one after the other."""

        def add(at: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
            def one(found: tuple[Array, Array]) -> tuple[Array, Array]:
                value, slope = fun(points[at], index[at])
                return found[0].at[at].set(value), found[1].at[at].set(slope)

            return jax.lax.cond(going[at], one, lambda found: found, found)

        return jax.lax.fori_loop(0, count, add, (infinite, zeros))

    def unfinished(s: _Searches) -> Array:
        return s.going.any() & (s.ends.rounds < max_rounds)

    def proceed(s: _Searches) -> _Searches:
        x, value, gradient, rounds = s.ends
        direction = -_times(s.inverse, gradient)
        slope, length = (direction * gradient).sum(axis=1), jnp.linalg.norm(direction, axis=1)
        step = s.share * jnp.minimum(1.0, LONGEST / (length + EPS))
        move = step[:, None] * direction
        found, slopes = evaluate(x + move, s.going)
        # Differences of values may be rounding noise.
        gain, noise = step * slope, EPS**0.8 * (1.0 + abs(value))
        taken = s.going & (found <= value + DOWN * gain + noise)
        # After a step too far the next goes to the minimum of the parabola through what is known.
        shorter = s.share * jnp.clip(-0.5 * gain / (found - value - gain), 0.1, 0.5)
        inverse = _learn(s.inverse, move, slopes - gradient, taken)
        x = jnp.where(taken[:, None], x + move, x)
        gradient = jnp.where(taken[:, None], slopes, gradient)
        value = jnp.where(taken, found, value)
        # Once near its end, only the lowest search of a function goes on.
        alike = index[:, None] == index[None]
        lowest = jnp.where(alike, value[None], jnp.inf).min(axis=1)
        idle = taken & (-0.5 * slope <= NEAR) & (rounds > 0) & (value > lowest)
        at_end = abs(gradient).max(axis=1) <= TOLERANCE
        going = s.going & ~(at_end | idle | jnp.isinf(value))
        share = jnp.where(taken, 1.0, shorter)
        return _Searches(Ends(x, value, gradient, rounds + 1), going, inverse, share)

    inverse = jnp.tile(jnp.eye(size), (count, 1, 1))
    begin = _Searches(Ends(starts, infinite, zeros, 0), going, inverse, jnp.ones(count))
    return jax.lax.while_loop(unfinished, proceed, begin).ends


def _times(matrices: Float[Array, "L P P"], vectors: Float[Array, "L P"]) -> Float[Array, "L P"]:
    return (matrices * vectors[:, None, :]).sum(axis=2)


def _learn(inverse: Array, move: Array, change: Array, taken: Array) -> Array:
    """What BFGS learns of steps that are taken, along which a function bends upwards."""
    bend = (move * change).sum(axis=1)
    bent = taken & (bend > EPS * (move**2).sum(axis=1))
    turned = _times(inverse, change)
    along = (0.5 * (1.0 + (change * turned).sum(axis=1) / bend))[:, None] * move - turned
    half = (along / bend[:, None])[:, :, None] * move[:, None, :]
    learned = inverse + half + half.swapaxes(1, 2)
    return jnp.where(bent[:, None, None], learned, inverse)

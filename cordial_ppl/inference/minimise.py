"""Minima of a smooth function by BFGS, from many starts side by side within one compiled program.

The direction of a search is that of BFGS, along which a step is shortened until the function falls
enough (Nocedal and Wright, 2nd ed., Sections 3.1 and 6.1).  Each search has its step length; a
round evaluates each unfinished search at one point.  The function is compiled once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from cordial_ppl.runtime.arrays import EPS

DOWN = 1e-4
"""What a step must gain at least, of what the slope at its start promises."""

LONGER = 3.0
"""How much longer the next step is where the function bends downwards."""

STALE = 8
"""Steps in a row that change the value by no more than rounding, after which a search ends."""

TOLERANCE = 1e-9
"""Largest gradient component of an end."""

NEAR = 0.01
"""Difference of values that does not matter between searches."""

MAX_LENGTH = 10.0
"""Longest step in the Euclidean norm, unless a function bends downwards; the first is at most 1."""


class Ends(NamedTuple):
    """Where searches ended.

    Attributes:
        x: the points.
        value: the functions there; infinite where a function was not finite at the start.
        gradient: their gradients there.
        rounds: evaluations that the slowest search took.
    """

    x: Float[Any, "L P"]
    value: Float[Any, " L"]
    gradient: Float[Any, "L P"]
    rounds: Int[Any, ""]

    def lowest(self, each: int) -> "Ends":
        """Choose the lowest of the ends of each problem, which has ``each`` of them in a row."""
        lowest = self.value.reshape(-1, each).argmin(axis=1)
        best = lowest + each * np.arange(len(lowest))
        return Ends(self.x[best], self.value[best], self.gradient[best], self.rounds)


class _Searches(NamedTuple):
    """Searches: where they are, which are not finished, and what they know.

    Attributes:
        inverse: inverse second derivatives, as BFGS knows them.
        fresh: whether it has learned nothing yet.
        share: of the full step, what is tried next.
        stale: steps in a row that changed nothing.
    """

    ends: Ends
    going: Bool[Array, " L"]
    inverse: Float[Array, "L P P"]
    fresh: Bool[Array, " L"]
    share: Float[Array, " L"]
    stale: Float[Array, " L"]


def search(
    fun: Callable[[Float[Array, " P"]], tuple[Array, Array]],
    starts: Float[Array, "L P"],
    going: Bool[Array, " L"],
    max_rounds: Int[Any, ""] = 1000,
    *,
    together: bool = False,
) -> Ends:
    """Search for the minimum of a function from several starts.

    All searches go on until they are near their ends, and the lowest to its end.  A pure function,
    to be compiled.

    Args:
        fun: from a point to value and gradient; traced once.  A value that is not finite means that
            a step went too far.
        starts: where to begin.
        going: which searches there are; the others are not begun.
        max_rounds: evaluations of a search at most; one evaluates the starts.
        together: whether all searches are evaluated side by side, as an accelerator wants them, and
            not those that are not finished, one after the other.
    """
    count, size = starts.shape
    infinite, zero = jnp.full(count, jnp.inf), jnp.zeros(count)
    evaluate = partial(_evaluate_together if together else _evaluate, fun)

    def unfinished(s: _Searches) -> Array:
        return s.going.any() & (s.ends.rounds < max_rounds)

    def proceed(s: _Searches) -> _Searches:
        x, value, gradient, rounds = s.ends
        direction = -_times(s.inverse, gradient)
        slope = (direction * gradient).sum(axis=1)
        length = jnp.sqrt((direction**2).sum(axis=1)) + EPS**2
        step = s.share * jnp.minimum(1.0, jnp.where(s.fresh, 1.0, MAX_LENGTH) / length)
        move = step[:, None] * direction
        values, slopes = evaluate(x + move, s.going)
        # Differences of values may be rounding noise.
        gain, noise = step * slope, EPS**0.8 * (1.0 + jnp.abs(value))
        taken = s.going & (values <= value + DOWN * gain + noise)
        bent, inverse = _learn(s, move, slopes - gradient, taken)
        same = values >= value - 4.0 * EPS * (1.0 + jnp.abs(value))
        stale = jnp.where(taken, jnp.where(same, s.stale + 1.0, 0.0), s.stale)
        # After a step too far the next goes to the minimum of the parabola through what is known.
        shorter = s.share * jnp.clip(-0.5 * gain / (values - value - gain), 0.1, 0.5)
        # Where the function bends downwards, nothing is learned but that a step may be longer.
        longer = jnp.where(bent | (rounds == 0), 1.0, LONGER * s.share)
        share = jnp.where(taken, longer, shorter)
        x = jnp.where(taken[:, None], x + move, x)
        gradient = jnp.where(taken[:, None], slopes, gradient)
        value = jnp.where(taken, values, value)
        expected, lost = -0.5 * slope, ~(share >= EPS)
        flat = jnp.isfinite(value) & (jnp.abs(gradient).max(axis=1) <= TOLERANCE)
        done = flat | (stale >= STALE) | lost | jnp.isinf(value)
        # Once near its end, only the lowest search goes on.
        idle = taken & (expected <= NEAR) & (rounds > 0) & (value > value.min())
        ends = Ends(x, value, gradient, rounds + 1)
        return _Searches(ends, s.going & ~(done | idle), inverse, s.fresh & ~bent, share, stale)

    begin = Ends(starts, infinite, jnp.zeros_like(starts), jnp.zeros((), jnp.int32))
    inverse = jnp.tile(jnp.eye(size), (count, 1, 1))
    s = _Searches(begin, going, inverse, jnp.ones(count, bool), zero + 1.0, zero)
    return jax.lax.while_loop(unfinished, proceed, s).ends


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices * vectors[:, None, :]).sum(axis=2)


def _evaluate(fun: Callable[..., Any], points: Array, going: Array) -> Any:
    """Evaluate the searches that are not finished, one after the other."""

    def add(at: Array, results: tuple[Array, Array]) -> tuple[Array, Array]:
        def one(results: tuple[Array, Array]) -> tuple[Array, Array]:
            value, slopes = _finite(*fun(points[at]))
            return results[0].at[at].set(value), results[1].at[at].set(slopes)

        return jax.lax.cond(going[at], one, lambda results: results, results)

    nothing = jnp.full(len(points), jnp.inf), jnp.zeros_like(points)
    return jax.lax.fori_loop(0, len(points), add, nothing)


def _evaluate_together(fun: Callable[..., Any], points: Array, _: Array) -> Any:
    """Evaluate all searches side by side."""
    return jax.vmap(lambda point: _finite(*fun(point)))(points)


def _finite(value: Array, slopes: Array) -> tuple[Array, Array]:
    finite = jnp.isfinite(value) & jnp.isfinite(slopes).all()
    return jnp.where(finite, value, jnp.inf), jnp.where(finite, slopes, 0.0)


def _learn(s: _Searches, move: Array, change: Array, taken: Array) -> tuple[Array, Array]:
    """Tell where a function bends upwards along a step taken, and update BFGS's matrix there."""
    bend = (move * change).sum(axis=1)
    bent = taken & (bend > EPS * (move**2).sum(axis=1))
    # Where a function is flat, the first step tells how flat (Nocedal and Wright, equation 6.20).
    scale = jnp.where(s.fresh, jnp.maximum(bend / (change**2).sum(axis=1), 1.0), 1.0)
    inverse = scale[:, None, None] * s.inverse
    turned = _times(inverse, change)
    along = (0.5 * (1.0 + (change * turned).sum(axis=1) / bend))[:, None] * move - turned
    half = (along / bend[:, None])[:, :, None] * move[:, None, :]
    learned = inverse + half + half.swapaxes(1, 2)
    return bent, jnp.where(bent[:, None, None], learned, s.inverse)

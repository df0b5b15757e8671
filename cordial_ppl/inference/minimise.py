"""Minimisation of many small smooth functions at once, each from one start or from several.

Newton's direction where second derivatives are given, else that of BFGS, along which a step is
shortened until the function falls enough (Nocedal and Wright, 2nd ed., Sections 3.1 and 6.1).
Each search has its step length; a round evaluates each unfinished search at one point.

The functions take NumPy arrays, or JAX arrays inside a compiled program.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.arrays import namespace

Function = Callable[[Any, Any], tuple[Any, Any]]
"""From points `[A, P]`, and the problem that each belongs to, to values and gradients; with JAX
from one point.  A value that is not finite means that a step went too far."""

Hessian = Callable[[Float[np.ndarray, "A P"], Int[np.ndarray, " A"]], Float[np.ndarray, "A P P"]]

DOWN = 1e-4
"""What a step must gain at least, of what the slope at its start promises."""

LONGER = 3.0
"""How much longer the next step is where the function bends downwards."""

STALE = 8
"""Steps in a row that change the value by no more than rounding, after which a search ends."""

EPS = float(np.finfo(np.float64).eps)


class Ends(NamedTuple):
    """Where searches ended.

    Attributes:
        x: the points, shape `[L, P]`.
        value: the functions there; infinite where a function was not finite at the start.
        gradient: their gradients there.
        gradient_norm: largest absolute components of these.
        converged: whether that is zero to the tolerance, or to rounding.
        rounds: evaluations that the slowest search took.
    """

    x: Float[Any, "L P"]
    value: Float[Any, " L"]
    gradient: Float[Any, "L P"]
    gradient_norm: Float[Any, " L"]
    converged: Bool[Any, " L"]
    rounds: Any

    def lowest(self, each: int) -> "Ends":
        """The lowest of the ends of each problem, where it has so many, one after the other."""
        lowest = self.value.reshape(-1, each).argmin(axis=1)
        best = lowest + each * np.arange(len(lowest))
        return Ends(*(part[best] for part in self[:-1]), rounds=self.rounds)


def minimise(
    fun: Function,
    starts: Float[np.ndarray, "B S P"],
    hessian: Hessian | None = None,
    **settings: Any,
) -> Ends:
    """Minimise B functions of NumPy arrays, each from S starts; the lowest end of each.

    Arguments are those of :func:`search`.
    """
    problems, each, size = starts.shape
    points = np.array(starts, np.float64).reshape(-1, size)
    index, going = np.repeat(np.arange(problems), each), np.full(problems * each, True)
    return search(fun, points, index, going, hessian, **settings).lowest(each)


class _Searches(NamedTuple):
    """Searches: where they are, as in `Ends`, which are not finished, and what they know.

    Attributes:
        inverse: inverse second derivatives, as BFGS knows them.
        fresh: whether it has learned nothing yet.
        share: of the full step, what is tried next.
        stale: steps in a row that changed nothing.
    """

    ends: Ends
    going: Bool[Any, " L"]
    inverse: Float[Any, "L P P"]
    fresh: Bool[Any, " L"]
    share: Float[Any, " L"]
    stale: Float[Any, " L"]


def search(
    fun: Function,
    starts: Float[Any, "L P"],
    index: Int[Any, " L"],
    going: Bool[Any, " L"],
    hessian: Hessian | None = None,
    *,
    tolerance: float = 1e-9,
    near: float = 0.01,
    max_rounds: Any = 1000,
    max_length: float = 10.0,
) -> Ends:
    """Search for minima of several functions; of each from one start or from several.

    All searches of a problem go on until they are near their ends, and the lowest to its end.

    Args:
        fun: the functions; JAX traces them once.
        starts: where to begin.
        index: the problem that each search is of.
        going: which searches there are; the others are not begun.
        hessian: from points and problems to second derivatives, which must be positive definite;
            of NumPy arrays only.  Without them BFGS begins with a short step down the slope.
        tolerance: largest gradient component of an end.
        near: difference of values that does not matter between the searches of a problem.
        max_rounds: evaluations of a search at most; one evaluates the starts.
        max_length: longest step in the Euclidean norm.
    """
    xp, (count, size) = namespace(starts), starts.shape
    infinite, none, zero = xp.full(count, xp.inf), xp.zeros(count, bool), xp.zeros(count)
    nowhere = Ends(starts, infinite, xp.zeros_like(starts), infinite, none, 0)
    inverse = xp.tile(xp.eye(size), (count, 1, 1))

    def unfinished(s: _Searches) -> Any:
        return s.going.any() & (s.ends.rounds < max_rounds)

    def proceed(s: _Searches) -> _Searches:
        x, value, gradient, _, converged, rounds = s.ends
        if hessian:
            at, direction = np.flatnonzero(s.going), np.zeros_like(x)
            bend = hessian(x[at], index[at]) if rounds else np.eye(size)
            direction[at] = -np.linalg.solve(bend, gradient[at, :, None])[:, :, 0]
        else:
            direction = -_times(s.inverse, gradient)
        slope = (direction * gradient).sum(axis=1)
        length = xp.sqrt((direction**2).sum(axis=1)) + EPS * EPS
        longest = max_length if hessian else xp.where(s.fresh, 1.0, max_length)
        step = s.share * xp.minimum(1.0, longest / length)
        move = step[:, None] * direction
        found, slopes = (_at_once if xp is np else _in_turn)(fun, x + move, index, s.going)
        # Differences of values may be rounding noise.
        gain, noise = step * slope, EPS**0.8 * (1.0 + xp.abs(value))
        taken = s.going & (found <= value + DOWN * gain + noise)
        bent, inverse = (taken, s.inverse) if hessian else _learn(s, move, slopes - gradient, taken)
        same = found >= value - 4.0 * EPS * (1.0 + xp.abs(value))
        stale = xp.where(taken, xp.where(same, s.stale + 1.0, 0.0), s.stale)
        # After a step too far the next goes to the minimum of the parabola through what is known.
        shorter = s.share * xp.clip(-0.5 * gain / (found - value - gain), 0.1, 0.5)
        # Where the function bends downwards, nothing is learned but that a step may be longer.
        longer = xp.where(bent | (rounds == 0), 1.0, LONGER * s.share)
        share = xp.where(taken, longer, shorter)
        x, gradient = (
            xp.where(taken[:, None], new, old) for new, old in ((x + move, x), (slopes, gradient))
        )
        value = xp.where(taken, found, value)
        norm = xp.where(xp.isfinite(value), xp.abs(gradient).max(axis=1), xp.inf)
        expected, lost = -0.5 * slope, share < EPS
        at_end = (norm <= tolerance) | (stale >= STALE) | (lost & (expected <= noise))
        # Once near its end, only the lowest search of a problem goes on.
        idle = taken & (expected <= near) & (rounds > 0) & (value > _lowest(value, index))
        ends = Ends(x, value, gradient, norm, xp.where(s.going, at_end, converged), rounds + 1)
        going = s.going & ~(at_end | lost | idle | xp.isinf(value))
        return _Searches(ends, going, inverse, s.fresh & ~bent, share, stale)

    s = _Searches(nowhere, going, inverse, ~none, zero + 1.0, zero)
    if xp is not np:
        return jax.lax.while_loop(unfinished, proceed, s).ends
    with np.errstate(all="ignore"):
        while unfinished(s):
            s = proceed(s)
    return s.ends


def _times(matrices: Any, vectors: Any) -> Any:
    return (matrices * vectors[:, None, :]).sum(axis=2)


def _lowest(value: Any, index: Any) -> Any:
    """The lowest value of each search's problem."""
    if namespace(value) is not np:
        same = index[:, None] == index[None]
        return namespace(value).where(same, value[None], np.inf).min(axis=1)
    lowest = np.full(value.shape, np.inf)
    np.minimum.at(lowest, index, value)
    return lowest[index]


def _at_once(fun: Function, points: Any, index: Any, going: Any) -> tuple[Any, Any]:
    """Values and gradients of the searches that are not finished; NumPy."""
    value, gradient, at = np.full(len(points), np.inf), np.zeros_like(points), np.flatnonzero(going)
    found, slopes = fun(points[at], index[at])
    finite = np.isfinite(found) & np.isfinite(slopes).all(axis=1)
    value[at] = np.where(finite, found, np.inf)
    gradient[at] = np.where(finite[:, None], slopes, 0.0)
    return value, gradient


def _in_turn(fun: Function, points: Any, index: Any, going: Any) -> tuple[Any, Any]:
    """The same in JAX, one after the other."""
    xp = namespace(points)

    def add(at: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        def one(found: tuple[Any, Any]) -> tuple[Any, Any]:
            value, slopes = fun(points[at], index[at])
            finite = xp.isfinite(value) & xp.isfinite(slopes).all()
            value, slopes = xp.where(finite, value, xp.inf), xp.where(finite, slopes, 0.0)
            return found[0].at[at].set(value), found[1].at[at].set(slopes)

        return jax.lax.cond(going[at], one, lambda found: found, found)

    nothing = xp.full(len(points), xp.inf), xp.zeros_like(points)
    return jax.lax.fori_loop(0, len(points), add, nothing)


def _learn(s: _Searches, move: Any, change: Any, taken: Any) -> tuple[Any, Any]:
    """Where a function bends upwards along a step that is taken, and what BFGS learns of that."""
    xp = namespace(move)
    bend = (move * change).sum(axis=1)
    bent = taken & (bend > EPS * (move**2).sum(axis=1))
    # Where a function is flat, the first step tells how flat (Nocedal and Wright, equation 6.20).
    scale = xp.where(s.fresh, xp.maximum(bend / (change**2).sum(axis=1), 1.0), 1.0)
    inverse = scale[:, None, None] * s.inverse
    turned = _times(inverse, change)
    along = (0.5 * (1.0 + (change * turned).sum(axis=1) / bend))[:, None] * move - turned
    half = (along / bend[:, None])[:, :, None] * move[:, None, :]
    learned = inverse + half + half.swapaxes(1, 2)
    return bent, xp.where(bent[:, None, None], learned, s.inverse)

"""Minimisation of many small smooth functions at once, each from one start or from several.

Newton's direction where second derivatives are given, else that of BFGS, along which a step is
shortened until the function falls enough (Nocedal and Wright, 2nd ed., Sections 3.1 and 6.1).
Every search has a step length of its own, and a round evaluates each unfinished search at one point.

The same lines serve NumPy arrays, at once, and JAX arrays, as one loop of a compiled program.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.arrays import namespace

Function = Callable[[Float[Any, "A P"], Int[Any, " A"]], tuple[Float[Any, " A"], Float[Any, "A P"]]]
"""From points, and the problem that each belongs to, to values and gradients; a value that is not
finite means that a step went too far."""

Hessian = Callable[[Float[np.ndarray, "A P"], Int[np.ndarray, " A"]], Float[np.ndarray, "A P P"]]

DOWN = 1e-4
"""What a step must gain at least, of what the slope at its start promises."""

STALE = 8
"""Steps in a row that change the value by no more than rounding, after which a search ends."""

EPS = float(np.finfo(np.float64).eps)


class Searches(NamedTuple):
    """Searches, finished or not.

    Attributes:
        x: where they are, shape `[L, P]`.
        value: the functions there; infinite where a function was not finite at the start.
        gradient: their gradients there, shape `[L, P]`.
        norm: largest absolute components of these.
        converged: whether that is zero to the tolerance, or to rounding.
        going: whether they are not finished.
        inverse: inverse second derivatives as BFGS knows them, shape `[L, P, P]`.
        fresh: whether it has learned nothing yet.
        share: of the full step, what is tried next.
        stale: steps in a row that changed nothing.
        rounds: evaluations that the slowest search took.
    """

    x: Float[Any, "L P"]
    value: Float[Any, " L"]
    gradient: Float[Any, "L P"]
    norm: Float[Any, " L"]
    converged: Bool[Any, " L"]
    going: Bool[Any, " L"]
    inverse: Float[Any, "L P P"]
    fresh: Bool[Any, " L"]
    share: Float[Any, " L"]
    stale: Float[Any, " L"]
    rounds: Any


class Minimum(NamedTuple):
    """The lowest end of the searches of each problem.

    Attributes:
        x: the points, shape `[B, P]`.
        value: the functions there; infinite where a function was not finite at any start.
        gradient_norm: largest absolute gradient component there.
        converged: whether that is zero to the tolerance, or to rounding.
        rounds: evaluations that the slowest search took.
    """

    x: Float[np.ndarray, "B P"]
    value: Float[np.ndarray, " B"]
    gradient_norm: Float[np.ndarray, " B"]
    converged: Bool[np.ndarray, " B"]
    rounds: int


def minimise(
    fun: Function,
    starts: Float[np.ndarray, "B S P"],
    *,
    hessian: Hessian | None = None,
    tolerance: float = 1e-9,
    near: float = 0.01,
    max_rounds: int = 1000,
    max_length: float = 10.0,
) -> Minimum:
    """Minimise B functions of NumPy arrays, each from S starts, by :func:`search`."""
    problems, each, size = starts.shape
    points, index = np.array(starts, np.float64).reshape(-1, size), np.arange(problems * each)
    found = search(
        fun,
        points,
        index // each,
        np.full(len(index), True),
        hessian=hessian,
        tolerance=tolerance,
        near=near,
        max_rounds=max_rounds,
        max_length=max_length,
    )
    best = np.arange(problems) * each + found.value.reshape(problems, each).argmin(axis=1)
    return Minimum(*(part[best] for part in (found.x, found.value, found.norm, found.converged)),
                   found.rounds)


def search(
    fun: Function,
    starts: Float[Any, "L P"],
    index: Int[Any, " L"],
    going: Bool[Any, " L"],
    *,
    hessian: Hessian | None = None,
    tolerance: float = 1e-9,
    near: float = 0.01,
    max_rounds: Any = 1000,
    max_length: float = 10.0,
) -> Searches:
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

    Returns:
        The ends of the searches.
    """
    xp, (count, size) = namespace(starts), starts.shape
    infinite, none = xp.full(count, xp.inf), xp.zeros(count, bool)
    inverse = xp.tile(xp.eye(size), (count, 1, 1))
    parts = inverse, ~none, xp.ones(count), xp.zeros(count)
    begin = Searches(starts, infinite, xp.zeros_like(starts), infinite, none, going, *parts, 0)

    def unfinished(s: Searches) -> Any:
        return s.going.any() & (s.rounds < max_rounds)

    def proceed(s: Searches) -> Searches:
        if hessian:
            at, direction = np.flatnonzero(s.going), np.zeros_like(s.x)
            bend = hessian(s.x[at], index[at]) if s.rounds else np.eye(size)
            direction[at] = -np.linalg.solve(bend, s.gradient[at, :, None])[:, :, 0]
        else:
            direction = -_times(s.inverse, s.gradient)
        slope = (direction * s.gradient).sum(axis=1)
        length = xp.sqrt((direction**2).sum(axis=1)) + EPS * EPS
        first = max_length if hessian else xp.where(s.fresh, 1.0, max_length)
        step = s.share * xp.minimum(1.0, first / length)
        move = step[:, None] * direction
        value, gradient = (_at_once if xp is np else _in_turn)(fun, s.x + move, index, s.going)
        # Differences of values may be rounding noise.
        noise, gain = EPS**0.8 * (1.0 + xp.abs(s.value)), step * slope
        taken = s.going & (value <= s.value + DOWN * gain + noise)
        inverse, fresh = s.inverse, s.fresh
        if not hessian:
            inverse, fresh = _learn(s, taken, move, gradient - s.gradient)
        same = value >= s.value - 4.0 * EPS * (1.0 + xp.abs(s.value))
        stale = xp.where(taken, xp.where(same, s.stale + 1.0, 0.0), s.stale)
        # Where a step went too far, the parabola through what is known has its minimum.
        shorter = s.share * xp.clip(-0.5 * gain / (value - s.value - gain), 0.1, 0.5)
        share = xp.where(taken, 1.0, shorter)
        x = xp.where(taken[:, None], s.x + move, s.x)
        gradient = xp.where(taken[:, None], gradient, s.gradient)
        value = xp.where(taken, value, s.value)
        norm = xp.where(xp.isfinite(value), xp.abs(gradient).max(axis=1), xp.inf)
        lost = share < EPS
        converged = (norm <= tolerance) | (stale >= STALE) | (lost & (-0.5 * slope <= noise))
        # Once near its end, only the lowest search of a problem goes on.
        near_end = taken & (-0.5 * slope <= near) & (s.rounds > 0)
        done = converged | lost | xp.isinf(value) | (near_end & (value > _lowest(value, index)))
        converged = xp.where(s.going, converged, s.converged)
        going = s.going & ~done
        found = x, value, gradient, norm, converged, going, inverse, fresh, share, stale
        return Searches(*found, s.rounds + 1)

    if xp is not np:
        return jax.lax.while_loop(unfinished, proceed, begin)
    s = begin
    with np.errstate(all="ignore"):
        while unfinished(s):
            s = proceed(s)
    return s


def _times(matrices: Any, vectors: Any) -> Any:
    return (matrices * vectors[:, None, :]).sum(axis=2)


def _lowest(value: Any, index: Any) -> Any:
    """The lowest value of each search's problem."""
    xp = namespace(value)
    lowest = xp.full(value.shape, xp.inf)
    if xp is not np:
        return lowest.at[index].min(value)[index]
    np.minimum.at(lowest, index, value)
    return lowest[index]


def _at_once(fun: Function, points: Any, index: Any, going: Any) -> tuple[Any, Any]:
    """Values and gradients of the searches that are not finished; NumPy."""
    value, gradient, at = np.full(len(points), np.inf), np.zeros_like(points), np.flatnonzero(going)
    value[at], gradient[at] = _finite(*fun(points[at], index[at]))
    return value, gradient


def _in_turn(fun: Function, points: Any, index: Any, going: Any) -> tuple[Any, Any]:
    """The same in JAX, one after the other."""

    def add(at: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        def one(found: tuple[Any, Any]) -> tuple[Any, Any]:
            value, gradient = _finite(*fun(points[at][None], index[at][None]))
            return found[0].at[at].set(value[0]), found[1].at[at].set(gradient[0])

        return jax.lax.cond(going[at], one, lambda found: found, found)

    xp, count = namespace(points), len(points)
    nothing = xp.full(count, xp.inf), xp.zeros_like(points)
    return jax.lax.fori_loop(0, count, add, nothing)


def _finite(value: Any, gradient: Any) -> tuple[Any, Any]:
    xp = namespace(value)
    finite = xp.isfinite(value) & xp.isfinite(gradient).all(axis=1)
    return xp.where(finite, value, xp.inf), xp.where(finite[:, None], gradient, 0.0)


def _learn(s: Searches, taken: Any, move: Any, change: Any) -> tuple[Any, Any]:
    """Update the inverse second derivatives of BFGS by the steps that are taken."""
    xp = namespace(move)
    bend = (move * change).sum(axis=1)
    learns = taken & (bend > EPS * (move**2).sum(axis=1))
    turned = _times(s.inverse, change)
    along = (0.5 * (1.0 + (change * turned).sum(axis=1) / bend))[:, None] * move - turned
    half = (along / bend[:, None])[:, :, None] * move[:, None, :]
    learned = s.inverse + half + half.swapaxes(1, 2)
    return xp.where(learns[:, None, None], learned, s.inverse), s.fresh & ~learns

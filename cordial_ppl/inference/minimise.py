"""Minimisation of many small smooth functions at once, each from one start or from several.

Newton's direction where second derivatives are given, else that of BFGS, along which a step is
sought that meets the weak Wolfe conditions (Nocedal and Wright, 2nd ed., Sections 3.1 and 6.1), or
their approximation where values are rounding noise (Hager and Zhang 2005).  Every search has a
step length of its own, and a round evaluates each unfinished search at one point, in one call.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Points = Float[np.ndarray, "A P"]
Index = Int[np.ndarray, " A"]

DOWN, LEFT = 1e-4, 0.9
"""Of the slope at its start, what a step must gain at least, and what it may leave at most."""

STALE = 8
"""Steps in a row that change the value by no more than rounding, after which a search ends."""

EPS = float(np.finfo(np.float64).eps)


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


class _Searches:
    """Unfinished searches; each tries `x + step * direction`, a step between `low` and `high`."""

    def __init__(self, x: np.ndarray, value: np.ndarray, gradient: np.ndarray, inverse: np.ndarray):
        count = len(x)
        self.number, self.x, self.value, self.gradient = np.arange(count), x, value, gradient
        self.inverse = np.tile(inverse, (count // len(inverse), 1, 1))
        self.direction = np.zeros_like(x)
        self.slope, self.step, self.low, self.high, self.longest = np.zeros((5, count))
        self.fresh, self.stale = np.ones(count, bool), np.zeros(count)

    def keep(self, which: np.ndarray) -> None:
        """Forget the other searches."""
        for name, part in vars(self).items():
            setattr(self, name, part[which])


def minimise(
    fun: Callable[[Points, Index], tuple[Float[np.ndarray, " A"], Points]],
    starts: Float[np.ndarray, "B S P"],
    *,
    hessian: Callable[[Points, Index], Float[np.ndarray, "A P P"]] | None = None,
    inverse: Float[np.ndarray, "B P P"] | None = None,
    tolerance: float = 1e-9,
    near: float = 0.01,
    max_rounds: int = 1000,
    max_length: float = 10.0,
) -> Minimum:
    """Minimise B functions, each from S starts.

    All searches of a problem go on until they are near their ends, and the lowest to its end.

    Args:
        fun: from points, and the problem that each belongs to, to values and gradients; a value
            that is not finite means that a step went too far.
        starts: where to begin.
        hessian: from the same to second derivatives, which must be positive definite.
        inverse: of second derivatives, near each problem's only start; without them BFGS begins
            with a short step down the slope.
        tolerance: largest gradient component of an end.
        near: difference of values that does not matter between the searches of a problem.
        max_rounds: evaluations of a search at most.
        max_length: longest step in the Euclidean norm.

    Returns:
        The lowest end of each problem.
    """
    problems, each, size = starts.shape
    x = np.array(starts, np.float64).reshape(-1, size)

    def evaluate(x: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(all="ignore"):
            value, gradient = fun(x, number // each)
        finite = np.isfinite(value) & np.isfinite(gradient).all(axis=1)
        return np.where(finite, value, np.inf), np.where(finite[:, None], gradient, 0.0)

    def aim(s: _Searches, at: np.ndarray, longest: float) -> None:
        """Give searches a new direction, and the first step along it."""
        if not len(at):
            return
        gradient = s.gradient[at]
        if hessian is None:
            direction = -(s.inverse[at] @ gradient[:, :, None])[:, :, 0]
        else:
            with np.errstate(all="ignore"):
                bend = hessian(s.x[at], s.number[at] // each)
            direction = -np.linalg.solve(bend, gradient[:, :, None])[:, :, 0]
        length = np.maximum(np.sqrt(np.vecdot(direction, direction)), EPS * EPS)
        s.direction[at], s.slope[at] = direction, np.vecdot(direction, gradient)
        s.step[at] = np.minimum(1.0, longest / length)
        s.low[at], s.high[at], s.longest[at] = 0.0, np.inf, max_length / length

    values, gradients = evaluate(x, np.arange(len(x)))
    norms = np.where(np.isfinite(values), np.abs(gradients).max(axis=1), np.inf)
    settled = np.zeros(len(x), bool)
    settled[norms <= tolerance] = True
    s = _Searches(x, values, gradients, np.eye(size)[None] if inverse is None else inverse)
    s.fresh[:] = inverse is None
    s.keep(np.isfinite(values) & (norms > tolerance))
    aim(s, np.arange(len(s.number)), 1.0 if hessian is None and inverse is None else max_length)
    rounds = 1
    while len(s.number) and rounds < max_rounds:
        rounds += 1
        trial = s.x + s.step[:, None] * s.direction
        value, gradient = evaluate(trial, s.number)
        along = np.vecdot(gradient, s.direction)
        low_enough = value <= s.value + DOWN * s.step * s.slope
        noise = EPS**0.8 * (1.0 + np.abs(s.value))
        low_enough |= (value <= s.value + noise) & (along <= (2.0 * DOWN - 1.0) * s.slope)
        short = low_enough & (along < LEFT * s.slope) & (s.step < s.longest)
        taken = np.flatnonzero(low_enough & ~short)
        done = _adjust(s, value, along, low_enough, short)
        if hessian is None:
            _learn(s, taken, trial, gradient)
        same = value >= s.value - 4.0 * EPS * (1.0 + np.abs(s.value))
        s.stale[taken] = np.where(same[taken], s.stale[taken] + 1, 0)
        s.x[taken], s.value[taken], s.gradient[taken] = trial[taken], value[taken], gradient[taken]
        x[s.number], values[s.number] = s.x, s.value
        norms[s.number] = norm = np.abs(s.gradient).max(axis=1)
        lost = done & (-0.5 * s.slope <= noise)
        settled[s.number] = (norm <= tolerance) | (s.stale >= STALE) | lost
        done |= settled[s.number]
        aim(s, taken[~done[taken]], max_length)
        if each > 1:
            lowest = values.reshape(problems, each).argmin(axis=1)[s.number // each]
            done |= (-0.5 * s.slope <= near) & (s.number % each != lowest)
        if done.any():
            s.keep(~done)
    best = np.arange(problems) * each + values.reshape(problems, each).argmin(axis=1)
    return Minimum(x[best], values[best], norms[best], settled[best], rounds)


def _adjust(
    s: _Searches, value: np.ndarray, along: np.ndarray, low_enough: np.ndarray, short: np.ndarray
) -> np.ndarray:
    """Lengthen the steps that were too short and shorten those too long; whether that is done."""
    s.low = np.where(short, s.step, s.low)
    s.high = np.where(low_enough, s.high, s.step)
    # The minimum of a cubic (Nocedal and Wright, equation 3.59), if there is one.
    with np.errstate(all="ignore"):
        bend = s.slope + along - 3.0 * (value - s.value) / s.step
        width = np.sqrt(bend**2 - s.slope * along)
        root = s.step * (1.0 - (along + width - bend) / (along - s.slope + 2.0 * width))
    root = np.where(np.isfinite(root), root, np.where(short, np.inf, 0.0))
    width = np.minimum(s.high, s.longest) - s.low
    inside = np.clip(root, s.low + 0.1 * width, s.low + 0.9 * width)
    beyond = np.minimum(np.clip(root, 2.0 * s.step, 5.0 * s.step), s.longest)
    s.step = np.where(np.isinf(s.high), beyond, inside)
    nothing = width * np.abs(s.direction).max(axis=1) <= EPS * (1.0 + np.abs(s.x).max(axis=1))
    return nothing | (s.slope >= 0.0)


def _learn(s: _Searches, at: np.ndarray, trial: np.ndarray, gradient: np.ndarray) -> None:
    """Update the inverse Hessians of BFGS by the steps that are taken."""
    move, change = trial[at] - s.x[at], gradient[at] - s.gradient[at]
    bend = np.vecdot(move, change)
    inverse = s.inverse[at]
    # The first step tells the scale (Nocedal and Wright, equation 6.20).
    scale = bend / np.maximum(np.vecdot(change, change), EPS * EPS)
    fresh = s.fresh[at] & (bend > 0.0)
    inverse = np.where(fresh[:, None, None], scale[:, None, None] * inverse, inverse)
    s.fresh[at] = False
    turned = (inverse @ change[:, :, None])[:, :, 0]
    share = 1.0 / np.where(bend > 0.0, bend, np.inf)
    along = (0.5 * (1.0 + np.vecdot(change, turned) * share))[:, None] * move - turned
    half = (share[:, None] * along)[:, :, None] * move[:, None, :]
    s.inverse[at] = inverse + half + half.transpose(0, 2, 1)

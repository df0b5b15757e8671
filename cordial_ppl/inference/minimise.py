"""Newton's method for many small convex problems at once, in NumPy.

Along Newton's direction a step is shortened until the function falls enough (Nocedal and Wright,
2nd ed., Section 3.1).  A round evaluates each unfinished search at one point.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Points = Float[np.ndarray, "A P"]
Index = Int[np.ndarray, " A"]

DOWN = 1e-4
"""What a step must gain at least, of what the slope at its start promises."""

LONGEST = 10.0
"""The longest step, in the Euclidean norm."""

EPS = float(np.finfo(np.float64).eps)


class Ends(NamedTuple):
    """Where searches ended.

    Attributes:
        x: the points.
        value: the functions there; infinite where a function was not finite at the start.
        gradient_norm: largest absolute components of their gradients there.
        converged: whether that is zero to the tolerance, or the value is lowest to rounding.
    """

    x: Float[np.ndarray, "B P"]
    value: Float[np.ndarray, " B"]
    gradient_norm: Float[np.ndarray, " B"]
    converged: Bool[np.ndarray, " B"]


@np.errstate(all="ignore")
def minimise(
    fun: Callable[[Points, Index], tuple[np.ndarray, np.ndarray]],
    starts: Float[np.ndarray, "B *one P"],
    hessian: Callable[[Points, Index], Float[np.ndarray, "A P P"]],
    *,
    tolerance: float = 1e-9,
    max_rounds: int = 1000,
) -> Ends:
    """Minimise B convex functions.

    Args:
        fun: from points, and the number of the function that each belongs to, to values and
            gradients.  A value that is not finite means that a step went too far.
        starts: where to begin.
        hessian: likewise to second derivatives, which must be positive definite.
        tolerance: largest gradient component of an end.
        max_rounds: steps at most.
    """
    x = np.array(starts, np.float64).reshape(len(starts), -1)
    value, gradient = fun(x, np.arange(len(x)))
    value = np.where(np.isfinite(value) & np.isfinite(gradient).all(axis=1), value, np.inf)
    share, converged = np.ones(len(x)), np.abs(gradient).max(axis=1) <= tolerance
    going = np.isfinite(value) & ~converged
    for _ in range(max_rounds):
        at = np.flatnonzero(going)
        if not at.size:
            break
        direction = -np.linalg.solve(hessian(x[at], at), gradient[at, :, None])[:, :, 0]
        slope, length = np.vecdot(direction, gradient[at]), np.linalg.norm(direction, axis=1)
        step = share[at] * np.minimum(1.0, LONGEST / length)
        points = x[at] + step[:, None] * direction
        found, slopes = fun(points, at)
        # Differences of values may be rounding noise.
        gain, noise = step * slope, 1.0 + np.abs(value[at])
        taken = (found <= value[at] + DOWN * gain + EPS**0.8 * noise) & np.isfinite(slopes).all(1)
        # After a step too far the next goes to the minimum of the parabola through what is known.
        shorter = np.clip(-0.5 * gain / (found - value[at] - gain), 0.1, 0.5)
        share[at] = np.where(taken, 1.0, share[at] * np.where(np.isnan(shorter), 0.1, shorter))
        new = at[taken]
        x[new], value[new], gradient[new] = points[taken], found[taken], slopes[taken]
        # What a whole step was to gain can be less than rounding: the next would do no better.
        last = taken & (-0.5 * slope <= EPS * noise)
        converged[at] = last | (np.abs(gradient[at]).max(axis=1) <= tolerance)
        going[at] = ~converged[at] & (share[at] >= EPS)
    norm = np.where(np.isfinite(value), np.abs(gradient).max(axis=1), np.inf)
    return Ends(x, value, norm, converged)

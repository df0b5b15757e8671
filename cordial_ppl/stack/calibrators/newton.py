"""Newton's method for many small smooth functions at once, each from a start of its own."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

Points = Float[np.ndarray, "A P"]
Which = Int[np.ndarray, " A"]

EPS = float(np.finfo(np.float64).eps)

DOWN = 1e-4
"""What a step must gain at least, of what the slope at its start promises."""

STALE = 8
"""Steps in a row that change the value by no more than rounding, after which a search ends."""

MAX_ROUNDS = 1000
"""Evaluations of a function at most."""

MAX_LENGTH = 10.0
"""Longest step in the Euclidean norm."""


@np.errstate(all="ignore")
def newton(
    fun: Callable[[Points, Which], tuple[Float[np.ndarray, " A"], Points]],
    hessian: Callable[[Points, Which], Float[np.ndarray, "A P P"]],
    starts: Float[np.ndarray, "B P"],
    tolerance: float = 1e-11,
) -> tuple[Float[np.ndarray, "B P"], Float[np.ndarray, " B"]]:
    """Minimise B functions; what is at its end is evaluated no more.

    Args:
        fun: from points, and the number 0..B-1 of the function of each, to values and gradients.  A
            value that is not finite means that a step went too far.
        hessian: second derivatives, or others that are positive definite, such as the expected
            ones.
        starts: where to begin.
        tolerance: largest component of the gradient at an end; a slight penalty alone has slight
            slopes.

    Returns:
        Where the searches ended, and the values there.

    Source:
        Nocedal and Wright (2006), "Numerical optimization", Section 3.1: a step is shortened until
        it gains enough, by the parabola through what is known.
    """
    x, going = np.array(starts, np.float64), np.arange(len(starts))
    value, slope = map(np.array, fun(x, going))
    share, stale = np.ones(len(x)), np.zeros(len(x), int)
    going = going[np.isfinite(value) & (np.abs(slope).max(axis=1, initial=0.0) > tolerance)]
    for _ in range(MAX_ROUNDS):
        if not len(going):
            break
        before, gradient = value[going], slope[going]
        direction = -np.linalg.solve(hessian(x[going], going), gradient[:, :, None])[:, :, 0]
        length = np.linalg.norm(direction, axis=1) + EPS**2
        step = share[going] * np.minimum(1.0, MAX_LENGTH / length)
        trial = x[going] + step[:, None] * direction
        trial_value, trial_slope = fun(trial, going)
        trial_value = np.where(
            np.isfinite(trial_slope).all(axis=1) & np.isfinite(trial_value), trial_value, np.inf
        )
        # Differences of values may be rounding noise.
        promise, noise = np.vecdot(direction, gradient), EPS**0.8 * (1.0 + np.abs(before))
        taken = trial_value <= before + DOWN * step * promise + noise
        same = trial_value >= before - 4.0 * EPS * (1.0 + np.abs(before))
        stale[going] = np.where(taken, np.where(same, stale[going] + 1, 0), stale[going])
        shorter = np.clip(-0.5 * step * promise / (trial_value - before - step * promise), 0.1, 0.5)
        share[going] = np.where(taken, 1.0, shorter * share[going])
        some = going[taken]
        x[some], value[some], slope[some] = trial[taken], trial_value[taken], trial_slope[taken]
        done = np.abs(slope[going]).max(axis=1) <= tolerance
        going = going[~(done | (stale[going] >= STALE) | ~(share[going] >= EPS))]
    return x, value

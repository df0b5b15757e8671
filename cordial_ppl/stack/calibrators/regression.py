"""Penalised softmax regression, and Newton's method for many small smooth functions at once."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax, softmax

from cordial_ppl.runtime.arrays import EPS
from cordial_ppl.stack.calibrators.samples import some

Points = Float[np.ndarray, "A P"]
Which = Int[np.ndarray, " A"]


DOWN = 1e-4
"""What a step must gain at least, of what the slope at its start promises."""

TOLERANCE = 1e-11
"""Largest slope at an end; a slight penalty alone has slight slopes."""

STALE = 8
"""Steps in a row that change the value by no more than rounding, after which a search ends."""

MAX_ROUNDS = 1000
"""Evaluations of a function at most."""

MAX_LENGTH = 10.0
"""Longest step in the Euclidean norm."""

ELEMENTS = 1 << 18
"""Numbers that a round of the search works on; they fit the caches."""


def fit_softmax(
    features: Float[np.ndarray, "samples classes F n"],
    chosen: Float[np.ndarray, "B K n"],
    penalty: Float[np.ndarray, "samples_ K F"],
    centre: Float[np.ndarray, "K F"],
    start: Float[np.ndarray, "B K F"] | None = None,
    tolerance: float = TOLERANCE,
) -> Float[np.ndarray, "B K F"]:
    r"""Fit scores `A_k . x_ik` of classes k by penalised maximum likelihood, for B samples at once.

    .. math:: \min_A\; \mathrm{mean}_{w_i}\,[-\log \mathrm{softmax}_k(A_k \cdot x_{ik})_{z_i}]
        + \tfrac12 \sum_{kf} c_{kf} (A_{kf} - A^0_{kf})^2

    Args:
        features: what the scores are linear in, the same for all classes or for all samples where
            such an axis is of length one.
        chosen: the weight of a row that has this label, else zero; rows without one are ignored.
        penalty: c > 0, of each sample or of all.
        centre: A^0, which is returned if there are no labels.
        start: where the search begins; by default at equal probabilities.
        tolerance: of the gradient, as in `newton`.

    Returns:
        The coefficients A.
    """
    count, size, rows = chosen.shape
    # Curvature is largest at equal probabilities, so Newton's first step from there is short.
    begin = np.zeros((count, *centre.shape)) if start is None else start
    at_once = max(1, ELEMENTS // (size * features.shape[2] * rows))
    runs = [slice(first, first + at_once) for first in range(0, max(count, 1), at_once)]
    blocks = ((some(features, run), chosen[run], some(penalty, run), begin[run]) for run in runs)
    return np.concatenate([_fit_at_once(*block, centre, tolerance) for block in blocks])


def _fit_at_once(
    features: np.ndarray,
    chosen: np.ndarray,
    penalty: np.ndarray,
    start: np.ndarray,
    centre: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Fit as many samples as memory is to hold; arguments are those of `fit_softmax`."""
    (count, size, rows), width = chosen.shape, features.shape[2]
    counts = chosen.sum(axis=(1, 2), keepdims=True)
    shares = chosen / np.where(counts > 0, counts, 1.0)
    seen = shares.sum(axis=1, keepdims=True)
    middle = centre.ravel()

    def parts(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, penalties and scores."""
        inputs = some(features, at)
        scores = x.reshape(-1, size, 1, width) @ inputs
        return inputs, some(penalty, at).reshape(-1, size * width), scores[:, :, 0]

    def loss(x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inputs, pull, scores = parts(x, at)
        logs = log_softmax(scores, axis=1)
        excess = seen[at] * np.exp(logs) - shares[at]
        slopes = (excess[:, :, None] @ inputs.swapaxes(2, 3)).reshape(x.shape)
        far = x - middle
        value = 0.5 * (pull * far**2).sum(axis=1) - (shares[at] * logs).sum(axis=(1, 2))
        return value, slopes + pull * far

    def hessian(x: np.ndarray, at: np.ndarray) -> np.ndarray:
        inputs, pull, scores = parts(x, at)
        pushed = softmax(scores, axis=1)[:, :, None] * inputs
        weighed = seen[at][:, :, None] * pushed
        flat = (len(x), size * width, rows)
        bend = -weighed.reshape(flat) @ pushed.reshape(flat).swapaxes(1, 2)
        k, diagonal = np.arange(size), np.arange(size * width)
        blocks = bend.reshape(-1, size, width, size, width)
        blocks[:, k, :, k, :] += (weighed @ inputs.swapaxes(2, 3)).swapaxes(0, 1)
        # Rounding of a large curvature must not cancel a slight penalty.
        bend[:, diagonal, diagonal] += pull + 8.0 * EPS * np.abs(bend).max(axis=2)
        return bend

    return newton(loss, hessian, start.reshape(count, -1), tolerance)[0].reshape(start.shape)


@np.errstate(all="ignore")
def newton(
    fun: Callable[[Points, Which], tuple[Float[np.ndarray, " A"], Points]],
    hessian: Callable[[Points, Which], Float[np.ndarray, "A P P"]],
    starts: Float[np.ndarray, "B P"],
    tolerance: float = TOLERANCE,
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
        finite = np.isfinite(trial_slope).all(axis=1) & np.isfinite(trial_value)
        trial_value = np.where(finite, trial_value, np.inf)
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

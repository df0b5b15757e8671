"""Penalised softmax regression: a strictly convex problem, for Newton's method."""

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax, softmax

from cordial_ppl.stack.calibrators.newton import EPS, newton
from cordial_ppl.stack.calibrators.samples import some

ELEMENTS = 1 << 18
"""Numbers that a round of the search works on; they fit the caches."""


def fit_softmax(
    features: Float[np.ndarray, "samples classes F n"],
    chosen: Float[np.ndarray, "B K n"],
    penalty: Float[np.ndarray, "samples_ K F"],
    centre: Float[np.ndarray, "K F"],
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

    Returns:
        The coefficients A.
    """
    count, size, rows = chosen.shape
    at_once = max(1, ELEMENTS // (size * features.shape[2] * rows))
    runs = [slice(first, first + at_once) for first in range(0, max(count, 1), at_once)]
    blocks = ((some(features, run), chosen[run], some(penalty, run)) for run in runs)
    return np.concatenate([_fit_at_once(*block, centre) for block in blocks])


def _fit_at_once(
    features: np.ndarray, chosen: np.ndarray, penalty: np.ndarray, centre: np.ndarray
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
        probs = softmax(scores, axis=1)[:, :, None]
        pushed = probs * inputs
        weighed = seen[at][:, :, None] * pushed
        flat = (len(x), size * width, rows)
        bend = -weighed.reshape(flat) @ pushed.reshape(flat).swapaxes(1, 2)
        k, diagonal = np.arange(size), np.arange(size * width)
        blocks = bend.reshape(-1, size, width, size, width)
        blocks[:, k, :, k, :] += (weighed @ inputs.swapaxes(2, 3)).swapaxes(0, 1)
        # Rounding of a large curvature must not cancel a slight penalty.
        bend[:, diagonal, diagonal] += pull + 8.0 * EPS * np.abs(bend).max(axis=2)
        return bend

    # Curvature is largest at equal probabilities, so Newton's first step is short.
    start = np.zeros((count, size * width))
    return newton(loss, hessian, start)[0].reshape(count, size, width)

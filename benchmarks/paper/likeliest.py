"""Affine and full channels by maximum likelihood, for many draws of labels of the same readings.

A draw is a table of how often each reading got each label.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from populations import STARTS, affine_channel, fit_affine

from cordial_ppl.runtime.arrays import FLOOR, AnyArray
from cordial_ppl.stack.calibrators.full import STRENGTHS, shrink_channel

UNSHRUNK = 1e-6
"""Pseudo-counts a row that change no estimate but keep every probability positive."""


class Channels(NamedTuple):
    """Channels [K, K] fitted to the same S draws of labels, a row an option stated.

    Args:
        affine: Four parameters, by maximum likelihood.
        full: K (K - 1) probabilities, by maximum likelihood.
        shrunk: The same, drawn to the affine fit as strongly as cross-validation asks for.
    """

    affine: Float[np.ndarray, "S K K"]
    full: Float[np.ndarray, "S K K"]
    shrunk: Float[np.ndarray, "S K K"]


def fit_channels(
    reading: Float[AnyArray, "n K"], folds: Float[np.ndarray, "S folds n K"]
) -> Channels:
    """Fit the affine channel and the full one, the latter with and without shrinkage.

    The strength of the shrinkage has the least log loss on folds that a fit has not seen, with
    probabilities floored at 0.0001, ties to the stronger; every fold has its own affine fit.

    Args:
        reading: probabilities q that go into the channel.
        folds: How often each reading got each label, in each fold of each draw.

    Returns:
        The three channels of each draw.
    """
    draws, parts, texts, size = folds.shape
    whole = folds.sum(axis=1)
    rest = whole[:, None] - folds
    phi = fit_affine(reading, whole, np.tile(STARTS, (draws, 1, 1)))
    # Three quarters of the labels: the search begins where that of all has ended.
    near = np.repeat(phi, parts, axis=0)[:, None]
    fold_phi = fit_affine(reading, rest.reshape(-1, texts, size), near)
    centres, _ = affine_channel(phi, size)
    fold_centres, _ = affine_channel(fold_phi.reshape(draws, parts, 1, 4), size)
    # From the strongest down, the first of several strengths that are as good is taken.
    strengths = np.array(STRENGTHS[::-1])

    def strongest(draw: int) -> float:
        """The best strength, by the labels of the folds."""
        fitted = shrink_channel(reading, rest[draw, :, None], fold_centres[draw], strengths)
        logs = np.log(np.maximum(reading @ fitted, FLOOR))
        return strengths[(folds[draw, :, None] * logs).sum(axis=(0, 2, 3)).argmax()]

    chosen = np.array([[UNSHRUNK] * draws, [strongest(draw) for draw in range(draws)]])
    full, shrunk = shrink_channel(reading, whole, centres, chosen)
    return Channels(centres, full, shrunk)

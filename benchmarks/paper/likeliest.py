"""Affine and full channels by maximum likelihood, for many draws of labels of the same readings.

A draw is a table of how often each reading got each label.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from populations import FAR, STARTS, affine_channel

from cordial_ppl.arrays import FLOOR, AnyArray
from cordial_ppl.calibrators.full import STRENGTHS, shrink_channel
from cordial_ppl.inference.minimise import minimise

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
        own = np.log(np.maximum(reading @ fitted, FLOOR))
        return strengths[(folds[draw, :, None] * own).sum(axis=(0, 2, 3)).argmax()]

    chosen = np.array([[UNSHRUNK] * draws, [strongest(draw) for draw in range(draws)]])
    full, shrunk = shrink_channel(reading, whole, centres, chosen)
    return Channels(centres, full, shrunk)


def fit_affine(
    reading: Float[AnyArray, "n K"],
    counts: Float[np.ndarray, "fits n K"],
    starts: Float[np.ndarray, "fits T 4"],
) -> Float[np.ndarray, "fits 4"]:
    """Fit the four-parameter channel by maximum likelihood, to many draws of labels at once.

    Args:
        reading: probabilities q that go into the channel.
        counts: How often each reading got each label, for each fit.
        starts: Where the searches begin, several for each fit, of which the best end is kept.

    Returns:
        Offset, log gain, log concentration and log odds of strength, hardly beyond 6 in size.
    """
    totals = np.maximum(counts.sum(axis=(1, 2)), 1.0)

    def loss(phi: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        channel, slopes = affine_channel(phi, reading.shape[1])
        probs, own = reading @ channel, counts[at] / totals[at, None, None]
        pulls = reading.T @ (own / probs)
        # Few labels may ask for an infinite parameter; as far as FAR it is free.
        beyond = np.maximum(np.abs(phi) - FAR, 0.0)
        value = (beyond**2).sum(axis=1) - (own * np.log(probs)).sum(axis=(1, 2))
        slope = 2.0 * beyond * np.sign(phi) - (slopes * pulls[:, None]).sum(axis=(2, 3))
        return value, slope

    # A hundredth of a nat of all labels together; the loss is their mean.
    return minimise(loss, starts, tolerance=1e-5, near=0.01 / totals.max()).x

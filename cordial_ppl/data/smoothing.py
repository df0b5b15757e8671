"""The histogram of a few labels: smoothed along the scale by as much as they themselves ask for."""

from functools import lru_cache

import numpy as np
from jaxtyping import Float, Float64, Int
from scipy.special import softmax

SMOOTHERS = np.array(
    [(*spread, added) for spread in ((0.0, 1.0), (0.5, 0.7), (0.7, 1.2)) for added in (0.25, 1.0)]
)
"""Share of each label that is spread, how far in classes, and what is added to each option."""


@lru_cache(maxsize=64)
def _spreads(size: int) -> Float64[np.ndarray, "J K K"]:
    """Matrices that spread part of each option's labels along the scale."""
    share, width, _ = SMOOTHERS.T[..., None, None]
    apart = np.subtract.outer(np.arange(size), np.arange(size))
    kernels = np.exp(-0.5 * (apart / width) ** 2)
    return (1 - share) * np.eye(size) + share * kernels / kernels.sum(axis=1, keepdims=True)


def smooth_counts(counts: Float[np.ndarray, "*T K"]) -> Float64[np.ndarray, "*T K"]:
    r"""Estimate the share of each label by an average of smoothed histograms.

    .. math:: \pi = \sum_j w_j \pi_j, \quad
        \pi_j \propto (1 - l_j) c + l_j G_j c + a_j, \quad
        w_j \propto \prod_i \pi_j^{(-i)}(z_i)

    G spreads each label along the scale, and the weights are the likelihoods of every label by the
    others.  Options that nobody uses and labels in heaps are so told from gaps that a few labels
    leave by chance.

    Args:
        counts: c, how many labels each of the K options has.

    Returns:
        Shares, which are above zero and sum to one.

    Source:
        Simonoff (1995), "Smoothing categorical data", weighed as by stacking.
    """
    counts, added = counts[..., None, :], SMOOTHERS[:, 2:]
    spreads, alone = _spreads(counts.shape[-1]), np.minimum(counts, 1.0)
    smoothed = (spreads @ counts[..., None])[..., 0] + added
    # Each label by the others: its own part goes from the count of its option.
    others = smoothed - alone * np.diagonal(spreads, axis1=1, axis2=2)
    rest = counts.sum(axis=-1, keepdims=True) - alone + added * counts.shape[-1]
    fit = np.sum(counts * np.log(others / rest), axis=-1, keepdims=True)
    shares = smoothed / smoothed.sum(axis=-1, keepdims=True)
    return np.sum(softmax(fit, axis=-2) * shares, axis=-2)


_smooth_line = lru_cache(maxsize=256)(lambda counts: smooth_counts(np.array(counts, float)))
"""Every member of a stack asks for the same histograms."""


def smooth_histogram(
    labels: Int[np.ndarray, " n"], size: int, weights: Float[np.ndarray, " n"] | None = None
) -> Float64[np.ndarray, " K"]:
    """Estimate the share of each label from a few.

    Args:
        labels: positions 0..K-1; others (a padded -1) are not counted.
        size: number of options K.
        weights: what each label counts; one by default.
    """
    seen = labels >= 0
    counts = np.bincount(labels[seen], None if weights is None else weights[seen], size)
    return _smooth_line(tuple(counts.tolist())).copy()

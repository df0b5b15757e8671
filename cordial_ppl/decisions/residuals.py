r"""Labels less what the calibrator predicts for their texts, out of fold: what calibration leaves.

A label is written as the K - 1 steps that it has reached, :math:`t_k = [z \ge k]`, so that a mean,
a share and a pass rate are sums of the same numbers.  One record a fit serves all that look at
residuals: estimates, the reader's faults, groups that are rated otherwise.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.labelling import TextLabels
from cordial_ppl.stack.fit import Fit

VARIANCE_SHARE = 0.85
"""Share of the predictive variance that single residuals have within groups: .78 to .87 on real
readings, of two options as of more."""

LEAST = 0.01
"""Least standard deviation of a residual, in units of the range of the values."""


class Residuals(NamedTuple):
    """Residuals of the labelled texts.

    Attributes:
        steps: mean of each text's labels less its out-of-fold prediction, by step, ``[n, K - 1]``;
            no rows without folds.
        covariance: what is expected of one residual, by what the calibrator predicts.
    """

    steps: Float[np.ndarray, "n J"]
    covariance: Float[np.ndarray, "J J"]


def as_steps(probs: Float[np.ndarray, "*m K"]) -> Float[np.ndarray, "*m J"]:
    """Sum probabilities of the options to those of reaching each step but the first."""
    return np.cumsum(probs[..., :0:-1], axis=-1)[..., ::-1]


def as_options(steps: Float[np.ndarray, "*m J"], total: float = 0.0) -> Float[np.ndarray, "*m K"]:
    """Turn shares of reaching each step into those of the options, of so much in all."""
    ends = np.full((*steps.shape[:-1], 1), total), np.zeros((*steps.shape[:-1], 1))
    return -np.diff(np.concatenate([ends[0], steps, ends[1]], axis=-1))


def covariance_of(probs: Float[np.ndarray, "m K"]) -> Float[np.ndarray, "J J"]:
    """Sum the covariances of the steps of labels with these probabilities."""
    steps = as_steps(probs)
    # Of two steps the higher one says that both are reached.
    highest = np.maximum.outer(*[np.arange(steps.shape[-1])] * 2)
    return steps.sum(axis=0)[highest] - steps.T @ steps


@lru_cache(maxsize=8)
def residuals_of(fit: Fit) -> Residuals:
    """Return the residuals of the labelled texts of a fit."""
    return find_residuals(fit.text_labels, fit.out_of_fold)


def find_residuals(per_text: TextLabels, out_of_fold: Float[np.ndarray, "n K"] | None) -> Residuals:
    """Compare labels with out-of-fold predictions.

    Args:
        per_text: the labels of each text.
        out_of_fold: probabilities by label; None without folds.
    """
    size = per_text.shares.shape[1] - 1
    least = LEAST**2 * np.eye(size)
    if out_of_fold is None:
        return Residuals(np.empty((0, size)), least)
    predicted = out_of_fold[per_text.first]
    # A text's residual is of the mean of its labels, which vary less than one.
    covariance = covariance_of(predicted) - covariance_of(per_text.shares)
    values, vectors = np.linalg.eigh(VARIANCE_SHARE * covariance / len(predicted))
    covariance = (vectors * np.maximum(values, 0)) @ vectors.T + least
    return Residuals(as_steps(per_text.shares) - as_steps(predicted), covariance)

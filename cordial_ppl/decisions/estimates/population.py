r"""Texts like these: what a sample of texts leaves open of the population that it was drawn from.

Were the labels of all N texts known, their mean would still miss that of the population.  With
texts, or whole clusters of texts, drawn independently, the errors of the groups' means are normal
with covariance

.. math:: \frac{C}{C - 1} \sum_{k=1}^{C} \frac{\mathrm E[d_{ka} d_{kb}]}{N_a N_b}, \qquad
    d_{ka} = \sum_{i \in k \cap a} (y_i - \mu_a)

and so for the mean of all texts, whose groups are of random sizes too.  Clusters that several
groups share, such as prompts that several systems answered, make errors alike, which cancel in
differences.

Source: Särndal, Swensson and Wretman (1992), Model assisted survey sampling, chapters 4 and 5.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.stats import chi2

POOLED = 3
"""Units that the variance of all groups counts as in that of each."""

LEAST = 1e-6
"""Share of the variance that is expected below which a group shows none."""


class Outcomes(NamedTuple):
    """What is expected of each text's value.

    Attributes:
        mean: expected value, or that of the text's labels, ``[N]``.
        square: expected square of the value of one label, ``[N]``.
        left: 1 for a text without a label, else 0, ``[N]``.
        groups: group of each text, 0..G-1.
        clusters: cluster of each text, 0..C-1; None where texts are drawn one by one.
        tau: standard deviation of the effects of clusters.
    """

    mean: Float[np.ndarray, " N"]
    square: Float[np.ndarray, " N"]
    left: Float[np.ndarray, " N"]
    groups: Int[np.ndarray, " N"]
    clusters: Int[np.ndarray, " N"] | None = None
    tau: float = 0.0


def sum_cells(
    values: Float[np.ndarray, " N"],
    clusters: Int[np.ndarray, " N"],
    groups: Int[np.ndarray, " N"],
) -> Float[np.ndarray, "C G"]:
    """Sum values by cluster and group."""
    result = np.zeros((clusters.max() + 1, groups.max() + 1))
    np.add.at(result, (clusters, groups), values)
    return result


def sampling_covariance(
    texts: Outcomes,
) -> tuple[Float[np.ndarray, "M M"], Shaped[np.ndarray, " M"]]:
    """Compute the covariance of the means of all groups, and of all texts, around the population's.

    A group of few texts or clusters tells its variance less well than all groups tell theirs: it is
    drawn to theirs, as by `POOLED` units more.

    Args:
        texts: what is expected of each text.

    Returns:
        The covariance, and how many units, texts or clusters, each variance comes from.
    """
    groups, count = texts.groups, len(texts.mean)
    sizes = np.append(np.bincount(groups), count)
    means = np.bincount(groups, texts.mean) / sizes[:-1]
    variance = np.maximum(texts.square - texts.mean**2, 0)
    if texts.clusters is None:
        units = sizes
        within = np.bincount(groups, texts.square) / sizes[:-1] - means**2
        result = np.diag(np.append(within / sizes[:-1], 0.0))
        result[-1, :-1] = result[:-1, -1] = within / count
        result[-1, -1] = (texts.square.mean() - texts.mean.mean() ** 2) / count
    else:
        # An unlabelled text's variance has that of its cluster's effect in it.
        variance = texts.left * np.maximum(variance - texts.tau**2, 0)
        columns = [texts.mean - means[groups], variance, texts.left, np.ones(count)]
        apart, single, left, members = (sum_cells(c, texts.clusters, groups) for c in columns)
        whole = np.bincount(texts.clusters, texts.mean - texts.mean.mean())
        members = np.column_stack([members, members.sum(axis=1)])
        # Clusters of unlike sizes tell as much as fewer of one size (Kish).
        units = members.sum(axis=0) ** 2 / np.sum(members**2, axis=0)
        apart = np.column_stack([apart, whole]) / sizes
        shared = np.column_stack([left, left.sum(axis=1)]) / sizes
        result = apart.T @ apart + texts.tau**2 * shared.T @ shared
        single = single.sum(axis=0)
        result[:-1, :-1] += np.diag(single / sizes[:-1] ** 2)
        result[-1, :-1] += single / sizes[:-1] / count
        result[:-1, -1] += single / sizes[:-1] / count
        result[-1, -1] += single.sum() / count**2
    # Of independent units with one variance each, so much would be seen.
    raw = result.diagonal() * units**2
    pooled = raw[:-1].sum() / max(np.sum(units[:-1] - 1), 1)
    wanted = (raw + POOLED * pooled) / (units - 1 + POOLED) / units
    wanted[-1] = raw[-1] / max(units[-1] - 1, 1) / units[-1]
    seen = result.diagonal() > LEAST * wanted
    scales = np.where(seen, np.sqrt(wanted / np.where(seen, result.diagonal(), 1.0)), 0.0)
    return result * np.outer(scales, scales) + np.diag(np.where(seen, 0.0, wanted)), units


def draw_errors(
    covariance: Float[np.ndarray, "M M"],
    draws: int,
    rng: np.random.Generator,
    units: Shaped[np.ndarray, " M"] | None = None,
) -> Float[np.ndarray, "D M"]:
    """Draw errors, normal or Student's t; a covariance may have directions without any.

    Args:
        covariance: of the errors.
        draws: how many draws.
        rng: source of random numbers.
        units: how many units each variance was estimated from; by default they are exact.
    """
    values, vectors = np.linalg.eigh(covariance)
    # Signs are a convention that units must not change.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    errors = rng.standard_normal((draws, len(values))) * np.sqrt(np.maximum(values, 0))
    errors = errors @ vectors.T
    if units is None:
        return errors
    # One quantile for all: what groups have in common still cancels in their differences.
    degrees = units - 1 + np.append(np.full(len(units) - 1, POOLED), 0)
    degrees = np.maximum(degrees, 1)
    return errors * np.sqrt(degrees / chi2.ppf(rng.random((draws, 1)), degrees))

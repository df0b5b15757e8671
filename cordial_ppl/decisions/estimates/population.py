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
from jaxtyping import Float, Int


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


def sampling_covariance(texts: Outcomes) -> Float[np.ndarray, "M M"]:
    """Compute the covariance of the means of all groups, and of all texts, around the population's.

    Args:
        texts: what is expected of each text.
    """
    groups, count = texts.groups, len(texts.mean)
    sizes = np.bincount(groups)
    means = np.bincount(groups, texts.mean) / sizes
    variance = np.maximum(texts.square - texts.mean**2, 0)
    if texts.clusters is None:
        within = np.bincount(groups, texts.square) / sizes - means**2
        result = np.zeros((len(sizes) + 1,) * 2)
        result[:-1, :-1] = np.diag(within / sizes)
        result[-1, :-1] = result[:-1, -1] = within / count
        result[-1, -1] = (texts.square.mean() - texts.mean.mean() ** 2) / count
        return result * count / max(count - 1, 1)
    apart = sum_cells(texts.mean - means[groups], texts.clusters, groups) / sizes
    whole = np.bincount(texts.clusters, texts.mean - texts.mean.mean()) / count
    single = sum_cells(texts.left * variance, texts.clusters, groups).sum(axis=0)
    left = sum_cells(texts.left, texts.clusters, groups)
    shared = np.column_stack([left / sizes, left.sum(axis=1) / count])
    columns = np.column_stack([apart, whole])
    result = columns.T @ columns + texts.tau**2 * shared.T @ shared
    result[:-1, :-1] += np.diag(single / sizes**2)
    result[-1, :-1] += single / sizes / count
    result[:-1, -1] += single / sizes / count
    result[-1, -1] += single.sum() / count**2
    return result * len(left) / max(len(left) - 1, 1)


def draw_errors(
    covariance: Float[np.ndarray, "M M"], draws: int, rng: np.random.Generator
) -> Float[np.ndarray, "D M"]:
    """Draw normal errors; a covariance may have directions without any."""
    values, vectors = np.linalg.eigh(covariance)
    # Signs are a convention that units must not change.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    scales = np.sqrt(np.maximum(values, 0))
    return (rng.standard_normal((draws, len(scales))) * scales) @ vectors.T

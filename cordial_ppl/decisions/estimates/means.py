r"""Draws of the mean of a corpus and of its groups: the posterior, and an effect of each group.

The sum over a group's texts is, under draw s of the channel,

.. math:: \sum_{\text{labelled}} y_i + \sum_{\text{others}} [m_s(x_i) + b_g + \epsilon_i]

The effect :math:`b_g` of the group is drawn given its residuals under the same draw,
:math:`r_i - [m_s(x_i) - \bar m(x_i)]` with the out-of-fold residual r: a draw that predicts higher
labels leaves less to the effects.  What all groups' residuals have in common stays in them, so that
the effects take it in; only the draws of tau and sigma are given a mean residual besides.  This is
no joint posterior but a cut: channel, spreads and effects are drawn in turn, the residuals tell the
channel nothing, and the draw of the channel tells the spreads nothing.  Labelled texts count as
themselves, and :math:`\epsilon_i` is the predictive spread of a label.

Without groups the whole corpus is one, with a smaller effect: what few labels say of its mean by
themselves is weighed with what the channel says.  With groups its sum is that of theirs.

Texts that are alike, such as the turns of a conversation, are clusters: the fit is repeated with
whole clusters as folds (``estimates.clusters``), and each cluster has an effect.  What is said of
texts like these adds what a sample of texts leaves open (``estimates.population``).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from cordial_ppl.decisions.corpus import CorpusDraws
from cordial_ppl.decisions.estimates.effects import (
    GROUP_SCALE,
    Residuals,
    draw_cluster_effects,
    draw_common_effect,
    draw_effects,
    draw_spreads,
    find_residuals,
    weigh_by_design,
)
from cordial_ppl.decisions.estimates.population import (
    Outcomes,
    draw_errors,
    sampling_covariance,
    sum_cells,
)
from cordial_ppl.decisions.estimates.rectified import is_even

DRAWS = 4000
"""Joint draws of the corpus and its groups."""

STANDING = 1.5
"""Share of the texts over that of the labels beyond which a group's effect stands by itself."""


class Corpus(NamedTuple):
    """A corpus with its labels, groups and clusters.

    Attributes:
        rows: the labelled texts.
        labels: share of each option among their labels, ``[n, K]``.
        groups: group of each text, 0..G-1.
        out_of_fold: out-of-fold probabilities of the labelled texts; None if unknown.
        weights: what each labelled text stands for, in any unit: 1 / inclusion probability.
        clusters: cluster of each text, 0..C-1; None where each is of another.
        scale: scale of the prior of the whole corpus's effect, in units of the values' range.
    """

    rows: Int[np.ndarray, " n"]
    labels: Float[np.ndarray, "n K"]
    groups: Int[np.ndarray, " N"]
    out_of_fold: Float[np.ndarray, "n K"] | None
    weights: Float[np.ndarray, " n"]
    clusters: Int[np.ndarray, " N"] | None = None
    scale: float = GROUP_SCALE

    def count(self, rows: Any = slice(None), weights: Any = None) -> Shaped[np.ndarray, " G"]:
        """Count texts in each group, or sum their weights."""
        return np.bincount(self.groups[rows], weights, minlength=self.groups.max() + 1)


class MeanDraws(NamedTuple):
    """Draws of the mean value of each group, and of all texts in the last column.

    Attributes:
        like_these: of the population that the texts were drawn from.
        these: of just these texts.
        effects: of each group.
    """

    like_these: Float[np.ndarray, "D M"]
    these: Float[np.ndarray, "D M"]
    effects: Float[np.ndarray, "D G"]


def draw_means(
    sums: CorpusDraws, texts: Corpus, value: Float[np.ndarray, " K"], seed: int
) -> MeanDraws:
    """Draw the mean value of each group of texts, and of all texts.

    Args:
        sums: predictions under draws.
        texts: labels, groups and clusters.
        value: value of each option.
        seed: seed of the draws; another value has other ones.
    """
    rng = np.random.default_rng([seed, len(texts.groups)])
    picked = rng.choice(len(sums.weights), DRAWS, p=sums.weights)
    residuals, expected = find_residuals(texts.labels, texts.out_of_fold, value)
    under = residuals - (sums.labelled @ value)[picked][:, : len(residuals)]
    of, effects = _draw_group_effects(texts, residuals, under, expected, value, rng)
    clusters = np.zeros((DRAWS, 0))
    if of.spreads is not None:
        clusters = draw_cluster_effects(under, of, effects, rng)
    left = np.ones(len(texts.groups))
    left[texts.rows] = 0
    mean, variance = sums.mixture @ value, sums.mixture @ value**2 - (sums.mixture @ value) ** 2
    mean += effects.mean(axis=0)[texts.groups]
    label_sums = texts.count(texts.rows, texts.labels @ value)
    counts, unlabelled = texts.count(), texts.count(weights=left)
    noise = rng.standard_normal((DRAWS, len(counts)))
    tau = 0.0 if of.spreads is None else float(np.sqrt(np.mean(of.spreads.tau**2)))
    # An effect of a cluster is a part of a label's spread.
    noise *= np.sqrt(texts.count(weights=left * np.maximum(variance - tau**2, 0)))
    totals = label_sums + (sums.sums @ value)[picked] + noise + unlabelled * effects
    totals += _sum_clusters(texts, of, clusters, left, rng)
    # No label lies beyond the scale. The whole is no sum of groups whose draws end there.
    ends = [label_sums + unlabelled * end for end in (value.min(), value.max())]
    whole = totals.sum(axis=1).clip(ends[0].sum(), ends[1].sum()) / counts.sum()
    these = np.column_stack([totals.clip(*ends) / counts, whole])
    square = variance + mean**2
    mean[texts.rows] = texts.labels @ value
    square[texts.rows] = mean[texts.rows] ** 2
    outcomes = Outcomes(mean, square, left, texts.groups, texts.clusters, tau)
    covariance, units = sampling_covariance(outcomes)
    like_these = these + draw_errors(covariance, DRAWS, rng, units)
    return MeanDraws(like_these.clip(value.min(), value.max()), these, effects)


def _draw_group_effects(
    texts: Corpus,
    residuals: Float[np.ndarray, " n"],
    under: Float[np.ndarray, "D n"],
    expected: float,
    value: Float[np.ndarray, " K"],
    rng: np.random.Generator,
) -> tuple[Residuals, Float[np.ndarray, "D G"]]:
    """Draw the effect of each group, what all have in common in it; of one, that of the whole.

    Also returned is which group and cluster each residual is of, and how alike those of one are.
    """
    counts, labelled = texts.count(), texts.count(texts.rows)
    rows = texts.rows[: len(residuals)]
    groups, weights = texts.groups[rows], texts.weights[: len(residuals)]
    clusters = spreads = None
    span, several = float(np.ptp(value)), len(counts) > 1
    # Drawn to the others, the effect of a group of most texts would decide the mean of all. And
    # what the calibrator learnt from labels of unlike weights is not right for all texts.
    standing = counts * labelled.sum() > STANDING * labelled * counts.sum()
    uneven = [not is_even(weights[groups == group]) for group in range(len(counts))]
    alone = standing & (labelled > 1) | uneven
    if texts.clusters is not None:
        clusters = np.unique(texts.clusters[rows], return_inverse=True)[1]
        spreads = draw_spreads(residuals, clusters, GROUP_SCALE * span, expected, DRAWS, rng)
    weights = weigh_by_design(weights, groups)
    of = Residuals(groups, len(counts), weights, clusters, spreads, alone)
    scale = (GROUP_SCALE if several else texts.scale) * span
    spreads = draw_spreads(residuals, groups, scale, expected, DRAWS, rng, of.sizes)
    if not several:
        return of, draw_effects(under, of, spreads, rng, tails=False)
    tau = np.abs(rng.normal(0, texts.scale * span, DRAWS))
    common = draw_common_effect(under, of, spreads, tau, rng)[:, None]
    return of, draw_effects(under - common, of, spreads, rng) + common


def _sum_clusters(
    texts: Corpus,
    of: Residuals,
    effects: Float[np.ndarray, "D C"],
    left: Float[np.ndarray, " N"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "D G"] | float:
    """Sum the effects of clusters over the texts without a label of each group."""
    if texts.clusters is None or of.spreads is None:
        return 0.0
    cells = sum_cells(left, texts.clusters, texts.groups)
    units = np.unique(texts.clusters[texts.rows[: len(of.groups)]])
    seen = effects @ cells[units]
    cells[units] = 0
    return seen + of.spreads.tau[:, None] * draw_errors(cells.T @ cells, DRAWS, rng)

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
    VARIANCE_SHARE,
    Residuals,
    draw_cluster_effects,
    draw_common_effect,
    draw_effects,
    draw_spreads,
    weigh_by_design,
)
from cordial_ppl.decisions.estimates.population import (
    Outcomes,
    draw_errors,
    sampling_covariance,
    sum_cells,
)

DRAWS = 4000
"""Joint draws of the corpus and its groups."""

STANDING = 1.5
"""Share of the texts over that of the labels beyond which a group's effect stands by itself."""

LEAST = 0.01
"""Least standard deviation of a residual, in units of the range of the values."""


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
    counts, labelled = texts.count(), texts.count(texts.rows)
    left, span = counts - labelled, float(np.ptp(value))
    residuals, under, variance = np.empty(0), np.empty((DRAWS, 0)), 0.0
    rows = texts.rows[:0]
    if texts.out_of_fold is not None:
        rows = texts.rows
        residuals = texts.labels @ value - texts.out_of_fold @ value
        under = residuals - (sums.labelled @ value)[picked]
        # A text's residual is of the mean of its labels, which vary less than one.
        within = texts.labels @ value**2 - (texts.labels @ value) ** 2
        variance = np.mean(texts.out_of_fold @ value**2 - (texts.out_of_fold @ value) ** 2 - within)
    expected = np.sqrt(max(VARIANCE_SHARE * variance, (LEAST * span) ** 2))
    # Drawn to the others, the effect of a group of most texts would decide the mean of all.
    alone = counts * labelled.sum() > STANDING * labelled * counts.sum()
    residual = Residuals(
        texts.groups[rows],
        len(counts),
        weigh_by_design(texts.weights, texts.groups[texts.rows])[: len(rows)],
        alone=alone & (labelled > 1) if len(counts) > 1 else None,
    )
    units = None
    if texts.clusters is not None:
        units, clusters = np.unique(texts.clusters[texts.rows], return_inverse=True)
        clusters = clusters[: len(rows)]
        of_clusters = draw_spreads(residuals, clusters, GROUP_SCALE * span, expected, DRAWS, rng)
        residual = residual._replace(clusters=clusters, spreads=of_clusters)
    size = residual.sizes
    common = np.abs(rng.normal(0, texts.scale * span, DRAWS))
    if len(counts) > 1:
        scale = GROUP_SCALE * span
        spreads = draw_spreads(residuals, residual.groups, scale, expected, DRAWS, rng, size)
        shared = draw_common_effect(under, residual, spreads, common, rng)
        effects = draw_effects(under - shared[:, None], residual, spreads, rng) + shared[:, None]
    else:
        scale = texts.scale * span
        spreads = draw_spreads(residuals, residual.groups, scale, expected, DRAWS, rng, size)
        effects = draw_effects(under, residual, spreads, rng, tails=False)
    mean, square = sums.mixture @ value, sums.mixture @ value**2
    mean = mean + effects.mean(axis=0)[texts.groups]
    square = square - (sums.mixture @ value) ** 2 + mean**2
    spread = square - mean**2
    mean[texts.rows], square[texts.rows] = texts.labels @ value, texts.labels @ value**2
    spread[texts.rows] = 0
    label_sums = texts.count(texts.rows, texts.labels @ value)
    noise = rng.standard_normal((DRAWS, len(counts))) * np.sqrt(texts.count(weights=spread))
    totals = label_sums + (sums.sums @ value)[picked] + noise + left * effects
    unlabelled = np.ones(len(mean))
    unlabelled[texts.rows] = 0
    tau = 0.0
    if units is not None and texts.clusters is not None and residual.spreads is not None:
        cells = sum_cells(unlabelled, texts.clusters, texts.groups)
        tau = float(np.sqrt(np.mean(residual.spreads.tau**2)))
        if len(rows):
            effect = draw_cluster_effects(under, residual, effects, rng)
            totals += effect @ cells[units]
            cells[units] = 0
        totals += residual.spreads.tau[:, None] * draw_errors(cells.T @ cells, DRAWS, rng)
    # No label lies beyond the scale. The whole is no sum of groups whose draws end there.
    ends = [label_sums + left * end for end in (value.min(), value.max())]
    whole = totals.sum(axis=1).clip(ends[0].sum(), ends[1].sum()) / counts.sum()
    these = np.column_stack([totals.clip(*ends) / counts, whole])
    outcomes = Outcomes(mean, square, unlabelled, texts.groups, texts.clusters, tau)
    like_these = these + draw_errors(sampling_covariance(outcomes), DRAWS, rng)
    return MeanDraws(like_these.clip(value.min(), value.max()), these, effects)

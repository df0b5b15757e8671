r"""Estimating a corpus with a fitted stack: its posterior, and an effect of each group.

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

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.stats import chi2

from cordial_ppl.data.labelling import rank_texts
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.corpus import CorpusDraws, PosteriorDraws, sum_draws
from cordial_ppl.decisions.drift import Drift, compare
from cordial_ppl.decisions.estimates.clusters import fit_by_cluster, number_clusters
from cordial_ppl.decisions.estimates.effects import (
    CORPUS_SCALE,
    GROUP_SCALE,
    VARIANCE_SHARE,
    Residuals,
    draw_cluster_effects,
    draw_effects,
    draw_spreads,
    weigh_by_design,
)
from cordial_ppl.decisions.estimates.estimate import (
    TARGETS,
    Estimate,
    Population,
    name_groups,
    summarise,
)
from cordial_ppl.decisions.estimates.population import (
    Outcomes,
    draw_errors,
    sampling_covariance,
    sum_cells,
)
from cordial_ppl.decisions.estimates.rectified import as_probabilities, is_even, rectified_mean
from cordial_ppl.decisions.reader import state
from cordial_ppl.errors import InputError, quote
from cordial_ppl.scores import Interval
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.settings import check_level, check_names
from cordial_ppl.stack.sketch import sketch

DRAWS = 4000
"""Joint draws of the corpus and its groups."""

TOLERANCE = 1e-2
"""Nats by which a reading may differ from that of the fit, from rounding in a table."""

UNEVEN = 1e-3
"""Error rate of the test whether the groups' shares of the labels are those of the texts."""

LEAST = 0.01
"""Least standard deviation of a residual, in units of the range of the values."""


class Texts(NamedTuple):
    """A corpus with its labels, groups and clusters.

    Attributes:
        rows: the labelled texts.
        labels: share of each option among their labels, ``[n, K]``.
        groups: group of each text, 0..G-1.
        out_of_fold: out-of-fold probabilities of the labelled texts; None if unknown.
        weights: precision of each labelled text's residual, see ``Residuals``.
        clusters: cluster of each text, 0..C-1; None where each is of another.
        scale: scale of the prior of the effects' standard deviation, in units of the values' range.
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


def estimate(
    fit: Fit,
    logits: Float[np.ndarray, "N K"],
    covariates: dict[str, np.ndarray],
    rows: Any,
    *,
    of: str,
    groups: Any,
    clusters: Any,
    pairs: Any,
    level: float,
    strata: Any,
    probabilities: Any,
    draws: int,
) -> Estimate:
    """Estimate a corpus; arguments and errors are those of ``Stack.estimate``."""
    check_names("of", [of], TARGETS)
    level, scale, count = check_level(level), fit.scale, len(logits)
    if not fit.has_draws:
        raise InputError(
            "an estimate needs draws from a posterior: fit a stack with channels, such as Cordial, "
            'by another inference than "mode".'
        )
    labels, rows, of_label = check_rows(fit, logits, rows)
    names, codes = (["all"], np.zeros(count, int)) if groups is None else name_groups(groups, count)
    units = number_clusters(clusters, pairs, None if groups is None else codes, count)
    inclusion = as_probabilities(probabilities, len(rows))
    if units is not None:
        fit = fit_by_cluster(fit, logits, covariates, of_label, units)
    out_of_fold = fit.out_of_fold
    first = np.unique(of_label, return_index=True)[1][np.argsort(np.argsort(rows))]
    even = is_even(1 / inclusion)
    texts = Texts(
        rows,
        labels,
        codes,
        None if out_of_fold is None else out_of_fold[first],
        weigh_by_design(1 / inclusion, codes[rows]),
        units,
        GROUP_SCALE if groups is not None or units is not None or not even else CORPUS_SCALE,
    )
    reached = np.arange(scale.size)[1:, None] <= np.arange(scale.size)
    values = np.concatenate([scale.values[None], reached.astype(float)])
    corpus = sum_draws(PosteriorDraws(fit, draws, True), logits, covariates, codes, rows)
    drawn = [draw_means(corpus, texts, value, fit.seed) for value in values]
    target = TARGETS.index(of)

    def describe(number: int, labelled: int, draws: np.ndarray, effect: Any) -> Population:
        ends = zip(*(end.tolist() for end in summarise(draws, level)), strict=True)
        mean, *shares = (Interval(*each) for each in ends)
        at_least = dict(zip(scale.options[1:], shares, strict=True))
        return Population(number, labelled, scale.options, mean, at_least, effect)

    means = np.stack([(each.like_these, each.these)[target] for each in drawn], axis=-1)
    sizes = list(zip(texts.count().tolist(), texts.count(rows).tolist(), strict=True))
    population = {
        name: describe(*size, means[:, g], summarise(drawn[0].effects[:, g], level))
        for g, (name, size) in enumerate(zip(names, sizes, strict=True))
    }
    raw = state(logits)[0] @ scale.values
    designed = strata is not None or probabilities is not None or units is not None
    if groups is not None and not even:
        strata = codes
    design = {"strata": strata, "probabilities": probabilities, "clusters": units, "level": level}
    rectified = [rectified_mean(raw, rows, labels @ scale.values, of=t, **design) for t in TARGETS]
    other = (drawn[0].these, drawn[0].like_these)[target][:, -1]
    return Estimate(
        level=level,
        overall=describe(count, len(rows), means[:, -1], None),
        groups={} if groups is None else population,
        rectified=rectified[target],
        draws=means[:, : 0 if groups is None else -1, 0],
        of=of,
        other=(summarise(other, level), rectified[1 - target]),
        alike=fit.text_labels.alike,
        sample=None if designed else _compare(logits, rows, scale),
        uneven=_find_uneven(names, sizes) if probabilities is None else None,
        clusters=None if units is None else len(np.unique(units[rows])),
    )


def _find_uneven(names: Sequence[str], sizes: Sequence[tuple[int, int]]) -> str | None:
    """Return the group whose share of the labels differs most from that of the texts, if any does.

    A chi-square test of random choice, with an error rate of one in a thousand.
    """
    texts, labels = np.array(sizes, float).T
    expected = texts * labels.sum() / texts.sum()
    spread = 1 - labels.sum() / texts.sum()
    if len(names) == 1 or spread <= 0:
        return None
    apart = np.sum((labels - expected) ** 2 / expected) / spread
    if chi2.sf(apart, len(names) - 1) > UNEVEN:
        return None
    return names[int(np.argmax(np.abs(labels / labels.sum() - texts / texts.sum())))]


def _compare(
    logits: Float[np.ndarray, "N K"], rows: Int[np.ndarray, " n"], scale: Scale
) -> Drift | None:
    """Compare readings of the labelled texts with those of the others."""
    chosen = np.zeros(len(logits), bool)
    chosen[rows] = True
    return compare(sketch(logits[~chosen]), sketch(logits[chosen]), scale)


def check_rows(
    fit: Fit, logits: np.ndarray, rows: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of options among the labels of each text of a fit, its row in a corpus, each label's.

    Raises:
        InputError: the rows are not those of the fit's texts.
    """
    per_text, positions, ranks = fit.text_labels, np.asarray(rows), rank_texts(fit.texts)
    if positions.dtype == bool and positions.shape == (len(logits),):
        positions = np.flatnonzero(positions)
    if positions.shape == per_text.first.shape:
        positions = positions[ranks]
    wanted = (
        f"rows must be the positions, 0..{len(logits) - 1}, of the {len(per_text.first)} labelled "
        f"texts of the fit in its order, or a mask of {len(logits)} texts; got {quote(rows)}"
    )
    if positions.shape != fit.labels.shape or positions.dtype.kind not in "iu":
        raise InputError(f"{wanted}.")
    text_rows, inside = positions[per_text.first], (0 <= positions) & (positions < len(logits))
    if not inside.all() or (text_rows[ranks] != positions).any():
        raise InputError(f"{wanted}.")
    if len(np.unique(text_rows)) < len(text_rows):
        raise InputError(f"{wanted}, where two texts have one position.")
    # A stack from a file keeps no readings to compare with.
    fitted = logits[positions] if fit.logits is None else fit.logits
    others = np.abs(logits[positions] - fitted).reshape(len(positions), -1).max(axis=1) > TOLERANCE
    if others.any():
        first = int(others.argmax())
        raise InputError(
            "rows must be the labelled texts of the fit, in its order; "
            f"logits[{positions[first]}] is not the reading of label {first}. "
            "Give the rows that fit was called with."
        )
    return per_text.shares, text_rows.astype(np.int64), positions.astype(np.int64)


class MeanDraws(NamedTuple):
    """Draws of the mean value of each group, and of all texts in the last column.

    Attributes:
        like_these: of the population that the texts were drawn from.
        these: of just these texts.
        effects: of each group.
    """

    like_these: Float[np.ndarray, "D G+1"]
    these: Float[np.ndarray, "D G+1"]
    effects: Float[np.ndarray, "D G"]


def draw_means(
    corpus: CorpusDraws, texts: Texts, value: Float[np.ndarray, " K"], seed: int
) -> MeanDraws:
    """Draw the mean value of each group of texts, and of all texts.

    Args:
        corpus: predictions under draws.
        texts: labels, groups and clusters.
        value: value of each option.
        seed: seed of the draws; another value has other ones.
    """
    rng = np.random.default_rng([seed, len(texts.groups)])
    picked = rng.choice(len(corpus.weights), DRAWS, p=corpus.weights)
    counts, labelled = texts.count(), texts.count(texts.rows)
    left, span = counts - labelled, float(np.ptp(value))
    residuals, under, variance = np.empty(0), np.empty((DRAWS, 0)), 0.0
    rows = texts.rows[:0]
    if texts.out_of_fold is not None:
        rows = texts.rows
        residuals = texts.labels @ value - texts.out_of_fold @ value
        under = residuals - (corpus.labelled @ value)[picked]
        # A text's residual is of the mean of its labels, which vary less than one.
        within = texts.labels @ value**2 - (texts.labels @ value) ** 2
        variance = np.mean(texts.out_of_fold @ value**2 - (texts.out_of_fold @ value) ** 2 - within)
    expected = np.sqrt(max(VARIANCE_SHARE * variance, (LEAST * span) ** 2))
    residual = Residuals(texts.groups[rows], len(counts), texts.weights[: len(rows)])
    units = None
    if texts.clusters is not None:
        units, clusters = np.unique(texts.clusters[texts.rows], return_inverse=True)
        clusters = clusters[: len(rows)]
        of_clusters = draw_spreads(residuals, clusters, GROUP_SCALE * span, expected, DRAWS, rng)
        residual = residual._replace(clusters=clusters, spreads=of_clusters)
    scale, size = texts.scale * span, residual.sizes
    spreads = draw_spreads(residuals, residual.groups, scale, expected, DRAWS, rng, size)
    effects = draw_effects(under, residual, spreads, rng)
    mean, square = corpus.mixture @ value, corpus.mixture @ value**2
    mean = mean + effects.mean(axis=0)[texts.groups]
    square = square - (corpus.mixture @ value) ** 2 + mean**2
    spread = square - mean**2
    mean[texts.rows], square[texts.rows] = texts.labels @ value, texts.labels @ value**2
    spread[texts.rows] = 0
    label_sums = texts.count(texts.rows, texts.labels @ value)
    noise = rng.standard_normal((DRAWS, len(counts))) * np.sqrt(texts.count(weights=spread))
    sums = label_sums + (corpus.sums @ value)[picked] + noise + left * effects
    unlabelled = np.ones(len(mean))
    unlabelled[texts.rows] = 0
    tau = 0.0
    if units is not None and texts.clusters is not None and residual.spreads is not None:
        cells = sum_cells(unlabelled, texts.clusters, texts.groups)
        tau = float(np.sqrt(np.mean(residual.spreads.tau**2)))
        if len(rows):
            effect = draw_cluster_effects(under, residual, effects, rng)
            sums += effect @ cells[units]
            cells[units] = 0
        sums += residual.spreads.tau[:, None] * draw_errors(cells.T @ cells, DRAWS, rng)
    # No label lies beyond the scale.
    sums = sums.clip(label_sums + left * value.min(), label_sums + left * value.max())
    these = np.column_stack([sums / counts, sums.sum(axis=1) / counts.sum()])
    outcomes = Outcomes(mean, square, unlabelled, texts.groups, texts.clusters, tau)
    like = these + draw_errors(sampling_covariance(outcomes), DRAWS, rng)
    return MeanDraws(like.clip(value.min(), value.max()), these, effects)

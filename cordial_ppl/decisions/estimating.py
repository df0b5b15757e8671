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

The whole corpus is one group, with a smaller effect: what few labels say of its mean by themselves
is weighed with what the channel says.  So its mean is not just that of the groups' means.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from cordial_ppl.data.checks import check_level, check_number
from cordial_ppl.data.frames import aligned
from cordial_ppl.data.labelling import rank_texts
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.corpus import CorpusDraws, PosteriorDraws, sum_draws
from cordial_ppl.decisions.drift import Drift, compare
from cordial_ppl.decisions.estimates.effects import (
    CORPUS_SCALE,
    GROUP_SCALE,
    VARIANCE_SHARE,
    draw_effects,
    draw_spreads,
)
from cordial_ppl.decisions.estimates.estimate import Estimate, Population, name_groups, summarise
from cordial_ppl.decisions.estimates.rectified import rectified_mean
from cordial_ppl.decisions.reader import state
from cordial_ppl.errors import InputError, quote
from cordial_ppl.runtime.progress import doing
from cordial_ppl.scores import Interval
from cordial_ppl.stack.entering import enter
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.sketch import sketch

DRAWS = 4000
"""Joint draws of the corpus and its groups."""

TOLERANCE = 1e-2
"""Nats by which a reading may differ from that of the fit, from rounding in a table."""

LEAST = 0.01
"""Least standard deviation of a residual, in units of the range of the values."""


class Corpus(NamedTuple):
    """A corpus with its labels and groups.

    Attributes:
        rows: the labelled texts.
        labels: share of each option among their labels, ``[n, K]``.
        groups: group of each text, 0..G-1.
        out_of_fold: out-of-fold probabilities of the labelled texts; None if unknown.
    """

    rows: Int[np.ndarray, " n"]
    labels: Float[np.ndarray, "n K"]
    groups: Int[np.ndarray, " N"]
    out_of_fold: Float[np.ndarray, "n K"] | None

    def count(self, rows: Any = slice(None), weights: Any = None) -> Shaped[np.ndarray, " G"]:
        """Texts in each group, or the sum of their weights."""
        return np.bincount(self.groups[rows], weights, minlength=self.groups.max() + 1)


def estimate(
    fit: Fit,
    logits: Any,
    rows: Any,
    groups: Any = None,
    covariates: Any = None,
    *,
    level: float = 0.9,
    strata: Any = None,
    probabilities: Any = None,
    draws: int = 256,
) -> Estimate:
    """Estimate a corpus; arguments, result and errors are those of ``Stack.estimate``."""
    readings, extra = enter(fit, logits, covariates)
    groups, strata = aligned(logits, groups, "groups"), aligned(logits, strata, "strata")
    draws = int(check_number("draws", draws, 2, whole=True))
    level, scale, count = check_level(level), fit.scale, len(readings)
    if not fit.has_draws:
        raise InputError(
            "an estimate needs draws from a posterior: fit a stack with channels, such as Cordial, "
            'by another inference than "mode".'
        )
    labels, rows = check_rows(fit, readings, rows)
    names, codes = (["all"], np.zeros(count, int)) if groups is None else name_groups(groups, count)
    out_of_fold = None if fit.out_of_fold is None else fit.out_of_fold[fit.text_labels.first]
    corpus = Corpus(rows, labels, codes, out_of_fold)
    with doing("estimating"):
        whole, parts, effects = _draw_means(fit, corpus, readings, extra, draws)

    def describe(number: int, labelled: int, draws: np.ndarray, effect: Any) -> Population:
        ends = zip(*(end.tolist() for end in summarise(draws, level)), strict=True)
        mean, *shares = (Interval(*each) for each in ends)
        at_least = dict(zip(scale.options[1:], shares, strict=True))
        return Population(number, labelled, scale.options, mean, at_least, effect)

    sizes = zip(corpus.count().tolist(), corpus.count(rows).tolist(), strict=True)
    population = {
        name: describe(*size, parts[:, g], summarise(effects[:, g, 0], level))
        for g, (name, size) in enumerate(zip(names, sizes, strict=True))
    }
    raw, random = state(readings)[0] @ scale.values, strata is None and probabilities is None
    design = {"strata": strata, "probabilities": probabilities, "level": level}
    return Estimate(
        level=level,
        overall=describe(count, len(rows), whole, None),
        groups={} if groups is None else population,
        rectified=rectified_mean(raw, rows, labels @ scale.values, **design),
        draws=parts[:, : 0 if groups is None else None, 0],
        alike=fit.text_labels.alike,
        sample=_compare(readings, rows, scale) if random else None,
    )


def _draw_means(
    fit: Fit,
    corpus: Corpus,
    logits: Float[np.ndarray, "N K"],
    covariates: dict[str, np.ndarray],
    draws: int,
) -> tuple[Float[np.ndarray, "D V"], Float[np.ndarray, "D G V"], Float[np.ndarray, "D G V"]]:
    """Draw the mean and the shares of the corpus and of its groups, and the groups' effects."""
    scale = fit.scale
    reached = np.arange(scale.size)[1:, None] <= np.arange(scale.size)
    values = np.concatenate([scale.values[None], reached.astype(float)])
    posterior = PosteriorDraws(fit, draws, True)
    sums = sum_draws(posterior, logits, covariates, corpus.groups, corpus.rows, values)
    each_value = zip(*_draw(sums, corpus, values, fit.seed), strict=True)
    whole, parts, effects = (np.stack(each, axis=-1) for each in each_value)
    return whole, parts, effects


def _compare(
    logits: Float[np.ndarray, "N K"], rows: Int[np.ndarray, " n"], scale: Scale
) -> Drift | None:
    """Compare readings of the labelled texts with those of the others."""
    chosen = np.zeros(len(logits), bool)
    chosen[rows] = True
    return compare(sketch(logits[~chosen]), sketch(logits[chosen]), scale)


def check_rows(fit: Fit, logits: np.ndarray, rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Shares of options among the labels of each text of a fit, and its row in a corpus.

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
    return per_text.shares, text_rows.astype(np.int64)


def _draw(
    draws: CorpusDraws, corpus: Corpus, values: Float[np.ndarray, "V K"], seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Draw, for each quantity, the mean of the corpus, those of the groups, and their effects."""
    rng = np.random.default_rng([seed, len(corpus.groups)])
    picked = rng.choice(len(draws.weights), DRAWS, p=draws.weights)
    counts, groups, out_of_fold = corpus.count(), corpus.groups[corpus.rows], corpus.out_of_fold
    left = counts - corpus.count(corpus.rows)
    if out_of_fold is None:
        groups = groups[:0]
    for value, spread in zip(values, draws.spread.T, strict=True):
        span = float(np.ptp(value))
        residuals, under, variance = np.empty(0), np.empty((DRAWS, 0)), 0.0
        if out_of_fold is not None:
            residuals = corpus.labels @ value - out_of_fold @ value
            under = residuals - (draws.labelled @ value)[picked]
            # A text's residual is of the mean of its labels, which vary less than one.
            within = corpus.labels @ value**2 - (corpus.labels @ value) ** 2
            variance = np.mean(out_of_fold @ value**2 - (out_of_fold @ value) ** 2 - within)
        expected = np.sqrt(max(VARIANCE_SHARE * variance, (LEAST * span) ** 2))
        noise = rng.standard_normal((DRAWS, len(counts))) * np.sqrt(np.maximum(spread, 0))
        known_sums = corpus.count(corpus.rows, corpus.labels @ value)
        sums = known_sums + (draws.sums @ value)[picked] + noise
        whole, effects = (
            draw_effects(
                under,
                of,
                size,
                draw_spreads(residuals, of, scale * span, expected, DRAWS, rng),
                rng,
            )
            for of, size, scale in (
                (np.zeros_like(groups), 1, CORPUS_SCALE),
                (groups, len(counts), GROUP_SCALE),
            )
        )
        # No label lies beyond the scale.
        lowest, highest = known_sums + left * value.min(), known_sums + left * value.max()
        mean = (sums.sum(axis=1) + left.sum() * whole[:, 0]).clip(lowest.sum(), highest.sum())
        means = (sums + left * effects).clip(lowest, highest) / counts
        yield mean / counts.sum(), means, effects

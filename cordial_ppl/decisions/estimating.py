"""Estimating a corpus with a fitted stack: what is asked is checked, answers are put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import chi2

from cordial_ppl.data.labelling import rank_texts
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.corpus import PosteriorDraws, sum_draws
from cordial_ppl.decisions.drift import Drift, compare
from cordial_ppl.decisions.estimates.clusters import fit_by_cluster, number_clusters
from cordial_ppl.decisions.estimates.effects import CORPUS_SCALE, GROUP_SCALE, weigh_by_design
from cordial_ppl.decisions.estimates.estimate import (
    TARGETS,
    Estimate,
    PassRate,
    Population,
    name_groups,
    summarise,
)
from cordial_ppl.decisions.estimates.means import Texts, draw_means
from cordial_ppl.decisions.estimates.passing import as_passing, rate_judge
from cordial_ppl.decisions.estimates.rectified import as_probabilities, is_even, rectified_mean
from cordial_ppl.decisions.reader import state
from cordial_ppl.errors import InputError, quote
from cordial_ppl.scores import Interval
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.settings import check_level, check_names
from cordial_ppl.stack.sketch import sketch

TOLERANCE = 1e-2
"""Nats by which a reading may differ from that of the fit, from rounding in a table."""

UNEVEN = 1e-3
"""Error rate of the test whether the groups' shares of the labels are those of the texts."""


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
    passing: Any,
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
        CORPUS_SCALE if even and units is None else GROUP_SCALE,
    )
    marks = None if passing is None else as_passing(passing, scale)
    stated = state(logits)[0]
    judged = np.zeros(count, int) if marks is None else marks[stated.argmax(axis=1)].astype(int)
    cells, homes = np.unique(2 * codes + judged, return_inverse=True)
    by_cell = sum_draws(PosteriorDraws(fit, draws, True), logits, covariates, homes, rows)
    corpus = by_cell.regroup(cells // 2, len(names))
    values = [scale.values, *(np.arange(scale.size) >= k for k in range(1, scale.size))]
    values += [] if marks is None else [marks]
    drawn = [draw_means(corpus, texts, value.astype(float), fit.seed) for value in values]
    target = TARGETS.index(of)

    def describe(number: int, labelled: int, draws: np.ndarray, effect: Any) -> Population:
        ends = zip(*(end.tolist() for end in summarise(draws, level)), strict=True)
        mean, *shares = (Interval(*each) for each in ends)
        rate = None if marks is None else shares.pop()
        at_least = dict(zip(scale.options[1:], shares, strict=True))
        return Population(number, labelled, scale.options, mean, at_least, effect, rate)

    means = np.stack([(each.like_these, each.these)[target] for each in drawn], axis=-1)
    sizes = list(zip(texts.count().tolist(), texts.count(rows).tolist(), strict=True))
    population = {
        name: describe(*size, means[:, g], summarise(drawn[0].effects[:, g], level))
        for g, (name, size) in enumerate(zip(names, sizes, strict=True))
    }
    overall, rates = describe(count, len(rows), means[:, -1], None), None
    if marks is not None:
        agreement = np.repeat([[judged[0]], [1 - judged[0]]], 2, axis=1).astype(float)
        if np.ptp(judged):
            weights = weigh_by_design(1 / inclusion, judged[rows])
            apart = texts._replace(groups=judged, scale=GROUP_SCALE, weights=weights)
            by_judge = by_cell.regroup(cells % 2, 2)
            agreement = rate_judge(
                judged, draw_means(by_judge, apart, marks.astype(float), fit.seed), of, fit.seed
            )
        tpr, tnr = (summarise(each, level) for each in agreement)
        passed = tuple(np.array(scale.options)[marks].tolist())
        rates = PassRate(passed, summarise(means[:, -1, -1], level), float(judged.mean()), tpr, tnr)
    if groups is not None and not even:
        strata = codes
    design = {"strata": strata, "probabilities": probabilities, "clusters": units, "level": level}
    raw, mean_labels = stated @ scale.values, labels @ scale.values
    rectified = [rectified_mean(raw, rows, mean_labels, of=each, **design) for each in TARGETS]
    other = (drawn[0].these, drawn[0].like_these)[target][:, -1]
    designed = strata is not None or probabilities is not None or units is not None
    return Estimate(
        level=level,
        overall=overall,
        groups={} if groups is None else population,
        rectified=rectified[target],
        draws=means[:, : 0 if groups is None else -1, 0],
        of=of,
        other=(summarise(other, level), rectified[1 - target]),
        alike=fit.text_labels.alike,
        sample=None if designed else _compare(logits, rows, scale),
        uneven=_find_uneven(names, sizes) if probabilities is None else None,
        clusters=None if units is None else len(np.unique(units[rows])),
        passing=rates,
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

"""Estimating a corpus with a fitted stack: what is asked is checked, answers are put together."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import chi2

from cordial_ppl.data.checks import check_level, check_names, check_number
from cordial_ppl.data.containers import unmasked
from cordial_ppl.data.frames import aligned
from cordial_ppl.data.labelling import rank_texts
from cordial_ppl.data.ratings import state
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.corpus import PosteriorDraws, sum_draws
from cordial_ppl.decisions.drift import compare
from cordial_ppl.decisions.effects import CORPUS_SCALE, GROUP_SCALE
from cordial_ppl.decisions.estimates.clusters import GROUPS, fit_by_cluster, number_clusters
from cordial_ppl.decisions.estimates.estimate import Estimate, name_groups
from cordial_ppl.decisions.estimates.passing import as_passing, rate_judge
from cordial_ppl.decisions.estimates.quantities import (
    TARGETS,
    PassRate,
    Population,
    summarise,
)
from cordial_ppl.decisions.estimates.rectified import (
    as_probabilities,
    is_even,
    number_cells,
    rectified_mean,
)
from cordial_ppl.decisions.means import Cells, Corpus, draw_shares
from cordial_ppl.decisions.residuals import find_residuals, residuals_of
from cordial_ppl.errors import InputError, quote
from cordial_ppl.runtime.progress import doing
from cordial_ppl.scores import Interval
from cordial_ppl.stack.entering import enter
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.sketch import sketch

TOLERANCE = 1e-2
"""Nats by which a reading may differ from that of the fit, from rounding in a table."""

UNEVEN = 1e-3
"""Error rate of the test whether the groups' shares of the labels are those of the texts."""

SIMULATIONS = 5000
"""Choices of labels at random in this test."""


def estimate(
    fit: Fit,
    logits: Any,
    rows: Any,
    groups: Any = None,
    covariates: Any = None,
    *,
    of: str = TARGETS[0],
    clusters: Any = None,
    pairs: Any = None,
    passing: Any = None,
    level: float = 0.9,
    strata: Any = None,
    probabilities: Any = None,
    draws: int = 256,
) -> Estimate:
    """Estimate a corpus; arguments, result and errors are those of ``Stack.estimate``."""
    readings, extra = enter(fit, logits, covariates)
    columns = {"groups": groups, "strata": strata, "clusters": clusters, "pairs": pairs}
    groups, strata, clusters, pairs = (aligned(logits, c, noun) for noun, c in columns.items())
    check_names("of", [of], TARGETS)
    draws = int(check_number("draws", draws, 2, whole=True))
    level, scale, count = check_level(level), fit.scale, len(readings)
    if not fit.has_draws:
        raise InputError(
            "an estimate needs draws from a posterior: fit a stack with channels, such as Cordial, "
            'by another inference than "mode".'
        )
    labels, rows, of_label = check_rows(fit, readings, rows)
    names, codes = (["all"], np.zeros(count, int)) if groups is None else name_groups(groups, count)
    units = number_clusters(clusters, pairs, None if groups is None else codes, count)
    inclusion = as_probabilities(probabilities, len(rows))
    even = is_even(1 / inclusion)
    strata = number_cells(strata, "strata", count)
    unlike = not is_even(1 / inclusion, 0 if strata is None else strata[rows])
    if groups is not None and unlike:
        strata = codes
    stated = state(readings)[0]
    design = {"strata": strata, "probabilities": probabilities, "clusters": units, "level": level}
    raw, mean_labels = stated @ scale.values, labels @ scale.values
    rectified = [rectified_mean(raw, rows, mean_labels, of=each, **design) for each in TARGETS]
    marks = None if passing is None else as_passing(passing, scale)
    with doing("estimating"):
        residuals = residuals_of(fit)
        if units is not None:
            refitted = fit_by_cluster(fit, of_label, units)
            residuals = find_residuals(fit.text_labels, refitted.out_of_fold)
        corpus = Corpus(
            rows,
            labels,
            scale.values,
            1 / inclusion,
            codes,
            CORPUS_SCALE if even and units is None else GROUP_SCALE,
            plans=None if even or strata is None or strata.max() >= GROUPS else strata,
            verdicts=None if marks is None else marks[stated.argmax(axis=1)].astype(int),
            clusters=units,
        )
        posterior = PosteriorDraws(fit if units is None else refitted, draws, True)
        sums = sum_draws(posterior, readings, extra, corpus.cells.of, rows)
        drawn = draw_shares(sums, corpus, residuals, fit.seed)
    values = [scale.values, *(np.arange(scale.size) >= k for k in range(1, scale.size))]
    values = np.stack([*values, *([] if marks is None else [marks])], axis=1).astype(float)
    target = TARGETS.index(of)
    targets = [
        _find_means(table, corpus.cells, values) for table in (drawn.like_these, drawn.these)
    ]
    describe = partial(_describe, scale=scale, level=level, rated=marks is not None)
    counts = (np.bincount(of, minlength=len(names)).tolist() for of in (codes, codes[rows]))
    sizes = zip(*counts, strict=True)
    population = {
        name: describe(size, targets[target][:, g], drawn.effects[:, g])
        for g, (name, size) in enumerate(zip(names, sizes, strict=True))
    }
    overall = describe((count, len(rows)), targets[target][:, -1], None)
    table = drawn.like_these if of == TARGETS[0] else drawn.these
    others, fitted = np.delete(np.arange(count), rows), sketch(readings[rows])
    designed = strata is not None or probabilities is not None or units is not None
    return Estimate(
        level=level,
        overall=overall,
        groups={} if groups is None else population,
        rectified=rectified[target],
        draws=targets[target][:, : 0 if groups is None else -1, 0],
        of=of,
        other=(summarise(targets[1 - target][:, -1, 0], level), rectified[1 - target]),
        alike=fit.text_labels.alike,
        sample=None if designed else compare(sketch(readings[others]), fitted, scale),
        uneven=_find_uneven(names, corpus, fit.seed) if probabilities is None else None,
        clusters=None if units is None else len(np.unique(units[rows])),
        passing=None
        if marks is None or corpus.verdicts is None or overall.passing is None
        else PassRate(
            tuple(np.array(scale.options)[marks].tolist()),
            overall.passing,
            float(corpus.verdicts.mean()),
            *(
                summarise(each, level)
                for each in rate_judge(table, corpus.cells.verdicts, marks, fit.seed)
            ),
        ),
    )


def _find_means(
    table: Float[np.ndarray, "S C K"], cells: Cells, values: Float[np.ndarray, "K V"]
) -> Float[np.ndarray, "S M V"]:
    """Compute means of values of the options in each group, and of all texts in the last row."""
    masses = np.add.reduceat(table, cells.starts, axis=1)
    masses = np.concatenate([masses, masses.sum(axis=1, keepdims=True)], axis=1)
    return masses @ values / masses.sum(axis=2, keepdims=True)


def _describe(
    size: tuple[int, int],
    means: Float[np.ndarray, "D V"],
    effects: Float[np.ndarray, " D"] | None,
    *,
    scale: Scale,
    level: float,
    rated: bool,
) -> Population:
    """Summarise draws of the mean, of the shares, and of the share that passes if there is one."""
    ends = zip(*(end.tolist() for end in summarise(means, level)), strict=True)
    mean, *shares = (Interval(*each) for each in ends)
    rate = shares.pop() if rated else None
    at_least = dict(zip(scale.options[1:], shares, strict=True))
    effect = None if effects is None else summarise(effects, level)
    return Population(*size, scale.options, mean, at_least, effect, rate)


def _find_uneven(names: Sequence[str], corpus: Corpus, seed: int) -> str | None:
    """Return the group whose share of the labels differs most from that of the texts, if any does.

    A test of random choice, of texts or of whole clusters, with an error rate of one in a thousand.
    """
    rows, groups = corpus.rows, corpus.groups
    texts, labels = (np.bincount(of, minlength=len(names)) for of in (groups, groups[rows]))
    if len(names) == 1 or len(rows) == len(corpus.groups):
        return None
    shares = texts / texts.sum()

    def apart(counts: np.ndarray) -> Any:
        other = counts / counts.sum(axis=-1, keepdims=True)
        return np.sum((other - shares) ** 2 / shares, axis=-1)

    # Cheap, and hardly larger than the p value of few labels or of clusters.
    left = 1 / len(rows) - 1 / len(corpus.groups)
    if chi2.sf(apart(labels) / left, len(names) - 1) > 50 * UNEVEN:
        return None
    rng = np.random.default_rng(seed)
    if corpus.clusters is None:
        drawn = rng.multivariate_hypergeometric(texts, len(rows), SIMULATIONS)
    else:
        cells = np.zeros((corpus.clusters.max() + 1, len(names)))
        np.add.at(cells, (corpus.clusters, groups), 1)
        labelled = np.bincount(corpus.clusters[rows], minlength=len(cells)) / cells.sum(axis=1)
        drawn = np.stack([rng.permutation(labelled) @ cells for _ in range(SIMULATIONS)])
    if np.mean(apart(drawn) >= apart(labels) - 1e-12) > UNEVEN:
        return None
    return names[int(np.argmax(np.abs(labels / labels.sum() - shares)))]


def check_rows(
    fit: Fit, logits: np.ndarray, rows: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of options among the labels of each text of a fit, its row in a corpus, each label's.

    Raises:
        InputError: the rows are not those of the fit's texts.
    """
    per_text, positions, ranks = fit.text_labels, np.asarray(unmasked(rows)), rank_texts(fit.texts)
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
    others = (
        np.abs(logits[positions] - fit.labelled.logits).reshape(len(positions), -1).max(axis=1)
        > TOLERANCE
    )
    if others.any():
        first = int(others.argmax())
        raise InputError(
            "rows must be the labelled texts of the fit, in its order; "
            f"logits[{positions[first]}] is not the reading of label {first}. "
            "Give the rows that fit was called with."
        )
    return per_text.shares, text_rows.astype(np.int64), positions.astype(np.int64)

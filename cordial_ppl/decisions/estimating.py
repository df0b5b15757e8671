"""Estimating a corpus with a fitted stack: what is asked is checked, answers are put together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import chdtrc

from cordial_ppl.data.checks import check_number
from cordial_ppl.data.containers import unmasked
from cordial_ppl.data.frames import aligned
from cordial_ppl.data.labelling import by_text, sum_at
from cordial_ppl.data.ratings import state
from cordial_ppl.decisions.corpus import Cells, Corpus
from cordial_ppl.decisions.corpus_draws import PosteriorDraws, require_draws, sum_draws
from cordial_ppl.decisions.drift import compare
from cordial_ppl.decisions.effects import CORPUS_SCALE, GROUP_SCALE
from cordial_ppl.decisions.estimates.clusters import GROUPS, fit_by_cluster, number_clusters
from cordial_ppl.decisions.estimates.estimate import Estimate, name_groups
from cordial_ppl.decisions.estimates.passing import as_passing, rate_judge
from cordial_ppl.decisions.estimates.quantities import PassRate, Population, summarise
from cordial_ppl.decisions.estimates.rectified import (
    as_probabilities,
    is_even,
    number_cells,
    rectified_means,
)
from cordial_ppl.decisions.means import Shares, draw_shares
from cordial_ppl.decisions.question import TARGETS, Question
from cordial_ppl.decisions.residuals import find_residuals
from cordial_ppl.errors import InputError, quote, warn
from cordial_ppl.runtime.progress import doing
from cordial_ppl.scores import Interval
from cordial_ppl.stack.entering import enter
from cordial_ppl.stack.fit import Fit
from cordial_ppl.stack.sketch import sketch

COLUMNS = "groups", "strata", "clusters", "pairs"
"""Fields of a question that have a cell for each text."""

TOLERANCE = 1e-2
"""Nats by which a reading may differ from that of the fit, from rounding in a table."""

UNEVEN = 1e-3
"""Error rate of the test whether the groups' shares of the labels are those of the texts."""

SIMULATIONS = 5000
"""Choices of labels at random in this test."""


class Posed(NamedTuple):
    """A question whose cells are numbered.

    Attributes:
        corpus: the texts, and what they are of.
        names: of the groups; one where none are asked for.
        marks: the options that pass, if some do.
        strata: stratum of each text, for the design-based estimate.
        inclusion: inclusion probability of each labelled text.
    """

    corpus: Corpus
    names: list[str]
    marks: Bool[np.ndarray, " K"] | None
    strata: Int[np.ndarray, " N"] | None
    inclusion: Float[np.ndarray, " n"]


def estimate(
    fit: Fit, logits: Any, rows: Any, question: Question, covariates: Any = None, draws: int = 256
) -> Estimate:
    """Estimate a corpus; arguments, result and errors are those of ``Stack.estimate``."""
    if not isinstance(question, Question):
        raise InputError(
            f"question must be a Question; got {quote(question)}. Pass the fields of the question "
            "by name, such as groups=systems."
        )
    texts = enter(fit, logits, covariates)
    draws = int(check_number("draws", draws, 2, whole=True))
    require_draws(fit, "an estimate needs")
    labels, rows, of_label = check_rows(fit, texts.logits, rows)
    columns = {noun: aligned(logits, getattr(question, noun), noun) for noun in COLUMNS}
    read = ~texts.unread
    if (unread := int((~read).sum())) and read[rows].all():
        # Nothing is known of texts like these: what is estimated is said to be of the others.
        some = {k: c if c is None else np.asarray(c, object)[read] for k, c in columns.items()}
        asked, others = replace(question, **some), texts.read
        rest = others.logits, (read.cumsum() - 1)[of_label], asked, others.covariates
        made = estimate(fit, *rest, draws)
        names = () if question.groups is None else name_groups(columns["groups"], len(read))[0]
        unheard = tuple(name for name in names if name not in made.groups)
        return replace(made, unread=(unread, 0), unheard=unheard)
    if fit.text_labels.effective < len(fit.text_labels.first):
        warn(
            "weights of labels change only the calibration: this estimate counts every labelled "
            "text once. To correct for the sampling, use sampling probabilities instead."
        )
    stated, every = np.tile(fit.unread_counts / fit.unread_counts.sum(), (2, len(read), 1))
    stated[read] = state(texts.read.logits)[0]
    posed = _pose(fit, stated, replace(question, **columns), read, (labels, rows))
    with doing("estimating"):
        fitted, corpus = fit, posed.corpus
        if corpus.clusters is not None:
            fitted = fit_by_cluster(fit, of_label[~fit.entered.unread], corpus.clusters)
        residuals = find_residuals(fit.text_labels, fitted.out_of_fold)
        posterior, cells = PosteriorDraws(fitted, draws, True), corpus.cells
        places = (read.cumsum() - 1)[corpus.rows[read[corpus.rows]]]
        sums = sum_draws(posterior, texts.read, cells.of[read], places, len(cells.groups))
        every[read] = sums.mixture
        shares = draw_shares(sums._replace(mixture=every), corpus, residuals, fit.seed)
    made = _conclude(fit, texts.logits, stated, question, posed, shares)
    return replace(made, unread=(unread, int((~read[rows]).sum())))


def _pose(
    fit: Fit,
    stated: np.ndarray,
    question: Question,
    read: Bool[np.ndarray, " N"],
    labelled: tuple[np.ndarray, np.ndarray],
) -> Posed:
    """Validate what is asked, and number groups, clusters and strata."""
    scale, count, (labels, rows) = fit.scale, len(stated), labelled
    groups, strata, clusters, pairs = (getattr(question, noun) for noun in COLUMNS)
    names, codes = (["all"], np.zeros(count, int)) if groups is None else name_groups(groups, count)
    units = number_clusters(clusters, pairs, None if groups is None else codes, count)
    inclusion = as_probabilities(question.probabilities, len(rows))
    even, strata = is_even(1 / inclusion), number_cells(strata, "strata", count)
    unlike = not is_even(1 / inclusion, 0 if strata is None else strata[rows])
    plans = None if even or unlike or strata is None or strata.max() >= GROUPS else strata
    if plans is not None:
        # The plan's groups have an effect already, where the estimate is of these.
        both = np.unique(np.stack([codes, plans]), axis=1).shape[1]
        plans = None if both == len(names) == plans.max() + 1 else plans
    marks = None if question.passing is None else as_passing(question.passing, scale)
    # What passes and the rest have the same draws, so that their rates add up to one.
    highest = None if marks is None else (marks == marks[-1]).astype(int)
    order = np.argsort(~read[rows], kind="stable")
    rows, labels, inclusion = rows[order], labels[order], inclusion[order]
    corpus = Corpus(
        rows=rows,
        labels=labels,
        value=scale.values,
        weights=1 / inclusion,
        groups=codes,
        read=read,
        scale=CORPUS_SCALE if even and units is None else GROUP_SCALE,
        plans=plans,
        verdicts=None if highest is None else np.where(read, highest[stated.argmax(axis=1)], 0),
        clusters=units,
    )
    strata = codes if groups is not None and unlike else strata
    if not read.all():
        # Strata without labels are joined with the next: those of unread texts among themselves.
        strata = np.zeros(count, int) if strata is None else strata
        strata = strata + ~read * (strata.max() + 1)
    return Posed(corpus, names, marks, strata, inclusion)


def _conclude(
    fit: Fit,
    readings: np.ndarray,
    stated: np.ndarray,
    question: Question,
    posed: Posed,
    shares: Shares,
) -> Estimate:
    """Summarise draws, and put the design-based estimate and warnings beside them."""
    scale, level, (corpus, names, marks, strata, inclusion) = fit.scale, question.level, posed
    rows, target = corpus.rows, TARGETS.index(question.of)
    values = [scale.values, *(np.arange(scale.size) >= k for k in range(1, scale.size))]
    values = np.stack([*values, *([] if marks is None else [marks])], axis=1).astype(float)
    tables = shares.like_these, shares.these
    means, others = (_find_means(tables[t], corpus.cells, values) for t in (target, 1 - target))
    design = {"strata": strata, "probabilities": inclusion, "clusters": corpus.clusters}
    raw = stated @ scale.values, rows, corpus.labels @ scale.values
    rectified = rectified_means(*raw, level=level, **design)
    for of, each in rectified.items():
        if np.isfinite(each.lower):  # Else there are too few labels for an interval.
            mean, lower, upper = np.clip(each[:3], scale.values.min(), scale.values.max()).tolist()
            rectified[of] = each._replace(mean=mean, lower=lower, upper=upper)

    def describe(size: tuple[int, int], means: np.ndarray, effects: Any = None) -> Population:
        """Summarise draws of the mean, of the shares, and of the share that passes if any."""
        ends = zip(*(end.tolist() for end in summarise(means, level)), strict=True)
        mean, *parts = (Interval(*each) for each in ends)
        rate = None if marks is None else parts.pop()
        at_least = dict(zip(scale.options[1:], parts, strict=True))
        effect = None if effects is None else summarise(effects, level)
        return Population(*size, scale.options, mean, at_least, effect, rate)

    counts = (np.bincount(of, minlength=len(names)) for of in (corpus.groups, corpus.groups[rows]))
    sizes = [*zip(*(each.tolist() for each in counts), strict=True)]
    population = {
        name: describe(sizes[g], means[:, g], shares.effects[:, g]) for g, name in enumerate(names)
    }
    overall, passing = describe((len(readings), len(rows)), means[:, -1]), None
    if marks is not None and overall.passing is not None:
        # The judge says nothing of texts that it has not read.
        seen = corpus.cells.unread == 0
        passed = corpus.cells.verdicts[seen] == marks[-1]
        rates = rate_judge(tables[target][:, seen], passed.astype(int), marks, fit.seed)
        options = tuple(np.array(scale.options)[marks].tolist())
        ends = (summarise(each, level) for each in rates)
        judged = float(marks[stated[corpus.read].argmax(axis=1)].mean())
        passing = PassRate(options, overall.passing, judged, *ends)
    weighed = question.probabilities is not None
    designed = question.strata is not None or weighed or corpus.clusters is not None
    rest, chosen = sketch(np.delete(readings, rows, axis=0)), sketch(readings[rows])
    sample = None if designed else compare(rest, chosen, scale)
    grouped, units = question.groups is not None, corpus.clusters
    return Estimate(
        level=level,
        overall=overall,
        groups=population if grouped else {},
        rectified=rectified[question.of],
        draws=means[:, : -1 if grouped else 0, 0],
        of=question.of,
        other=(summarise(others[:, -1, 0], level), rectified[TARGETS[1 - target]]),
        alike=bool(np.count_nonzero(corpus.labels.sum(axis=0)) == 1),
        sample=sample,
        uneven=None if weighed else _find_uneven(names, corpus, fit.seed),
        clusters=None if units is None else len(np.unique(units[rows])),
        passing=passing,
        rising=scale.rising,
    )


def _find_means(
    table: Float[np.ndarray, "S C K"], cells: Cells, values: Float[np.ndarray, "K V"]
) -> Float[np.ndarray, "S M V"]:
    """Compute means of values of the options in each group, and of all texts in the last row."""
    masses = np.add.reduceat(table, cells.starts, axis=1)
    masses = np.concatenate([masses, masses.sum(axis=1, keepdims=True)], axis=1)
    return masses @ values / masses.sum(axis=2, keepdims=True)


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
        return np.sum((counts / counts.sum(axis=-1, keepdims=True) - shares) ** 2 / shares, axis=-1)

    # Cheap, and hardly larger than the p value of few labels or of clusters.
    left = 1 / len(rows) - 1 / len(corpus.groups)
    if chdtrc(len(names) - 1, apart(labels) / left) > 50 * UNEVEN:
        return None
    rng = np.random.default_rng(seed)
    if corpus.clusters is None:
        drawn = rng.multivariate_hypergeometric(texts, len(rows), SIMULATIONS)
    else:
        cells = sum_at((corpus.clusters, groups), 1, (corpus.clusters.max() + 1, len(names)))
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
    texts, positions = fit.entered, np.asarray(unmasked(rows))
    per_text = by_text(texts.labels, fit.scale.size, texts.weights, texts.texts)
    ranks = texts.ranks
    if positions.dtype == bool and positions.shape == (len(logits),):
        positions = np.flatnonzero(positions)
    if positions.shape == per_text.first.shape:
        positions = positions[ranks]
    wanted = (
        f"rows must be the positions (0..{len(logits) - 1}) of the {len(per_text.first)} labelled "
        f"texts of the fit, in the same order, or a mask over all texts; got {quote(rows)}"
    )
    if positions.shape != texts.labels.shape or positions.dtype.kind not in "iu":
        raise InputError(f"{wanted}.")
    text_rows, inside = positions[per_text.first], (0 <= positions) & (positions < len(logits))
    if not inside.all() or (text_rows[ranks] != positions).any():
        raise InputError(f"{wanted}.")
    if len(np.unique(text_rows)) < len(text_rows):
        raise InputError(f"{wanted}, which lists the same position for two texts.")
    apart = np.abs(np.nan_to_num(logits[positions]) - np.nan_to_num(texts.logits))
    others = (np.isnan(logits[positions, 0]) != texts.unread) | (apart.max(axis=1) > TOLERANCE)
    if others.any():
        first = int(others.argmax())
        raise InputError(
            "rows must list the labelled texts in the order of the fit, but "
            f"logits[{positions[first]}] is not the reading of labelled text {first}. For "
            "each labelled text, pass the index of its row in `logits`."
        )
    return per_text.shares, text_rows.astype(np.int64), positions.astype(np.int64)

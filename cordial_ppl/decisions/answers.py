"""Answers from a fit: each function validates what it is asked and calls one computation."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.checks import check_cells, check_level, check_list, check_names, check_number
from cordial_ppl.data.containers import as_cells
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.ratings import state
from cordial_ppl.decisions import drift, forecasting, monitoring, predictive, summary
from cordial_ppl.decisions.corpus_draws import PosteriorDraws
from cordial_ppl.decisions.estimates import bias
from cordial_ppl.decisions.judge import Reader, assess
from cordial_ppl.decisions.outlook import expected_loss_and_gap
from cordial_ppl.decisions.residuals import residuals_of
from cordial_ppl.decisions.verdict import Verdict, judge
from cordial_ppl.errors import InputError, list_names, quote, warn
from cordial_ppl.runtime.progress import doing
from cordial_ppl.stack.entering import enter, enter_labels, predict
from cordial_ppl.stack.fit import AnyFit, Fit
from cordial_ppl.stack.sketch import sketch

if TYPE_CHECKING:
    from xarray import DataTree

LEAST_BIAS = 0.025
"""Share of the scale's length that a group must be off to be reported: a tenth of five stars."""


def predict_draws(
    fit: Any, logits: Any, draws: int = 256, covariates: Any = None, *, histogram: str = "redrawn"
) -> tuple[Float[np.ndarray, "D m K"], Float[np.ndarray, " D"]]:
    r"""Draw probabilities of the options from the posterior, for means and other statistics.

    A member's draws share its weight equally, so that the weighted mean of the draws is close
    to ``predict_proba``.

    Args:
        fit: the calibrator or its ``fit_``.
        logits: option logits, as in ``predict_proba``.
        draws: number of draws per channel; a calibrator has one draw.
        covariates: per-text covariates, as in ``fit``.
        histogram: "redrawn" draws the label histogram, which channels fall back on, from its
            Dirichlet posterior, because the histogram's uncertainty does not average out over a
            corpus; "fixed" uses the posterior mean, as in ``predict_proba``.

    Returns:
        Probabilities under the D draws of all members, and the weight of each draw.

    Raises:
        InputError: the readings, the number of draws or ``histogram`` is invalid.
    """
    texts = enter(fit := as_fit(fit), logits, covariates)
    check_names("histogram", [histogram], ("redrawn", "fixed"))
    count = int(check_number("draws", draws, 2, whole=True))
    weights, probs = PosteriorDraws(fit, count, histogram == "redrawn").predict_all(texts)
    if (unread := texts.unread).any():
        rng = np.random.default_rng([fit.seed, count])
        probs[:, unread] = rng.dirichlet(fit.unread_counts, len(probs))[:, None]
    return probs, weights


def as_fit(fit: Any, kind: type[AnyFit] = Fit) -> Any:
    """Return a fit, or that of an estimator; raise an ``InputError`` for anything else."""
    if not isinstance(fit, AnyFit) and hasattr(type(fit), "fit_"):
        fit = fit.fit_
    if not isinstance(fit, kind):
        several = " or several judges" * (kind is not Fit)
        raise InputError(
            f"expected a fitted calibrator for one judge{several} (or its fit_ attribute); got "
            f"{type(fit).__name__}."
        )
    return fit


def find_bias(fit: Any, columns: Mapping[str, Any], clusters: Any = None) -> list[bias.Bias]:
    """Find groups of texts that are still rated too low or too high after calibration.

    Args:
        fit: the calibrator or its ``fit_``.
        columns: columns that describe the labelled texts, by name, such as the system that wrote
            each text; each of shape ``[n]`` in the order of the fit, with one cell per label.
        clusters: cluster of each label, shape ``[n]`` in the same order, if texts may be related,
            as turns of a conversation are; by default labels count as independent.

    Returns:
        Columns whose groups differ by more than chance, with the worst group of each column. The
        test has an error rate of 5 % over all columns, see `cordial_ppl.decisions.estimates.bias`.
        The result is empty with fewer than eight labels or if all labels are identical.

    Raises:
        InputError: a column has the wrong length.
    """
    if (fit := as_fit(fit)).out_of_fold is None or fit.text_labels.alike:
        return []
    values, first = fit.scale.values, np.flatnonzero(~fit.entered.unread)[fit.text_labels.first]
    residuals = residuals_of(fit).steps @ np.diff(values)

    def take(name: str, cells: Any) -> np.ndarray:
        return as_cells(cells, name, len(fit.entered.labels), object)[first]

    told = {name: take(f"column {name!r}", cells) for name, cells in columns.items()}
    groups = None if clusters is None else take("clusters", clusters)
    return bias.find_bias(residuals, told, fit.seed, LEAST_BIAS * float(np.ptp(values)), groups)


def forecast(
    fit: Any, logits: Any, covariates: Any = None, *, counts: Sequence[int] | None = None
) -> forecasting.Forecast:
    """Forecast the gain from more labels; see ``Stack.forecast``."""
    texts = enter(fit := as_fit(fit), logits, covariates).read
    if not can_forecast(fit):
        raise InputError(
            "this calibrator cannot forecast, because it lacks folds or a channel with "
            "posterior draws. Fit a Cordial calibrator with the default inference method."
        )
    with doing("forecasting the gain from more labels"):
        outlook = expected_loss_and_gap(fit, texts)
        fitted = fit.text_labels, fit.out_of_fold, fit.scale.values
        return forecasting.forecast(*fitted, outlook, counts)


def check_readings(fit: Any, logits: Any) -> drift.Drift | None:
    """Test whether new readings resemble the readings in the fit; see `decisions.drift.compare`.

    Args:
        fit: the calibrator or its ``fit_``.
        logits: option logits of new texts, ``[m, K]``.

    Returns:
        The difference, with a p value; None if there are no readings.

    Raises:
        InputError: the readings are invalid.
    """
    fit = as_fit(fit)
    return drift.compare(fit.sketch, sketch(fit.read(logits)), fit.scale)


def monitor(
    fit: Any, *readings: Any, texts: Any = None, covariates: Any = None, level: float = 0.95
) -> monitoring.Monitored:
    """Test whether a judge has changed, by repeated readings; see `decisions.monitoring.monitor`.

    Args:
        fit: the calibrator or its ``fit_``.
        readings: option logits of the first readings, ``[n, K]``, and of each later look, in
            chronological order.
        texts: names of the texts at each look; by default, all looks have the same texts in the
            same order. The last look may include new texts, which separate drift of the texts from
            drift of the judge.
        covariates: the covariates of each reading, as in ``fit``.
        level: probability that no look raises an alarm if the judge is the same.

    Returns:
        The shift since the first readings, the evidence over all looks, and the answer.

    Raises:
        InputError: readings are invalid, only one look was passed, or a look shares no text with
            the first readings.
    """
    check_level(level)
    fit, count = as_fit(fit), len(readings)
    if count < 2:
        raise InputError(f"monitor needs readings from at least two points in time; got {count}.")
    covariates = [None] * count if covariates is None else covariates
    for noun, each in (("texts", texts), ("covariates", covariates)):
        if each is not None and len(check_list(noun, each)) != count:
            raise InputError(f"{noun} must have {count} entries, one per look; got {len(each)}.")
    entered = [enter(fit, *each) for each in zip(readings, covariates, strict=True)]
    sizes = [len(each.labels) for each in entered]
    if texts is None and len({*sizes}) > 1:
        raise InputError(
            "without text names, all readings must cover the same texts in the same order; got "
            f"{' and '.join(map(str, sizes))} rows. Name the texts: texts=[names, ...]."
        )
    texts = [range(size) for size in sizes] if texts is None else texts
    names = [check_cells("texts", *each) for each in zip(texts, sizes, strict=True)]
    unread = [each.unread for each in entered]
    if changed := drift.differ(unread[0], unread[-1]):
        warn(
            f"{unread[-1].mean():.0%} of the texts have no reading in the last table "
            f"({unread[0].mean():.0%} in the first). The answer is about texts rated both times."
        )
    first = {name: row for row, name in enumerate(compress(names[0], ~unread[0]))}
    scores = np.full((len(first), count), np.nan)
    stated, others = np.full((*scores.shape, fit.scale.size), np.nan), None
    for t, (each, read, gone) in enumerate(zip(names, entered, unread, strict=True)):
        each, read = [*compress(each, ~gone)], read.read
        again = np.array([name in first for name in each], bool)
        if len({*each}) < len(each):
            raise InputError(f"look {t} contains the same text twice. Keep one reading per text.")
        if not again.any():
            raise InputError(
                f"look {t} ({list_names(each, 2)}) shares no text with the first readings "
                f"({list_names(first, 2)}). Include some of the first texts, with the same names."
            )
        rows = [first[name] for name in each if name in first]
        stated[rows, t] = state(read.logits)[0][again]
        scores[rows, t] = predict(fit, read)[0][again] @ fit.scale.values
        if t == count - 1 and not again.all():
            same, rest = sketch(read.logits[again]), sketch(read.logits[~again])
            others = drift.compare(same, rest, fit.scale)
    if lacking := len({*names[0]} - {*names[-1]}):
        advice = "If the judge did not rate them, include their rows with empty readings."
        warn(f"the last table lacks {lacking} of the {len(names[0])} first texts. {advice}")
    monitored = monitoring.monitor(scores, stated, fit.scale, level)
    return monitored._replace(others=others, unread_changed=changed)


def check_labels(
    fit: Any,
    logits: Any,
    labels: Any,
    covariates: Any = None,
    *,
    sample_weight: Any = None,
    texts: Any = None,
) -> predictive.LabelCheck:
    """Test whether new labels match the calibrator's predictions, by their log loss.

    Label sets are simulated from the joint posterior predictive distribution, which includes the
    uncertainty of a fit to few labels; see `cordial_ppl.decisions.predictive.check_labels`.

    Args:
        fit: the calibrator or its ``fit_``.
        logits: option logits of texts outside the fit, ``[n, K]``.
        labels: labels of these texts, as in ``fit``; ``[n, annotators]`` if there are several.
        covariates: covariates of these texts, as in ``fit``.
        sample_weight: weight of each label, as in ``fit``.
        texts: name or number of each row's text, as in ``fit``; each text is one observation.

    Returns:
        The log loss, its expected value, and the p value.

    Raises:
        InputError: the readings or the labels are invalid.
    """
    fit = as_fit(fit)
    data = enter_labels(fit, logits, labels, covariates, sample_weight, texts).read
    if not len(data.labels):
        raise InputError("no labelled text has a reading, so there is nothing to check.")
    fitted = fit.labelled.has(data.texts)
    if fitted.any():
        warn(
            f"{len(np.unique(data.texts[fitted]))} of {data.count} texts were used in the fit, so "
            "the check is too optimistic. Remove these texts."
        )
    return predictive.check_labels(fit, data)


def describe(fit: Any, forecast: forecasting.Forecast | None = None) -> summary.Summary:
    """Describe a fit in plain words and figures.

    Args:
        fit: the calibrator or its ``fit_``.
        forecast: the result of ``forecast``, to add a sentence about more labels.
    """
    fit = as_fit(fit)
    if not isinstance(forecast, forecasting.Forecast | None):
        raise InputError(f"forecast must be a result of forecast(); got {quote(forecast)}.")
    return summary.describe(fit, verdict(fit), reader_of(fit), forecast)


def verdict(fit: Any) -> Verdict | None:
    """Advise whether to use a calibrator, and explain why, from its out-of-fold predictions.

    Args:
        fit: the calibrator or its ``fit_``, for one judge or several.

    Returns:
        The verdict; None for a single calibrator, and for a fusion whose labelled texts all come
        from judges with fewer than eight labels.
    """
    if not (fit := as_fit(fit, AnyFit)).judged:
        return None
    reader = reader_of(fit) if isinstance(fit, Fit) else None
    return judge(fit.text_labels, fit.out_of_fold, fit.scale, reader and reader.points)


@lru_cache(maxsize=8)
def reader_of(fit: Fit) -> Reader | None:
    """Return the reader as it is; None without labels.

    Args:
        fit: the fit, ``calibrator.fit_``.
    """
    return assess(fit) if len(fit.labelled.labels) else None


def can_forecast(fit: Fit) -> bool:
    """Return whether ``forecast`` has what it needs: folds, and draws of a channel."""
    return fit.settings.folded and fit.has_draws


def labelled_texts(fit: Fit, logits: Any, labels: Any, covariates: Any) -> Labelled:
    """Validate labelled texts, or return those of the fit where none are given.

    Args:
        fit: the fit, ``calibrator.fit_``.
        logits: option logits, ``[n, K]``.
        labels: their options.
        covariates: their covariates, as in ``fit``.

    Raises:
        InputError: logits came without labels or are invalid, or the fit had no labels.
    """
    if (logits is None) != (labels is None):
        raise InputError("only one of logits and labels was passed. Pass both or neither.")
    if logits is not None:
        return enter_labels(fit, logits, labels, covariates).read
    if not len(fit.labelled.labels):
        raise InputError("this calibrator was fitted without labels. Pass logits and labels.")
    return fit.labelled


def export(
    fit: Fit, logits: Any = None, labels: Any = None, covariates: Any = None
) -> "dict[str, DataTree]":
    """Export the posterior of each channel to ArviZ, by name of the channel.

    Args:
        fit: the fit, ``calibrator.fit_``.
        logits: labelled texts for the log likelihoods, ``[m, K]``; by default those of the fit.
        labels: their options.
        covariates: their covariates, as in ``fit``.

    Raises:
        InputError: logits came without labels, or are invalid.
    """
    data = labelled_texts(fit, logits, labels, covariates)
    return {
        name: posterior.to_datatree(data=data, options=fit.scale.options, seed=fit.seed)
        for name, posterior in fit.posteriors.items()
    }

"""Scoring the fits of a cell on the report texts."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl import scores
from cordial_ppl.analyses import (
    labels_given_stated,
    predictions_given_stated,
    reversed_fits,
    saturated_readings,
)
from cordial_ppl.cordial.subsets import BatchFit, Texts
from cordial_ppl.errors import InputError
from cordial_ppl.inference.posterior import Diagnostics
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.tasks import Reading

METRICS: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "log_loss": scores.log_loss,
    "rps": scores.rps,
    "accuracy": scores.accuracy,
    "qwk": scores.quadratic_weighted_kappa,
    "mae": scores.mean_absolute_error,
}
FURTHER = ("class_weighted_kl", "reversed", "khat", "ess", "trusted")
"""Also scored: nats, 0 or 1, and the worst k-hat, the least ESS and the trust of channels."""


class Prediction(NamedTuple):
    """What one fit says.

    Attributes:
        report: probabilities of the report texts.
        saturated: those of one saturated reading of each class; NaN where they are not known.
        diagnostics: of its channels.
    """

    report: Float[np.ndarray, "m K"]
    saturated: Float[np.ndarray, "K K"]
    diagnostics: tuple[Diagnostics, ...] = ()


def with_saturated(reading: Reading) -> Texts:
    """The report texts, and after them one saturated reading for each class."""
    size = reading.scale.size
    covariates = {
        name: np.append(values, np.full(size, reading.pool.covariates[name].mean()))
        for name, values in reading.report.covariates.items()
    }
    extremes = saturated_readings(reading.pool.logits)
    return Texts(np.vstack([reading.report.logits, extremes]), covariates)


def split_fits(reading: Reading, fits: BatchFit) -> list[Prediction]:
    """What each fit says of the report texts and of the saturated readings behind them."""
    count = len(reading.report_labels)
    return [
        Prediction(probs[:count], probs[count:], tuple(own[draw] for own in fits.diagnostics))
        for draw, probs in enumerate(fits.probs)
    ]


def score_cell(
    reading: Reading,
    n: int,
    found: Mapping[str, list[Prediction | Exception]],
    seconds: float,
) -> Cell:
    """Score all fits of a cell; one that failed, or does not give probabilities, says why.

    Args:
        reading: the task and reader.
        n: number of labels.
        found: for each method, what each fit says, or the error it ended with.
        seconds: how long the fits took.
    """
    methods, size = tuple(found), reading.scale.size
    draws, texts = len(next(iter(found.values()))), len(reading.report_labels)
    shape = len(methods), draws
    # The largest array by far, and no figure needs more digits.
    losses = np.full((*shape, texts), np.nan, np.float32)
    table = {name: np.full(shape, np.nan) for name in (*METRICS, *FURTHER)}
    given = np.full((*shape, size, size), np.nan)
    saturated = np.full((*shape, size, size), np.nan)
    stated = reading.report.logits.argmax(axis=1)
    reasons = {}
    for m, method in enumerate(methods):
        for draw, prediction in enumerate(found[method]):
            try:
                if isinstance(prediction, Exception):
                    raise prediction
                own = _score(prediction, reading.report_labels, stated)
                losses[m, draw] = scores.log_loss(
                    prediction.report, reading.report_labels, per_text=True
                )
            except Exception as error:  # A fit that failed is a result: it stands in the table.
                reasons[method, draw] = " ".join(str(error).split()) or type(error).__name__
                continue
            for name, value in own.items():
                table[name][m, draw] = value
            given[m, draw] = predictions_given_stated(prediction.report, stated)
            saturated[m, draw] = prediction.saturated
    return Cell(
        task=reading.task,
        reader=reading.reader,
        n=n,
        methods=methods,
        losses=losses,
        scores=table,
        given_stated=given,
        saturated=saturated,
        empirical=labels_given_stated(reading.report_labels, stated, size),
        stated=np.bincount(stated, minlength=size),
        reasons=reasons,
        seconds=seconds,
    )


def _score(prediction: Prediction, labels: np.ndarray, stated: np.ndarray) -> dict[str, float]:
    probs = prediction.report
    if not np.isfinite(probs).all():
        raise InputError("the predictions are not finite")
    found = {name: metric(probs, labels) for name, metric in METRICS.items()}
    found["class_weighted_kl"] = scores.class_weighted_kl(probs, labels, stated)
    if np.isfinite(prediction.saturated).all():
        found["reversed"] = float(reversed_fits(prediction.saturated[None])[0])
    if prediction.diagnostics:
        found["khat"] = max(own.khat for own in prediction.diagnostics)
        found["ess"] = min(own.ess for own in prediction.diagnostics)
        found["trusted"] = float(all(own.trusted for own in prediction.diagnostics))
    return found

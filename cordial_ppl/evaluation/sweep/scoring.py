"""Scoring a method's predictions of the report texts, its fits' or those made elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl import scores
from cordial_ppl.errors import InputError, naming
from cordial_ppl.estimators.subsets import Texts
from cordial_ppl.evaluation.sweep.config import SweepConfig
from cordial_ppl.evaluation.sweep.methods import External
from cordial_ppl.evaluation.sweep.results import Outcome
from cordial_ppl.evaluation.sweep.tasks import Reading
from cordial_ppl.inference.posterior import Diagnostics
from cordial_ppl.tables import Predictions

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
    """Prediction of one fit.

    Attributes:
        probs: probabilities of the report texts, and after them, where there are some, those of one
            saturated reading for each class.
        diagnostics: of its channels.
    """

    probs: Float[np.ndarray, "r K"]
    diagnostics: Sequence[Diagnostics] = ()


def with_saturated(reading: Reading) -> Texts:
    """Return the report texts, and after them one saturated reading for each class."""
    size = reading.scale.size
    covariates = {
        name: np.append(values, np.full(size, reading.pool.covariates[name].mean()))
        for name, values in reading.report.covariates.items()
    }
    extremes = saturated_readings(reading.pool.logits)
    return Texts(np.vstack([reading.report.logits, extremes]), covariates)


def saturated_readings(logits: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "K K"]:
    """Return a centred reading for each class that is as sure as the reader usually is.

    Reading y has `m` at y and `-m / (K - 1)` elsewhere, with m the median over texts of the
    largest centred logit.

    Args:
        logits: readings [n, K] (nats), centred or not.

    Returns:
        Logits [K, K], lowest class first.
    """
    size = logits.shape[1]
    height = np.median(logits.max(axis=1) - logits.mean(axis=1))
    return height * (size * np.eye(size) - 1) / (size - 1)


def read_externals(config: SweepConfig, readings: Sequence[Reading]) -> dict[str, Predictions]:
    """Read the tables of probabilities, by the name of their method.

    Raises:
        FileError: a table cannot be read.
        InputError: it lacks a column; the message names the key.
    """
    tables = {}
    for method in config.methods:
        if isinstance(method, External):
            with naming(f"external.{method.name}"):
                tables[method.name] = Predictions(method.probabilities)
                for reading in readings:
                    tables[method.name].check(reading.scale)
    return tables


def score_table(table: Predictions, reading: Reading, n: int, draws: int) -> Outcome:
    """Score what a table of probabilities has for each draw of n labels."""
    predictions: list[Prediction | InputError] = []
    for draw in range(draws):
        fit = {"task": reading.task, "reader": reading.reader, "n": n, "draw": draw}
        try:
            predictions.append(Prediction(table.probs(reading.report_ids, reading.scale, **fit)))
        except InputError as error:
            predictions.append(error)
    return score(reading, predictions)


def score(reading: Reading, predictions: Sequence[Prediction | Exception]) -> Outcome:
    """Score a method's fits; one that failed, or does not give probabilities, says why.

    Args:
        reading: the task and reader.
        predictions: for each draw of labels the prediction, or what went wrong.
    """
    labels, size, draws = reading.report_labels, reading.scale.size, len(predictions)
    stated, reasons = reading.report.logits.argmax(axis=1), [""] * draws
    # The largest array by far, and no figure needs more digits.
    losses = np.full((draws, len(labels)), np.nan, np.float32)
    given_stated = np.full((draws, size, size), np.nan)
    columns = {name: np.full(draws, np.nan) for name in (*METRICS, *FURTHER)}
    for draw, prediction in enumerate(predictions):
        try:
            if isinstance(prediction, Exception):
                raise prediction
            values = _score(prediction, labels, stated)
        except Exception as error:  # A fit that failed is a result: it stands in the table.
            reasons[draw] = " ".join(str(error).split()) or type(error).__name__
            continue
        for name, value in values.items():
            columns[name][draw] = value
        probs = prediction.probs[: len(labels)]
        losses[draw] = scores.log_loss(probs, labels, per_text=True)
        given_stated[draw] = scores.means_given_stated(probs, stated)
    return Outcome(
        losses=losses,
        scores=columns,
        given_stated=given_stated,
        empirical=scores.means_given_stated(np.eye(size)[labels], stated),
        stated=np.bincount(stated, minlength=size),
        reasons=tuple(reasons),
    )


def _score(prediction: Prediction, labels: np.ndarray, stated: np.ndarray) -> dict[str, float]:
    if not np.isfinite(prediction.probs).all():
        raise InputError("the predictions are not finite")
    probs, saturated = np.split(prediction.probs, [len(labels)])
    values = {name: metric(probs, labels) for name, metric in METRICS.items()}
    values["class_weighted_kl"] = scores.class_weighted_kl(probs, labels, stated)
    if len(saturated):
        values["reversed"] = float(scores.reversals(saturated, 0.05).any())
    if channels := prediction.diagnostics:
        values["khat"] = max(channel.khat for channel in channels)
        values["ess"] = min(channel.ess for channel in channels)
        values["trusted"] = float(all(channel.trusted for channel in channels))
    return values

"""Scoring the fits of a cell, and probabilities made elsewhere, on the report texts."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl import scores
from cordial_ppl.analyses import predictions_given_stated, saturated_readings
from cordial_ppl.cordial.subsets import BatchFit, Texts
from cordial_ppl.errors import InputError, naming
from cordial_ppl.inference.posterior import Diagnostics
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.config import SweepConfig
from cordial_ppl.sweep.methods import External
from cordial_ppl.sweep.plan import Job
from cordial_ppl.sweep.tasks import Reading
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
        Prediction(probs[:count], probs[count:], tuple(each[draw] for each in fits.diagnostics))
        for draw, probs in enumerate(fits.probs)
    ]


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
                tables[method.name] = Predictions(method.path)
                for reading in readings:
                    tables[method.name].check(reading.scale)
    return tables


def score_externals(draws: int, job: Job, tables: Mapping[str, Predictions]) -> Cell:
    """Score what the tables say of the report texts, for every draw of one cell.

    Where probabilities are missing or invalid the fit counts as failed, with the reason.
    """
    reading = job.reading
    unknown = np.full((reading.scale.size,) * 2, np.nan)

    def read(table: Predictions, draw: int) -> Prediction | Exception:
        fit = {"task": reading.task, "reader": reading.reader, "n": job.n, "draw": draw}
        try:
            return Prediction(table.probs(reading.report_ids, reading.scale, **fit), unknown)
        except InputError as error:
            return error

    found = {name: [read(table, draw) for draw in range(draws)] for name, table in tables.items()}
    return score_cell(job, found)


def score_cell(job: Job, found: Mapping[str, Sequence[Prediction | Exception]]) -> Cell:
    """Score all fits of a cell; one that failed, or does not give probabilities, says why.

    Args:
        job: what the cell is of.
        found: for each method its prediction for each draw, or what went wrong.
    """
    reading, size = job.reading, job.reading.scale.size
    labels, stated = reading.report_labels, reading.report.logits.argmax(axis=1)
    fits = len(found), len(next(iter(found.values())))
    cell = Cell(
        task=reading.task,
        reader=reading.reader,
        n=job.n,
        methods=tuple(found),
        # The largest array by far, and no figure needs more digits.
        losses=np.full((*fits, len(labels)), np.nan, np.float32),
        scores={name: np.full(fits, np.nan) for name in (*METRICS, *FURTHER)},
        given_stated=np.full((*fits, size, size), np.nan),
        saturated=np.full((*fits, size, size), np.nan),
        empirical=predictions_given_stated(np.eye(size)[labels], stated),
        stated=np.bincount(stated, minlength=size),
        fingerprint=job.fingerprint,
    )
    failures = []
    for m, (method, predictions) in enumerate(found.items()):
        for draw, prediction in enumerate(predictions):
            try:
                if isinstance(prediction, Exception):
                    raise prediction
                values = _score(prediction, labels, stated)
                losses = scores.log_loss(prediction.report, labels, per_text=True)
            except Exception as error:  # A fit that failed is a result: it stands in the table.
                reason = " ".join(str(error).split()) or type(error).__name__
                failures.append((method, draw, reason))
                continue
            for name, value in values.items():
                cell.scores[name][m, draw] = value
            cell.losses[m, draw] = losses
            cell.given_stated[m, draw] = predictions_given_stated(prediction.report, stated)
            cell.saturated[m, draw] = prediction.saturated
    cell.failures = tuple(failures)
    return cell


def _score(prediction: Prediction, labels: np.ndarray, stated: np.ndarray) -> dict[str, float]:
    probs = prediction.report
    if not np.isfinite(probs).all():
        raise InputError("the predictions are not finite")
    found = {name: metric(probs, labels) for name, metric in METRICS.items()}
    found["class_weighted_kl"] = scores.class_weighted_kl(probs, labels, stated)
    if np.isfinite(prediction.saturated).all():
        found["reversed"] = float(scores.reversals(prediction.saturated, 0.05).any())
    if prediction.diagnostics:
        found["khat"] = max(channel.khat for channel in prediction.diagnostics)
        found["ess"] = min(channel.ess for channel in prediction.diagnostics)
        found["trusted"] = float(all(channel.trusted for channel in prediction.diagnostics))
    return found

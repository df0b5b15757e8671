"""Scores of a method's predictions of the report texts: a table with a row for each fit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from cordial_ppl import scores
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.estimators.subsets import BatchFit
from cordial_ppl.evaluation.tasks import Task
from cordial_ppl.runtime.text_table import align

METRICS: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "log_loss": scores.log_loss,
    "rps": scores.rps,
    "accuracy": scores.accuracy,
    "qwk": scores.quadratic_weighted_kappa,
    "mae": scores.mean_absolute_error,
}
FURTHER = ("class_weighted_kl", "reversed", "khat", "ess", "trusted")
"""Also scored: nats, 0 or 1, and the worst k-hat, the least ESS and the trust of channels."""

FIT = {"task": pl.String, "reader": pl.String, "method": pl.String, "n": pl.Int64, "draw": pl.Int64}
"""Columns that name a fit."""

SCHEMA = FIT | {
    **dict.fromkeys((*METRICS, *FURTHER), pl.Float64),
    "losses": pl.List(pl.Float32),
    "given_stated": pl.List(pl.Float64),
    "reason": pl.String,
}
"""Columns of `score`: each text's log loss (nats), the mean prediction for each class that the
judge states, row by row, and why a fit failed."""


def with_saturated(task: Task) -> Labelled:
    """Return the report texts, and after them one saturated reading for each class."""
    covariates = {
        name: np.append(values, np.full(task.scale.size, task.pool.covariates[name].mean()))
        for name, values in task.report.covariates.items()
    }
    extremes = saturated_readings(task.pool.logits)
    return without_labels(np.vstack([task.report.logits, extremes]), covariates)


def saturated_readings(logits: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "K K"]:
    """Return a centred reading for each class that is as sure as the judge usually is.

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


def score(
    task: Task, method: str, n: int, draws: Sequence[int], fits: BatchFit | Exception
) -> pl.DataFrame:
    """Score a method's fits, one a row; one that failed, or is not finite, says why.

    Args:
        task: the task.
        method: name of the method.
        n: number of labels.
        draws: numbers of the labelled subsets.
        fits: the fits to them, whose last K predictions are of saturated readings, or what went
            wrong.

    Returns:
        A table with the columns of `SCHEMA`; null where there is no number.
    """
    stated, rows = task.report.logits.argmax(axis=1), []
    for index, draw in enumerate(draws):
        row: dict[str, Any] = dict(zip(FIT, (task.name, task.reader, method, n, draw), strict=True))
        rows.append(row)
        # A fit that failed is a result: it stands in the table.
        if isinstance(fits, Exception):
            row["reason"] = " ".join(str(fits).split()) or type(fits).__name__
            continue
        if not (np.isfinite(fits.probs[index]) & (fits.probs[index] >= 0)).all():
            row["reason"] = "the predictions are not probabilities"
            continue
        labels = task.report.labels
        probs, saturated = np.split(fits.probs[index], [len(labels)])
        row |= {name: metric(probs, labels) for name, metric in METRICS.items()}
        row["class_weighted_kl"] = scores.class_weighted_kl(probs, labels, stated)
        row["reversed"] = float(scores.reversals(saturated, 0.05).any())
        if channels := [each[index] for each in fits.diagnostics]:
            row["khat"] = max(channel.khat for channel in channels)
            row["ess"] = min(channel.ess for channel in channels)
            row["trusted"] = float(all(channel.trusted for channel in channels))
        # The largest column by far, and no figure needs more digits.
        row["losses"] = scores.log_loss(probs, labels, per_text=True).astype(np.float32)
        row["given_stated"] = scores.means_given_stated(probs, stated).ravel()
    numbers = pl.col(*METRICS, *FURTHER)
    return pl.DataFrame(rows, SCHEMA).with_columns(pl.when(numbers.is_finite()).then(numbers))


def mean_losses(scores: pl.DataFrame) -> pl.DataFrame:
    """Return each method's mean log loss over the draws, and its standard error over them.

    Both are null where all of its fits failed, the error for a single one too.
    """
    fits = scores.filter(pl.col("metric").is_in(["log_loss", "failed"]))
    by, loss = ("task", "reader", "n", "method"), pl.col("value")
    error = loss.std() / loss.count().sqrt()
    return fits.group_by(by, maintain_order=True).agg(log_loss=loss.mean(), standard_error=error)


def show_losses(means: pl.DataFrame) -> str:
    """Set out the mean log losses with their standard errors, a table for each task and judge."""

    def show(loss: float | None, error: float | None) -> str:
        spread = f" ± {error:.3f}" if error and error > 1e-9 else ""
        return "failed" if loss is None else f"{loss:.3f}{spread}"

    shown = []
    for (task, reader), part in means.group_by("task", "reader", maintain_order=True):
        text = [show(*row) for row in part.select("log_loss", "standard_error").rows()]
        table = part.with_columns(text=pl.Series(text)).pivot("n", index="method", values="text")
        shown.append(f"\n{task}, {reader}: mean log loss ± standard error, by number of labels")
        shown += align(("", *table.columns[1:]), *table.rows())
    return "\n".join(shown)

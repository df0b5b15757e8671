"""The labels as demonstrations in the prompt, against the same labels as calibration labels.

Embedded readings have no model that could be shown examples.  A stand-in takes its place that
learns from the demonstrations which options are usual and not how sure to be.
"""

import numpy as np
from comparison import Key, Results, jackknife_error, mean_of, need_methods, succeeded
from jaxtyping import Float, Int
from product import Product, Record, number, spread, tabulate
from scipy.special import softmax
from styles import OURS, label

from cordial_ppl import scores
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.tasks import draw_subsets

BUDGETS = (20, 50, 100)
STAND_IN = "stand-in for demonstrations"


def in_context(results: Results) -> Product:
    """Return the product `in-context`: accuracy and log loss of demonstrations against ours."""
    need_methods(results, OURS)
    keys = [key for key in results.cells if key[2] in BUDGETS]
    if not keys:
        raise InputError(f"this needs fits to {', '.join(map(str, BUDGETS))} labels.")
    table = tabulate(_row(results, key) for key in keys)
    return Product(
        name="in-context",
        title="Labels as demonstrations",
        caption=f"Accuracy with the labels as demonstrations minus that of {label(OURS)} with the "
        "same labels, and its log loss as a multiple of that of ours, ± standard errors over the "
        "draws of labels.",
        table=table,
        shown=spread(table, ("task", "reader", "method"), ("n",), _shown),
        notes=(
            "No language model is shown anything here. The stand-in is softmax(l + b), with the b "
            "by which the mean reading of the demonstrations becomes their label histogram: it is "
            "told which options are usual and stays as sure as it was. It shows how the comparison "
            "is made, and says nothing about real models.",
        ),
    )


def show_labels(
    logits: Float[np.ndarray, "m K"],
    demonstrations: Float[np.ndarray, "n K"],
    labels: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "m K"]:
    """Predict texts by the stand-in, with one pseudo-count an option in both histograms."""
    n, size = demonstrations.shape
    stated = (softmax(demonstrations, axis=1).sum(axis=0) + 1) / (n + size)
    usual = (np.bincount(labels, minlength=size) + 1) / (n + size)
    return softmax(logits + np.log(usual / stated), axis=1)


def _row(results: Results, key: Key) -> Record:
    (name, reader, n), cell = key, results.cells[key]
    task, fine = results.tasks[name, reader], succeeded(cell, OURS)
    probs = [
        show_labels(task.report.logits, task.pool.logits[rows], task.pool.labels[rows])
        for rows in draw_subsets(task, n, len(fine))[fine]
    ]
    accuracy, loss = (
        np.array([score(own, task.report.labels) for own in probs])
        for score in (scores.accuracy, scores.log_loss)
    )
    own = [cell[OURS].scores[score][fine] for score in ("accuracy", "log_loss")]
    more, draws = mean_of(accuracy - own[0]), int(fine.sum())

    def ratio(kept: np.ndarray) -> float:
        return float(loss[kept].mean() / own[1][kept].mean()) if kept.any() else np.nan

    return {
        "task": name,
        "reader": reader,
        "n": n,
        "method": STAND_IN,
        "accuracy_difference": more.mean,
        "difference_error": more.error,
        "loss_ratio": ratio(np.ones(draws, bool)),
        "ratio_error": jackknife_error(ratio, draws),
        "draws": draws,
    }


def _shown(row: Record) -> str:
    accuracy = number(row["accuracy_difference"], "+.3f", row["difference_error"])
    return f"{accuracy}, {number(row['loss_ratio'], '.2f', row['ratio_error'])} ×"

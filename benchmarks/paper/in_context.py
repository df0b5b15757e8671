"""The labels as demonstrations in the prompt, against the same labels as calibration labels.

Embedded readings have no model that could be shown examples.  A stand-in takes its place that
learns from the demonstrations which options are usual and not how sure to be; real demonstrations
come as a table `[external.NAME]` of the sweep, and are then compared instead.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from cordial_ppl import scores
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products.product import Product, Record, number, spread, tabulate
from cordial_ppl.evaluation.products.table import our_method, succeeded
from cordial_ppl.evaluation.sweep import External, Results, SweepConfig
from cordial_ppl.evaluation.sweep.methods import label
from cordial_ppl.evaluation.sweep.tasks import Reading, draw_subsets, load_tasks

BUDGETS = (20, 50, 100)
STAND_IN = "stand-in for demonstrations"


def in_context(
    results: Results,
    config: SweepConfig,
    *,
    ours: str | None = None,
    budgets: Sequence[int] = BUDGETS,
) -> Product:
    """Return the accuracy and the log loss of demonstrations against those of ours.

    Args:
        results: the sweep.
        config: what made it.
        ours: our method.
        budgets: numbers of labels; those that the sweep lacks are left out.

    Returns:
        The product `in-context`.

    Raises:
        InputError: the sweep has none of the budgets.
    """
    ours = our_method(results, ours)
    external = [method.name for method in config.methods if isinstance(method, External)]
    table = tabulate(
        row
        for reading in load_tasks(config)
        for n in budgets
        if (reading.task, reading.reader, n) in results.cells
        for row in _rows(results, config, reading, n, ours, external)
    )
    if table.is_empty():
        raise InputError(f"this needs fits to {', '.join(map(str, budgets))} labels.")
    return Product(
        name="in-context",
        title="Labels as demonstrations",
        caption=f"Accuracy with the labels as demonstrations minus that of {label(ours)} with the "
        "same labels, and its log loss as a multiple of that of ours, over the draws of labels.",
        table=table,
        shown=spread(table, ("task", "reader", "method"), ("n",), _shown),
        notes=()
        if external
        else (
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


def _rows(
    results: Results,
    config: SweepConfig,
    reading: Reading,
    n: int,
    ours: str,
    external: Sequence[str],
) -> Iterator[Record]:
    cell = results.cells[reading.task, reading.reader, n]
    fine = succeeded(cell, ours)
    for method in external or [STAND_IN]:
        if external:
            fine = succeeded(cell, ours, method)
            shots = [cell[method].scores[name][fine] for name in ("accuracy", "log_loss")]
        else:
            subsets = draw_subsets(reading, n, config.draws, config.seed)[fine]
            probs = [
                show_labels(
                    reading.report.logits, reading.pool.logits[rows], reading.pool_labels[rows]
                )
                for rows in subsets
            ]
            shots = [
                np.array([score(own, reading.report_labels) for own in probs])
                for score in (scores.accuracy, scores.log_loss)
            ]
        own = [cell[ours].scores[name][fine] for name in ("accuracy", "log_loss")]
        yield {
            "task": reading.task,
            "reader": reading.reader,
            "n": n,
            "method": method,
            "accuracy_difference": float(np.mean(shots[0] - own[0])) if fine.any() else np.nan,
            "loss_ratio": float(shots[1].mean() / own[1].mean()) if fine.any() else np.nan,
            "draws": int(fine.sum()),
        }


def _shown(row: Record) -> str:
    return f"{number(row['accuracy_difference'], '+.3f')}, {number(row['loss_ratio'], '.1f')} ×"

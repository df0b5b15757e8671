"""The tasks: how many texts they have, and how the readers read them before any calibration."""

from collections.abc import Iterable

import numpy as np
from product import Product, Record, number, tabulate
from scipy.special import softmax

from cordial_ppl.evaluation.tasks import Task


def task_table(tasks: Iterable[Task]) -> Product:
    """Return the product `tasks`: numbers of texts, and how right, sure and biased readers are."""
    table = tabulate(map(_row, tasks))
    return Product(
        name="tasks",
        title="Tasks and readers",
        caption="Texts to draw labels from and to be scored on; accuracy: share of the latter "
        "whose label is the reader's mode, ± its standard error; largest: mean of the largest "
        "probability of softmax(logits); shift: mean label minus mode, in classes; inward: how "
        "much nearer labels are to the middle of the scale than modes; ordered: whether no "
        "cumulative share of labels rises by more than 0.05 from a mode to the next, among modes "
        "of 20 texts or more.",
        table=table,
        shown=tabulate(map(_show, table.to_dicts())),
    )


def _row(task: Task) -> Record:
    logits, labels = task.report.logits, task.report.labels
    stated, middle = logits.argmax(axis=1), (task.scale.size - 1) / 2
    right, texts = float(np.mean(stated == labels)), len(labels)
    options = np.arange(task.scale.size)
    often = [y for y in options if (stated == y).sum() >= 20]
    below = [np.mean(labels[stated == y][:, None] <= options, axis=0) for y in often]
    return {
        "task": task.name,
        "reader": task.reader,
        "pool": len(task.pool.labels),
        "report": texts,
        "accuracy": right,
        "accuracy_error": float(np.sqrt(right * (1 - right) / texts)),
        "largest": float(softmax(logits, axis=1).max(axis=1).mean()),
        "shift": float(np.mean(labels - stated)),
        "inward": float(np.mean(abs(stated - middle) - abs(labels - middle))),
        "ordered": bool((np.diff(below, axis=0) <= 0.05).all()),
    }


def _show(row: Record) -> Record:
    return row | {
        "accuracy": number(row["accuracy"], ".3f", row.pop("accuracy_error")),
        "shift": number(row["shift"], "+.2f"),
        "inward": number(row["inward"], "+.2f"),
        "ordered": "yes" if row["ordered"] else "no",
    }

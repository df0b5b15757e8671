"""How long a fit of ours takes, and a prediction."""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from embedded import load_tasks
from ledger import Ledger
from product import Product, Record, number, tabulate

import cordial_ppl as cp

FITS = 3
"""Fits that are timed, after one that compiles."""


def timings(ledger: Ledger, names: Sequence[str], budgets: Sequence[int]) -> Product:
    """Return the product `timings`: CPU time of a fit and of a prediction, by number of labels."""
    cells = [(name, n) for name in names for n in sorted(budgets)]
    rows = [row for cell in cells for row in ledger.rows("timings", cell, _measure)]
    shown = [
        {"task": row["task"], "n": row["n"], "fit, s": number(row["fit_seconds"], ".2f")}
        | {"predict a text, ms": number(row["predict_ms"], ".3f")}
        for row in rows
    ]
    return Product(
        name="timings",
        title="Seconds",
        caption="CPU seconds of a fit of the literal CORDIAL, four folds included, and CPU "
        f"milliseconds of the prediction of a text: the least of {FITS}, after one that compiles.",
        table=tabulate(rows),
        shown=tabulate(shown),
    )


def _measure(name: str, n: int) -> list[Record]:
    """Time the main reader's fits, of which each has its seed."""
    (task,) = load_tasks([name], ["main"])
    logits, labels, report = task.pool.logits[:n], task.pool.labels[:n], task.report.logits
    made: list[Any] = []

    def fit() -> None:
        made.append(cp.Cordial.paper(seed=len(made)).fit(logits, labels))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.CordialWarning)
        fits, predictions = _least(fit), _least(lambda: made[-1].predict_proba(report))
    per_text = round(1000 * predictions / len(report), 4)
    return [{"task": name, "n": n, "fit_seconds": round(fits, 3), "predict_ms": per_text}]


def _least(work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(1 + FITS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds[1:])

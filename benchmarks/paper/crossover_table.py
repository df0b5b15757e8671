"""From how many labels an unrestricted calibrator leads: as predicted, and as observed."""

import numpy as np
from comparison import (
    Results,
    count_failures,
    enough_draws,
    mean_difference,
    need_methods,
    note_few_draws,
    paired_intervals,
)
from equivalents import label_equivalents
from product import Product, Record, number, tabulate
from styles import OURS, label

from cordial_ppl import scores

OTHER = "dirichlet"
STRUCTURED = 5
"""Parameters of the affine channel."""


def crossover_table(results: Results) -> Product:
    """Return the product `crossover`: labels from which Dirichlet calibration leads.

    The prediction is `n* = (K (K + 1) - 5) / (2 delta)` with our log loss minus Dirichlet
    calibration's at the most labels for delta; observed is the first lead whose 95 % interval
    excludes zero.  Infinite where Dirichlet calibration does not lead.
    """
    need_methods(results, OURS, OTHER)
    table = tabulate(_row(results, *pair) for pair in results.pairs)
    return Product(
        name="crossover",
        title="Where Dirichlet calibration overtakes",
        caption=f"Delta: log loss (nats) of {label(OURS)} minus that of Dirichlet calibration "
        "with the most labels, ± its standard error over label subsets; predicted: n* = "
        "(K (K + 1) - 5) / (2 delta); crosses: labels with which its mean log loss is the same, "
        "read off its learning curve; observed: the fewest labels with which Dirichlet calibration "
        "leads by a paired 95 % bootstrap interval that excludes zero; ratio: observed to "
        "predicted.",
        table=table,
        shown=tabulate(map(_show, table.to_dicts())),
        notes=(
            *note_few_draws(results, results.cells, (OTHER,)),
            count_failures(results.cells.values(), (OURS, OTHER)),
        ),
    )


def _row(results: Results, task: str, reader: str) -> Record:
    cells = {n: (task, reader, n) for n in results.budgets(task, reader)}
    every = {n: paired_intervals(results, key).get(OTHER) for n, key in cells.items()}
    intervals = {n: interval for n, interval in every.items() if interval is not None}
    most, size = max(intervals, default=max(cells)), results.tasks[task, reader].scale.size
    delta = predicted = crosses = observed = np.nan
    if intervals:
        delta = -intervals[most].mean
        predicted = scores.crossover(size * (size + 1), STRUCTURED, delta)
        means = [interval.mean for interval in intervals.values()]
        crosses = label_equivalents([*intervals], means, 0.0)
    sure = [n for n in intervals if enough_draws(results.cells[cells[n]], OTHER)]
    if sure:
        observed = min((n for n in sure if intervals[n].upper < 0), default=np.inf)
    both = np.isfinite([predicted, observed]).all()
    return {
        "task": task,
        "reader": reader,
        "options": size,
        "most": most,
        "delta": delta,
        "standard_error": mean_difference(results.cells[cells[most]], OTHER, OURS).error,
        "predicted": predicted,
        "crosses": crosses,
        "observed": observed,
        "ratio": observed / predicted if both else None,
    }


def _show(row: Record) -> Record:
    never = {"predicted": "never"} | dict.fromkeys(("crosses", "observed"), f"> {row['most']}")
    return (
        {"task": row["task"], "reader": row["reader"], "K": row["options"]}
        | {"most labels": row["most"]}
        | {"delta": number(row["delta"], "+.3f", row["standard_error"])}
        | {k: never[k] if row[k] == np.inf else number(row[k], ".0f") for k in never}
        | {"ratio": number(row["ratio"], ".2f")}
    )

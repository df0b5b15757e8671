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


def crossover_table(results: Results, *, ours: str = OURS) -> Product:
    """Return from how many labels Dirichlet calibration leads, as predicted and as observed.

    The prediction is `n* = (K (K + 1) - 5) / (2 delta)` with our log loss minus Dirichlet
    calibration's at the most labels for delta; observed is the first lead whose 95 % interval
    excludes zero.

    Args:
        results: the sweep.
        ours: our method.

    Returns:
        The product `crossover`; infinite where Dirichlet calibration does not lead.

    Raises:
        InputError: the sweep lacks ours or Dirichlet calibration.
    """
    need_methods(results, ours, OTHER)
    table = tabulate(_row(results, task, reader, ours) for task, reader in results.pairs)
    return Product(
        name="crossover",
        title="Where Dirichlet calibration overtakes",
        caption=f"Delta: log loss (nats) of {label(ours)} minus that of Dirichlet calibration "
        "with the most labels, ± its standard error over label subsets; predicted: n* = "
        "(K (K + 1) - 5) / (2 delta); crosses: labels with which its mean log loss is the same, "
        "read off its learning curve; observed: the fewest labels with which Dirichlet calibration "
        "leads by a paired 95 % bootstrap interval that excludes zero; ratio: observed to "
        "predicted.",
        table=table,
        shown=tabulate(map(_show, table.to_dicts())),
        notes=(
            *note_few_draws(results, results.cells, (OTHER,), ours),
            count_failures(results.cells.values(), (ours, OTHER)),
        ),
    )


def _row(results: Results, task: str, reader: str, ours: str) -> Record:
    budgets = results.budgets(task, reader)
    intervals = {n: paired_intervals(results, (task, reader, n), ours).get(OTHER) for n in budgets}
    finite = {n: interval for n, interval in intervals.items() if interval is not None}
    most = max(finite, default=max(budgets))
    size = results.tasks[task, reader].scale.size
    delta = -finite[most].mean if finite else np.nan
    predicted = scores.crossover(size * (size + 1), STRUCTURED, delta) if finite else np.nan
    sure = {
        n: finite[n] for n in finite if enough_draws(results.cells[task, reader, n], OTHER, ours)
    }
    observed = min((n for n in sure if sure[n].upper < 0), default=np.inf) if sure else np.nan
    both = np.isfinite([predicted, observed]).all()
    return {
        "task": task,
        "reader": reader,
        "options": size,
        "most": most,
        "delta": delta,
        "standard_error": mean_difference(results.cells[task, reader, most], OTHER, ours).error,
        "predicted": predicted,
        "crosses": label_equivalents([*finite], [each.mean for each in finite.values()], 0.0)
        if finite
        else np.nan,
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

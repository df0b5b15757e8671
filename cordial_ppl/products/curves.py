"""Fig. 1: how much more log loss every method has than ours, against the number of labels."""

import numpy as np

from cordial_ppl.products.comparison import our_method, rivals
from cordial_ppl.products.differences import (
    describe_range,
    difference_panels,
    difference_record,
    draw_differences,
    intervals,
    note_few_draws,
    show_differences,
)
from cordial_ppl.products.means import count_failures
from cordial_ppl.products.product import Product, Table
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

BANDS = 3
"""Rivals whose intervals are drawn."""


def loss_curves(results: Results, *, ours: str | None = None) -> Product:
    """Return each method's log loss minus ours by number of labels, with paired 95 % intervals.

    Args:
        results: the sweep.
        ours: the method that is subtracted.

    Returns:
        The product `curves`.

    Raises:
        InputError: the sweep lacks ours or other methods.
    """
    ours = our_method(results, ours)
    others, strongest = rivals(results, ours), strongest_rivals(results, ours)
    table = Table.of(
        [
            difference_record(results, key, method, ours)
            for key in results.cells
            for method in results.methods
            if method != ours
        ]
    )
    drawn = Table.of([row for row in table.records() if row["method"] in others])
    panels = difference_panels(results, drawn, strongest)
    return Product(
        name="curves",
        title="Log loss minus ours",
        caption=f"Log loss of each method minus that of {label(ours)} (nats; above zero: "
        f"{label(ours)} is better) by number of labels, with paired 95 % bootstrap intervals over "
        "report texts and label subsets; bold: the interval excludes zero; the figure leaves out "
        "other forms of ours, and its bands are the intervals of the strongest methods; "
        + describe_range(panels),
        table=table,
        shown=show_differences(table),
        notes=(
            *note_few_draws(results, results.cells, results.methods, ours),
            count_failures(results.cells.values(), results.methods),
        ),
        draw=lambda: draw_differences(results, panels, ours),
    )


def strongest_rivals(results: Results, ours: str) -> tuple[str, ...]:
    """Return the rivals with the lowest log loss over cells, first those that have it in all."""
    found: dict[str, list[float]] = {method: [] for method in rivals(results, ours)}
    for key in results.cells:
        for method, own in intervals(results, key, ours).items():
            found.get(method, []).append(own.mean)
    ranked = sorted(filter(found.get, found), key=lambda m: (-len(found[m]), np.mean(found[m])))
    return tuple(ranked[:BANDS])

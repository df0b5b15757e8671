"""How often calibration turns the order of sure readings around."""

from panels import Panel, draw_panels, panel_title, read_lines

from cordial_ppl.products.comparison import our_method
from cordial_ppl.products.figure import Figure
from cordial_ppl.products.means import count_failures, mean_scores
from cordial_ppl.products.product import NOTHING, Product, Record, Table, with_labels
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.methods import label

LIMITS = (-0.04, 1.04)
"""Range of the figure: shares, with room for marks."""


def reversal_shares(results: Results, *, ours: str | None = None) -> Product:
    """Return the share of fits that reverse saturated readings of adjacent classes.

    A pair is reversed when its cumulative probabilities are out of order by more than 0.05.

    Args:
        results: the sweep.
        ours: our method.

    Returns:
        The product `reversals`; empty for probabilities that were made elsewhere.

    Raises:
        InputError: the sweep lacks ours.
    """
    ours = our_method(results, ours)
    table = Table.of(
        [
            {"task": task, "reader": reader, "n": n, "method": method}
            | {"reversed": own.mean, "standard_error": own.error, "draws": own.draws}
            for (task, reader, n), cell in results.cells.items()
            for method, own in mean_scores(cell, cell.methods, "reversed").items()
        ]
    )
    return Product(
        name="reversals",
        title="Fits that reverse sure readings",
        caption="Share of each method's fits that map saturated readings of some adjacent classes "
        "to predictions in the wrong order by more than 0.05 in cumulative probability, by number "
        f"of labels; the figure shows {label(ours)} and the methods that ever do.",
        table=table,
        shown=with_labels(table).spread(("task", "reader", "method"), ("n",), _shown),
        notes=(count_failures(results.cells.values(), results.methods),),
        draw=lambda: _draw(results, table, ours),
    )


def _draw(results: Results, table: Table, ours: str) -> Figure:
    shown = {ours} | {row["method"] for row in table.records() if row["reversed"]}
    panels = []
    for task, reader in results.pairs:
        lines = read_lines(table, task, reader, "reversed")
        lines = [line for line in lines if line.method in shown]
        panels.append(Panel(task, panel_title(results, task, reader), lines, LIMITS))
    return draw_panels(results, panels, "share of fits reversed")


def _shown(record: Record) -> str:
    share = record["reversed"]
    return NOTHING if share is None else f"{100 * float(share):.0f} %"

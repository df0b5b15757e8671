"""How often calibration turns the order of sure readings around."""

import polars as pl
from comparison import Results, count_failures, mean_scores, need_methods
from panels import draw_panels, split_panels
from product import NOTHING, Product, Record, number, spread, tabulate
from styles import FLAT, OURS, label

from cordial_ppl.plots.figure import Figure

LIMITS = (-0.04, 1.04)
"""Range of the figure: shares, with room for marks."""


def reversal_shares(results: Results) -> Product:
    """Return the product `reversals`: shares of fits that turn saturated readings around."""
    need_methods(results, OURS)
    table = tabulate(
        {"task": task, "reader": reader, "n": n, "method": method}
        | {"reversed": score.mean, "standard_error": score.error, "draws": score.draws}
        for (task, reader, n), cell in results.cells.items()
        for method, score in mean_scores(cell, results.methods, "reversed").items()
    )
    return Product(
        name="reversals",
        title="Fits that reverse sure readings",
        caption="Share of each method's fits that map saturated readings of some adjacent classes "
        "to predictions in the wrong order by more than 0.05 in cumulative probability, by number "
        f"of labels, ± standard errors; the figure shows {label(OURS)} and the methods that ever "
        "do, without flat weights.",
        table=table,
        shown=spread(table, ("task", "reader", "method"), ("n",), _shown),
        notes=(count_failures(results.cells.values(), results.methods),),
        draw=lambda: _draw(results, table),
    )


def _draw(results: Results, table: pl.DataFrame) -> Figure:
    ever = table.filter(pl.col("reversed") > 0)["method"]
    drawn = pl.col("method").is_in([OURS, *ever]) & ~pl.col("method").str.ends_with(FLAT)
    shown = table.filter(drawn).drop_nulls("reversed")
    shown = shown.with_columns(value="reversed", lower=None, upper=None)
    panels = split_panels(results, shown, lambda part: LIMITS)
    return draw_panels(results, panels, "share of fits reversed")


def _shown(record: Record) -> str:
    share, error = (v and 100 * v for v in (record["reversed"], record["standard_error"]))
    return NOTHING if share is None else f"{number(share, '.0f', error)} %"

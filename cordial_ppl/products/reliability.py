"""What texts get, from people and from methods, for each class that the reader states."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from cordial_ppl.products.comparison import need_budgets, our_method
from cordial_ppl.products.heatmaps import Heatmap, draw_heatmaps
from cordial_ppl.products.means import count_failures, mean_scores, shared_draws
from cordial_ppl.products.product import Product, Table, number
from cordial_ppl.sweep import Results
from cordial_ppl.sweep.cell import Cell
from cordial_ppl.sweep.methods import label

PEOPLE = "empirical"
"""What the label histogram is called among the methods."""

SHOWN = ("raw", "logit-stack", "dirichlet")
"""Methods that are shown beside ours."""


def stated_classes(results: Results, *, ours: str | None = None, n: int = 20) -> Product:
    """Return the labels' distribution given the stated class, and what methods make of it.

    Args:
        results: the sweep.
        ours: our method, shown beside those of `SHOWN` that the sweep has.
        n: number of labels.

    Returns:
        The product `reliability`.

    Raises:
        InputError: the sweep lacks ours or the budget.
    """
    ours = our_method(results, ours)
    methods = tuple(dict.fromkeys(m for m in (SHOWN[0], ours, *SHOWN[1:]) if m in results.methods))
    need_budgets(results, n)
    records, shown, maps = [], [], []
    for task, reader in results.pairs:
        cell = results.cells[task, reader, n]
        distances = mean_scores(cell, methods, "class_weighted_kl")
        names, place = _options(results, task, reader, len(cell.stated)), f"{task}, {reader}"
        row = [Heatmap(place, "Empirical", "", cell.empirical, names)]
        distance = {PEOPLE: 0.0} | {method: found.mean for method, found in distances.items()}
        tables = {PEOPLE: cell.empirical} | _mean_tables(cell, methods)
        for method, table in tables.items():
            where = {"task": task, "reader": reader, "method": method}
            records += [
                where
                | {"class_weighted_kl": distance[method], "stated": names[y]}
                | {"texts": int(cell.stated[y]), "label": names[z], "probability": float(share)}
                for (y, z), share in np.ndenumerate(table)
            ]
        for method, found in distances.items():
            title, kl = label(method), found.mean
            where = {"task": task, "reader": reader, "method": title}
            shown.append(where | {"KL": number(kl), "draws": found.draws})
            row.append(Heatmap(place, title, f"KL {number(kl, '.2f')}", tables[method], names))
        maps.append(row)
    return Product(
        name="reliability",
        title=f"Labels given the reader's stated class, with {n} labels",
        caption="Distribution of the label z (columns) given the class y that the reader states "
        f"(rows): observed, and the mean prediction of methods with {n} labels, over the draws of "
        "labels; KL: class-weighted divergence from the observed (nats); hatched: no text has "
        "that class, or the method is not compared; outlined: z = y.",
        table=Table.of(records),
        shown=Table.of(shown),
        notes=(count_failures((results.cells[*pair, n] for pair in results.pairs), methods),),
        draw=lambda: draw_heatmaps(maps),
    )


def _mean_tables(cell: Cell, methods: Sequence[str]) -> dict[str, Float[np.ndarray, "K K"]]:
    """Return the mean prediction by stated class over the draws in which methods are compared."""
    shared = shared_draws(cell, methods)
    found = {m: cell.given_stated[cell.methods.index(m)][draws] for m, draws in shared.items()}
    nothing = np.full_like(cell.empirical, np.nan)
    return {m: tables.mean(axis=0) if len(tables) else nothing for m, tables in found.items()}


def _options(results: Results, task: str, reader: str, size: int) -> tuple[str, ...]:
    """Return the options' names, or their positions where the configuration has none."""
    for cell in results.config.get("cells", ()):
        if (cell["task"], cell["reader"]) == (task, reader) and "options" in cell:
            return tuple(cell["options"])
    return tuple(map(str, range(size)))

"""The distribution of labels and of predictions, given the class that the reader states."""

from collections.abc import Sequence

import numpy as np

from cordial_ppl.evaluation.products.comparison import (
    count_failures,
    mean_scores,
    need_budgets,
    our_method,
    shared_draws,
)
from cordial_ppl.evaluation.products.figure import (
    COLUMN,
    PAGE,
    Figure,
    draw_heatmap,
    literal,
    looking,
    new_figure,
    wrap,
)
from cordial_ppl.evaluation.products.product import Product, number, tabulate
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.evaluation.sweep.methods import METHODS, label

PEOPLE = "empirical"
"""What the label histogram is called among the methods."""

SHOWN = ("raw", "logit-stack", "dirichlet")
"""Methods that are shown beside ours, before those that the sweep's file describes."""

HIGHEST, WIDTH, ROW, LINE = 4, 10, 14, 0.12
"""Rows of heatmaps in a column (more of them stand side by side), letters in a line above a heatmap
and beside a row, and the height of a line, inches."""

NARROW, ROOM, BROAD = 5, 0.75, 12
"""Heatmaps beside each other that a column has room for; where there are more, inches for each and
letters above it."""

LONGEST, MOST = 3, 6
"""Letters of an option's name that fit at an axis (longer ones give way to positions from 0), and
options that are named."""

Heatmaps = dict[str, tuple[np.ndarray, str]]
"""Probabilities and what stands above them, by title."""


def stated_classes(results: Results, *, ours: str | None = None, n: int = 20) -> Product:
    """Return the labels' distribution given the stated class, and each method's mean prediction.

    Args:
        results: the sweep.
        ours: our method, shown beside those of `SHOWN` that the sweep has and those that its file
            describes.
        n: number of labels.

    Returns:
        The product `reliability`.

    Raises:
        InputError: the sweep lacks ours or the budget.
    """
    ours = our_method(results, ours)
    described = [method for method in results.methods if method not in METHODS]
    wanted = dict.fromkeys((SHOWN[0], ours, *SHOWN[1:], *described))
    methods = tuple(method for method in wanted if method in results.methods)
    need_budgets(results, n)
    records, shown, maps = [], [], {}
    for task, reader in results.pairs:
        cell = results.cells[task, reader, n]
        first, where = cell[ours], {"task": task, "reader": reader}
        options = results.options[task, reader]
        tables = {PEOPLE: (first.empirical, 0.0)}
        row: Heatmaps = {"Empirical": (first.empirical, "")}
        shared = shared_draws(cell, methods)
        for method, found in mean_scores(cell, methods, "class_weighted_kl").items():
            given = cell[method].given_stated[shared[method]]
            mean = given.mean(axis=0) if len(given) else np.full_like(first.empirical, np.nan)
            tables[method] = mean, found.mean
            kl = {"KL": number(found.mean), "draws": found.draws}
            shown.append(where | {"method": label(method)} | kl)
            row[label(method)] = mean, f"KL {number(found.mean, '.2f')}"
        records += [
            where
            | {"method": method, "class_weighted_kl": distance, "stated": options[y]}
            | {"texts": int(first.stated[y]), "label": options[z], "probability": float(share)}
            for method, (table, distance) in tables.items()
            for (y, z), share in np.ndenumerate(table)
        ]
        maps[f"{task}, {reader}"] = options, row
    return Product(
        name="reliability",
        title=f"Labels given the reader's stated class, with {n} labels",
        caption="Distribution of the label z (columns) given the class y that the reader states "
        f"(rows): observed, and the mean prediction of methods with {n} labels, over the draws of "
        "labels; KL: class-weighted divergence from the observed (nats); hatched: no text has "
        "that class, or the method is not compared; outlined: z = y.",
        table=tabulate(records),
        shown=tabulate(shown),
        notes=(count_failures((results.cells[*pair, n] for pair in results.pairs), methods),),
        draw=lambda: _draw(maps),
    )


def _draw(rows: dict[str, tuple[Sequence[str], Heatmaps]]) -> Figure:
    """Draw rows of heatmaps with one colour scale."""
    count = max(len(maps) for _, maps in rows.values())
    broad = count > NARROW
    across = 1 if broad or len(rows) <= HIGHEST else 2
    down, width, letters = -(-len(rows) // across), COLUMN if across == 1 else PAGE, WIDTH
    if broad:
        width, letters = ROOM * count, BROAD
    heads = [wrap(title, letters) for _, maps in rows.values() for title in maps]
    tallest = LINE * max(head.count("\n") for head in heads)
    with looking():
        figure = new_figure(width, (1.0 if broad else 0.85) * down + 0.6 + tallest)
        axes = figure.subplots(down, across * count, squeeze=False)
        lines = axes.reshape(down * across, count)
        for place, (name, (options, maps)) in enumerate(rows.items()):
            line = lines[place]
            fits = all(len(option) <= LONGEST for option in options)
            shown = range(0, len(options), -(-len(options) // MOST))
            ticks = shown, [literal(options[k]) if fits else str(k) for k in shown]
            for axis, (title, (probs, note)) in zip(line, maps.items(), strict=True):
                draw_heatmap(axis, probs)
                axis.set_xticks(*ticks)
                axis.set_yticks(*ticks)
                axis.tick_params(labelsize=5, labelleft=axis is line[0])
                above = f"{wrap(title, letters)}\n" if place < across else ""
                axis.set_title(above + literal(note))
                if place + across >= len(rows):
                    axis.set_xlabel("label z")
            line[0].set_ylabel(f"{wrap(name, ROW)}\nstated class y")
        for axis in lines[len(rows) :].ravel():
            axis.remove()
        kept = lines[: len(rows)].ravel().tolist()
        bar = figure.colorbar(
            kept[0].images[0], ax=kept, location="bottom", aspect=30, shrink=0.5, pad=0.02
        )
        bar.set_label("probability")
        bar.outline.set_visible(False)
        # Squares leave other room than the layout first reckons with.
        figure.draw_without_rendering()
    return figure

"""Fig. 2: the labels given the class that the reader states, and what methods predict of them."""

from collections.abc import Sequence

import numpy as np
from comparison import Results, count_failures, mean_of, mean_scores, need_methods, shared_draws
from product import Product, number, tabulate
from ranking import need_budgets
from styles import OURS, label

from cordial_ppl.plots.figure import Figure, draw_heatmap, literal, looking, new_figure, wrap
from cordial_ppl.scores import means_given_stated

SHOWN = ("raw", "logit-stack", "dirichlet")
"""Methods that are shown beside ours."""

SIDE, LETTERS, TICKS = 1.0, 14, 6
"""Inches for each heatmap, letters in a line above it, and options that an axis names."""

LABELS = 20
"""Labels with which predictions for each stated class are kept, and compared."""

Heatmaps = dict[str, tuple[np.ndarray, str]]
"""Probabilities and the line above them, by title."""


def stated_classes(results: Results) -> Product:
    """Return the product `reliability`: labels given the stated class, and mean predictions."""
    need_methods(results, OURS)
    methods = [each for each in (SHOWN[0], OURS, *SHOWN[1:]) if each in results.methods]
    need_budgets(results, LABELS)
    cells = {pair: results.cells[*pair, LABELS] for pair in results.pairs}
    records, shown, maps = [], [], {}
    for (task, reader), cell in cells.items():
        own = results.tasks[task, reader]
        stated, options = own.report.logits.argmax(axis=1), own.scale.options
        pair = {"task": task, "reader": reader}
        empirical = means_given_stated(np.eye(len(options))[own.report.labels], stated)
        tables = {"empirical": (empirical, mean_of(np.zeros(1)))}
        row: Heatmaps = {"Empirical": (empirical, "")}
        shared = shared_draws(cell, methods)
        for method, kl in mean_scores(cell, methods, "class_weighted_kl").items():
            probs = cell[method].given_stated[shared[method]]
            mean = probs.mean(axis=0) if len(probs) else np.full_like(empirical, np.nan)
            tables[method] = mean, kl
            figures = {"KL": number(kl.mean, error=kl.error), "draws": kl.draws}
            shown.append(pair | {"method": label(method)} | figures)
            row[label(method)] = mean, f"KL {number(kl.mean, '.2f')}"
        records += [
            pair
            | {"method": method, "class_weighted_kl": kl.mean, "standard_error": kl.error}
            | {"stated": options[y], "texts": int((stated == y).sum())}
            | {"label": options[z], "probability": float(share)}
            for method, (table, kl) in tables.items()
            for (y, z), share in np.ndenumerate(table)
        ]
        maps[f"{task}, {reader}"] = options, row
    return Product(
        name="reliability",
        title=f"Labels given the reader's stated class, with {LABELS} labels",
        caption="Distribution of the label z (columns) given the class y that the reader states "
        f"(rows): observed, and the mean prediction of methods with {LABELS} labels, over the "
        "draws of labels; KL: class-weighted divergence from the observed (nats), ± its standard "
        "error over these draws; hatched: no text has that class, or the method is not compared; "
        "outlined: z = y.",
        table=tabulate(records),
        shown=tabulate(shown),
        notes=(count_failures(cells.values(), methods),),
        draw=lambda: _draw(maps),
    )


def _draw(rows: dict[str, tuple[Sequence[str], Heatmaps]]) -> Figure:
    """Draw a row of heatmaps for each task and reader, with one colour scale."""
    across = max(len(maps) for _, maps in rows.values())
    with looking():
        figure = new_figure(SIDE * across + 0.4, 1.4 * SIDE * len(rows) + 0.8)
        axes = figure.subplots(len(rows), across, squeeze=False)
        for line, (name, (options, maps)) in zip(axes, rows.items(), strict=True):
            positions = range(0, len(options), -(-len(options) // TICKS))
            ticks = positions, [wrap(options[k], 3) for k in positions]
            for axis, (title, (probs, note)) in zip(line, maps.items(), strict=True):
                draw_heatmap(axis, probs)
                axis.set_xticks(*ticks)
                axis.set_yticks(*ticks)
                axis.tick_params(labelsize=5, labelleft=axis is line[0])
                axis.set_title(f"{wrap(title, LETTERS)}\n{literal(note)}")
            line[0].set_ylabel(f"{wrap(name, LETTERS)}\nstated class y")
        for axis in axes[-1]:
            axis.set_xlabel("label z")
        bar = figure.colorbar(
            axes[0, 0].images[0], ax=axes, location="bottom", aspect=30, shrink=0.5, pad=0.02
        )
        bar.set_label("probability")
        bar.outline.set_visible(False)
    return figure

"""When a full channel overtakes the affine one, on made-up labels at a known distance from it."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from excess import PARAMETERS, ExcessLosses, around_crossover
from ledger import Ledger
from product import Product, Record, number, tabulate
from styles import Style

from cordial_ppl.plots.figure import INK, PAGE, Figure, looking, new_figure

SIZES = (3, 5, 7)
DELTAS = (0.001, 0.01, 0.09)
SEED = 0
"""Of the populations and of the samples of labels."""

FITS = {
    "affine": Style("affine", "#000000", "-", "o"),
    "full": Style("full", "#D55E00", "-", "v"),
    "shrunk": Style("full, shrunk", "#56B4E9", "--", "s"),
}
"""What the three channels are called, and how they are drawn."""


def gap_table(ledger: Ledger, sizes: Sequence[int] = SIZES, draws: int = 30) -> Product:
    """Return the product `known-gap`: what estimating costs, and where the full channel overtakes.

    Labels come from a channel that the affine family misses by a known delta; the fits take some
    minutes.
    """

    def measure(*cell: Any) -> list[Record]:
        losses = vars(around_crossover(*cell))
        return [{name: np.asarray(value).tolist() for name, value in losses.items()}]

    gaps = []
    for cell in product(sizes, DELTAS, (draws,), (SEED,)):
        (kept,) = ledger.rows("known-gap", cell, measure)
        values: Any = {k: np.array(v) if isinstance(v, list) else v for k, v in kept.items()}
        gaps.append(ExcessLosses(**values))
    table = tabulate(row for losses in gaps for row in _rows(losses))
    return Product(
        name="known-gap",
        title="What estimating a channel costs, at a known gap",
        caption="Made-up labels from a channel that the best affine one misses by delta (nats). "
        "d: twice the number of labels times the mean excess loss of estimation, which should come "
        f"to the number of parameters, {PARAMETERS} for the affine channel and K (K - 1) for the "
        "full one; overtakes: labels from which on the full channel loses no more than the affine "
        "one, over the predicted n* = (K (K - 1) - 4) / (2 delta); ± standard errors over samples.",
        table=table,
        shown=tabulate(map(_summary, gaps)),
        notes=(
            f"{draws} samples of labels for each gap and number of labels.",
            "In known-gap.csv, excess is what estimation loses: the affine channel's is over the "
            "best affine one; over_truth, which the figure shows, has delta besides.",
        ),
        draw=lambda: _draw(gaps),
    )


def _rows(losses: ExcessLosses) -> Iterator[Record]:
    gap = {"options": losses.options, "delta": losses.delta, "predicted": losses.crossover}
    for fit in FITS:
        columns = {
            "n": losses.budgets,
            "excess": getattr(losses, fit).mean(axis=1),
            "over_truth": losses.over_truth(fit),
            "d": losses.dimensions(fit),
            "d_error": losses.dimension_errors(fit),
        }
        over: Record = {}
        if fit != "affine":
            over["overtaking"] = losses.overtaking(fit)
            over["overtaking_error"] = losses.overtaking_error(fit)
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield gap | {"fit": fit} | dict(zip(columns, row, strict=True)) | over


def _summary(losses: ExcessLosses) -> Record:
    """What the table says of one gap: d at the expected crossover."""
    near = int(abs(losses.budgets - losses.crossover).argmin())
    row: Record = {
        "K": losses.options,
        "delta": number(losses.delta, ".4f"),
        "n*": number(losses.crossover, ".0f"),
    }
    for fit, look in FITS.items():
        parameters, error = losses.dimensions(fit)[near], losses.dimension_errors(fit)[near]
        row[f"d, {look.label}"] = number(parameters, ".1f", error)
    for fit in ("full", "shrunk"):
        both = losses.overtaking(fit), losses.overtaking_error(fit)
        ratio, error = (labels / losses.crossover for labels in both)
        row[f"{FITS[fit].label} overtakes, / n*"] = number(ratio, ".2f", error)
    return row


def _draw(gaps: Sequence[ExcessLosses]) -> Figure:
    down = len(gaps) // len(DELTAS)
    with looking():
        figure = new_figure(PAGE, 1.5 * down + 0.5)
        axes = figure.subplots(down, len(DELTAS), squeeze=False)
        for axis, losses in zip(axes.ravel(), gaps, strict=True):
            _draw_gap(axis, losses)
        for row in axes:
            row[0].set_ylabel("log loss over the truth's (nats)")
        for axis in axes[-1]:
            axis.set_xlabel("number of labels")
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def _draw_gap(axis, losses: ExcessLosses) -> None:
    axis.set_title(f"K = {losses.options}, delta = {losses.delta:.3g}")
    n = losses.budgets
    for fit, look in FITS.items():
        lines = {"color": look.color, "ls": look.dash, "marker": look.mark, "mfc": "none"}
        axis.plot(n, losses.over_truth(fit), label=look.label, **lines)
    full, line = losses.options * (losses.options - 1), {"color": INK, "lw": 0.6, "ls": ":"}
    axis.plot(n, losses.delta + PARAMETERS / (2 * n), **line, label="gap + d / (2 n)")
    axis.plot(n, full / (2 * n), **line)
    axis.axvline(losses.crossover, color=INK, lw=0.5, label="predicted crossover")
    axis.set_xscale("log")
    axis.set_yscale("log")
    # Names of minor ticks overlap where an axis is short.
    axis.set_xticks(n[::2], n[::2])
    axis.tick_params(axis="x", which="minor", bottom=False)
    for each in (axis.xaxis, axis.yaxis):
        each.set_minor_formatter("")

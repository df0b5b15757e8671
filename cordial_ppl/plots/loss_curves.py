"""The log loss against the number of labels: of a sweep's methods, and as a fit expects it."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from cordial_ppl.decisions.forecasting import FEWEST, Forecast
from cordial_ppl.errors import InputError
from cordial_ppl.plots.figure import CHANNEL, INK, OURS, RAW, Axes, drawing, literal

if TYPE_CHECKING:
    import polars as pl

COLORS = OURS, RAW, CHANNEL, INK, "#CC79A7", "#56B4E9", "#E69F00"
"""Colours of methods, one after the other (Okabe and Ito, 2008)."""

DASHES = "-", "--", ":", "-."


def learning_curve(
    scores: "pl.DataFrame",
    task: str | None = None,
    reader: str | None = None,
    *,
    methods: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean log loss of methods on one task and judge, a line each.

    Bands are plus and minus one standard error over the draws of labels.

    Args:
        scores: a sweep, from ``run_sweep`` or the table of ``cordial sweep``.
        task: the task; may be left out where there is one.
        reader: the judge; may be left out where the task has one.
        methods: the methods to draw; by default all.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the sweep has no such task, judge or method, several of what was left out, or
            matplotlib is not installed.
    """
    import polars as pl

    pairs = scores.select("task", "reader").unique(maintain_order=True).rows()
    chosen = [(t, r) for t, r in pairs if task in (None, t) and reader in (None, r)]
    if len(chosen) != 1:
        raise InputError(
            f"name one task and one judge (reader) of the sweep; {len(chosen)} match. It has: "
            f"{'; '.join(map(', '.join, pairs))}."
        )
    losses = scores.filter(metric="log_loss", task=chosen[0][0], reader=chosen[0][1])
    names = losses["method"].unique(maintain_order=True).to_list()
    if unknown := set(methods or ()) - set(names):
        raise InputError(f"there is no method {min(unknown)!r}; there are {', '.join(names)}.")
    error = (pl.col("value").std() / pl.len().sqrt()).fill_null(0.0)
    table = losses.group_by("method", "n").agg(pl.col("value").mean(), error=error).sort("n")
    looks = zip(names, cycle(COLORS), (d for d in cycle(DASHES) for _ in COLORS), strict=False)
    with drawing(ax, height=3.2) as axis:
        for method, color, dash in looks:
            if method in (methods or names):
                rows = table.filter(method=method)
                n, mean, error = (rows[name].to_numpy() for name in ("n", "value", "error"))
                # Methods that coincide stay in sight.
                look = {"color": color, "ls": dash, "marker": "o", "mfc": "none"}
                axis.plot(n, mean, label=literal(method), **look)
                axis.fill_between(n, mean - error, mean + error, color=color, alpha=0.2, lw=0)
        axis.set_xscale("log")
        budgets = table["n"].unique().sort().to_list()
        axis.set_xticks(budgets, [f"{n}" for n in budgets])
        axis.minorticks_off()
        axis.set(xlabel="number of labels", ylabel="log loss (nats)")
        axis.set_title(literal(", ".join(chosen[0])))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    return axis


def forecast(forecast: Forecast, *, ax: Axes | None = None) -> Axes:
    """Draw the expected log loss from the present number of labels on, with its 80 % ranges.

    The bar is the loss now; the dark band is what labels do to it, and the light one adds what is
    not known of the loss now.  Below each number of labels stands half the width of the 90 %
    interval of the texts' mean.

    Args:
        forecast: from ``calibrator.forecast``.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the fit has too few labels for a forecast, or the labels of all texts, or
            matplotlib is not installed.
    """
    if forecast.loss is None or not forecast.counts:
        raise InputError(
            f"no forecast: {forecast.labels} of {forecast.texts} texts are labelled. It needs "
            f"{FEWEST} labels or more, and texts without labels."
        )
    between = np.geomspace(forecast.labels, forecast.counts[-1], 80).round().astype(int)
    curve = [forecast.at(m) for m in dict.fromkeys(between.tolist())]
    numbers = [step.labels for step in curve]
    loss, gain = (np.array([getattr(s, name) for s in curve]) for name in ("loss", "gain"))
    now, steps = forecast.loss, [forecast.at(forecast.labels), *forecast.steps]
    with drawing(ax, height=3.0) as axis:
        band = {"color": OURS, "lw": 0}
        axis.fill_between(numbers, *loss[:, 1:].T, label="log loss", alpha=0.15, **band)
        ends = (now.value - gain[:, 2:0:-1]).T
        axis.fill_between(numbers, *ends, label="effect of labels", alpha=0.35, **band)
        axis.plot(numbers, loss[:, 0], color=OURS, marker="")
        bar = [[now.value - now.low], [now.high - now.value]]
        mark = {"color": RAW, "fmt": "o", "capsize": 3, "label": "now"}
        axis.errorbar([forecast.labels], [now.value], bar, **mark)
        axis.set_xscale("log")
        names = [f"{step.labels}\n±{step.width.value:.2f}" for step in steps]
        axis.set_xticks([step.labels for step in steps], names)
        axis.minorticks_off()
        axis.set(xlabel="number of labels, and ± of the texts' mean", ylabel="log loss (nats)")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=3)
    return axis

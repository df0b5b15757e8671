"""What labels and people buy: the log loss of methods and of a fit, the agreement of decisions."""

from collections.abc import Iterable, Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING

import numpy as np

from cordial_ppl.decisions.decided import Decisions
from cordial_ppl.decisions.forecasting import FEWEST, Forecast
from cordial_ppl.errors import InputError, count
from cordial_ppl.plots.figure import CHANNEL, INK, OURS, RAW, Axes, drawing, literal

if TYPE_CHECKING:
    import polars as pl

COLORS = OURS, RAW, CHANNEL, INK, "#CC79A7", "#56B4E9", "#E69F00"
"""Colours of methods, one after the other (Okabe and Ito, 2008)."""

DASHES = "-", "--", ":", "-."


def learning_curve(scores: "pl.DataFrame", *, ax: Axes | None = None) -> Axes:
    """Plot the mean log loss of each method against the number of labels, for one task and judge.

    Bands are plus and minus one standard error over the draws of labels.

    Args:
        scores: a sweep, from ``run_sweep`` or the table of ``cordial sweep``. Filter a sweep with
            several tasks or judges: ``scores.filter(task="music", reader="small")``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: the rows are from several tasks or judges, or matplotlib is not installed.
    """
    import polars as pl

    pairs = scores.select("task", "reader").unique(maintain_order=True).rows()
    if len(pairs) != 1:
        raise InputError(
            "scores must be from one task and one judge (reader). Filter the table, which "
            f"contains {'; '.join(map(', '.join, pairs)) or 'no scores'}."
        )
    losses = scores.filter(metric="log_loss")
    error = (pl.col("value").std() / pl.len().sqrt()).fill_null(0.0)
    table = losses.group_by("method", "n").agg(pl.col("value").mean(), error=error).sort("n")
    methods, looks = losses["method"].unique(maintain_order=True), cycle(product(DASHES, COLORS))
    with drawing(ax, height=3.2) as axis:
        for method, (dash, color) in zip(methods, looks, strict=False):
            rows = table.filter(method=method)
            n, mean, error = (rows[name].to_numpy() for name in ("n", "value", "error"))
            # Methods that coincide stay in sight.
            look = {"color": color, "ls": dash, "marker": "o", "mfc": "none"}
            lost = len(scores.filter(metric="failed", method=method))
            name = f"{method} ({count(lost, 'failed fit')} left out)" if lost else method
            axis.plot(n, mean, label=literal(name), **look)
            axis.fill_between(n, mean - error, mean + error, color=color, alpha=0.2, lw=0)
        budgets = table["n"].unique().sort().to_list()
        _count_labels(axis, budgets, map(str, budgets))
        axis.set(xlabel="number of labels", title=literal(", ".join(pairs[0])))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    return axis


def forecast(forecast: Forecast, *, ax: Axes | None = None) -> Axes:
    """Plot the expected log loss against the number of labels, with 80 % ranges.

    The bar is the present loss. The dark band shows the effect of more labels; the light band adds
    the uncertainty about the present loss. Below each number of labels is half the width of the
    90 % interval for the texts' mean.

    Args:
        forecast: the result of ``calibrator.forecast``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: the fit has too few labels for a forecast, all texts have labels, or matplotlib
            is not installed.
    """
    if forecast.loss is None or not forecast.counts:
        raise InputError(
            f"a forecast needs at least {FEWEST} labels and some texts without labels; got "
            f"{forecast.labels} labels for {forecast.texts} texts."
        )
    numbers = np.unique(np.geomspace(forecast.labels, forecast.counts[-1], 80).round().astype(int))
    curve = [forecast.at(m) for m in numbers.tolist()]
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
        names = (f"{step.labels}\n±{step.width.value:.2f}" for step in steps)
        _count_labels(axis, [step.labels for step in steps], names)
        axis.set_xlabel("number of labels, ± half-width for the mean")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=3)
    return axis


def _count_labels(axis: Axes, numbers: Sequence[int], names: Iterable[str]) -> None:
    """Put numbers of labels below an axis of log losses, on a scale of ratios."""
    axis.set(xscale="log", ylabel="log loss (nats)")
    axis.set_xticks(numbers, list(names))
    axis.minorticks_off()


def decisions(made: Decisions, *, ax: Axes | None = None) -> Axes:
    """Plot agreement with people, and cost per text, against the share of texts sent to people.

    Args:
        made: the result of ``Stack.decide``.
        ax: the axis to draw on; by default a new one.

    Returns:
        The axis.

    Raises:
        InputError: matplotlib is not installed, or all texts have labels.
    """
    curve, people = made.curve, made.curve["people"]
    if not len(people):
        raise InputError("all texts already have labels, so there is nothing to plot.")
    with drawing(ax) as axis:
        band = {"color": OURS, "alpha": 0.2, "lw": 0, "label": "90 % interval"}
        axis.fill_between(people, curve["low"], curve["high"], **band)
        axis.plot(people, curve["agreement"], color=OURS, marker="", label="agreement on the rest")
        share = made.ways["as decided"][0]
        axis.axvline(share, color=INK, lw=1, ls=":", label=f"as decided: {share:.0%}")
        axis.set(xlabel="share of texts sent to people", xlim=(-0.02, 1.02))
        axis.set_ylabel("agreement with people on the rest", color=OURS)
        if made.agree is not None:
            axis.axhline(made.agree, color=INK, lw=0.6, ls="--", label=f"required: {made.agree:g}")
        handles = axis.get_legend_handles_labels()
        if made.agree is None:
            costs = axis.twinx()
            costs.plot(people, curve["cost"], color=RAW, marker="", ls="--", label="cost per text")
            costs.set_ylim(0, None)
            costs.set_ylabel("expected cost per text", color=RAW)
            more = costs.get_legend_handles_labels()
            handles = [each + other for each, other in zip(handles, more, strict=True)]
        axis.legend(*handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axis

"""The log loss against the number of labels: of a sweep's methods, and as a fit expects it."""

from collections.abc import Sequence

import numpy as np

from cordial_ppl.decisions.forecasting import FEWEST, Forecast
from cordial_ppl.errors import InputError
from cordial_ppl.evaluation.products.curves import curve_table, draw_lines
from cordial_ppl.evaluation.products.figure import literal, styles
from cordial_ppl.evaluation.products.table import need_methods
from cordial_ppl.evaluation.sweep import Results
from cordial_ppl.plots.axis import OURS, RAW, Axes, drawing


def learning_curve(
    results: Results,
    task: str | None = None,
    reader: str | None = None,
    *,
    methods: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean log loss of methods on one task and reader, a line each.

    Bands are plus and minus one standard error over the draws of labels.

    Args:
        results: a sweep, ``Results.load(folder)``.
        task: the task; may be left out where there is one.
        reader: the reader; may be left out where the task has one.
        methods: the methods to draw; by default all.
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        InputError: the sweep has no such task, reader or method, several of what was left out, or
            matplotlib is not installed.
    """
    pairs = [(t, r) for t, r in results.pairs if task in (None, t) and reader in (None, r)]
    if len(pairs) != 1:
        available = "; ".join(f"{t}, {r}" for t, r in results.pairs)
        raise InputError(
            f"name one task and one judge (reader) of the sweep; {len(pairs)} match. "
            f"It has: {available}."
        )
    chosen = tuple(methods or results.methods)
    need_methods(results, *chosen)
    table = curve_table(results, pairs, chosen)
    with drawing(ax, height=3.2) as axis:
        draw_lines(axis, table, styles(results.methods))
        axis.set(xlabel="number of labels", ylabel="log loss (nats)")
        axis.set_title(literal(", ".join(pairs[0])))
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
        light, dark = {"alpha": 0.15, "lw": 0}, {"alpha": 0.35, "lw": 0}
        axis.fill_between(numbers, *loss[:, 1:].T, color=OURS, label="log loss", **light)
        ends = now.value - gain[:, 2], now.value - gain[:, 1]
        axis.fill_between(numbers, *ends, color=OURS, label="effect of labels", **dark)
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

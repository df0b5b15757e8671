"""What more labels would give: the expected log loss against the number of labels."""

import numpy as np

from cordial_ppl.decisions.forecasting import FEWEST, Forecast
from cordial_ppl.errors import InputError
from cordial_ppl.plots.axis import OURS, RAW, Axes, drawing


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
        coverage = f"{forecast.labels} of {forecast.texts} texts are labelled"
        raise InputError(
            f"nothing is forecast: {coverage}. A forecast needs {FEWEST} labels, and texts without."
        )
    now, last = forecast.labels, forecast.counts[-1]
    between = np.geomspace(now, last, 80).round().astype(int)
    curve = [forecast.at(m) for m in dict.fromkeys(between.tolist())]
    places = [step.labels for step in curve]
    loss, gain = (np.array([getattr(s, name) for s in curve]) for name in ("loss", "gain"))
    with drawing(ax, height=3.0) as axis:
        light, dark = {"alpha": 0.15, "lw": 0}, {"alpha": 0.35, "lw": 0}
        axis.fill_between(places, *loss[:, 1:].T, color=OURS, label="log loss", **light)
        value = forecast.loss.value
        ends = value - gain[:, 2], value - gain[:, 1]
        axis.fill_between(places, *ends, color=OURS, label="change by labels", **dark)
        axis.plot(places, loss[:, 0], color=OURS, marker="")
        axis.errorbar(
            [now],
            [value],
            [[value - forecast.loss.low], [forecast.loss.high - value]],
            color=RAW,
            fmt="o",
            capsize=3,
            label="now",
        )
        axis.set_xscale("log")
        steps = [forecast.at(now), *forecast.steps]
        names = [f"{step.labels}\n±{step.width.value:.2f}" for step in steps]
        axis.set_xticks([step.labels for step in steps], names)
        axis.minorticks_off()
        axis.set_xlabel("number of labels, and ± of the texts' mean")
        axis.set_ylabel("log loss (nats)")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=3)
    return axis

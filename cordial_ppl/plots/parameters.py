"""The posterior of the reader's parameters, with its prior and what a faultless reader has."""

from textwrap import shorten
from typing import Any

import numpy as np

from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import InputError
from cordial_ppl.plots.axis import OURS, PEOPLE, Axes, check_stack, drawing
from cordial_ppl.products.figure import INK, PAGE, Figure, looking, new_figure, wrap
from cordial_ppl.reported import Parameter, list_parameters
from cordial_ppl.summary import LEVELS, PHRASES

UNITS = {
    "temperature": "factor on the logits",
    "offset": "classes",
    "gain": "classes per stated class",
    "concentration": "1 / classes²",
    "strength": "share",
    "bias": "classes",
}
DRAWS = 4000
REACH = 0.002
"""Share of prior and posterior that may lie beyond each end of the picture."""

LINE, WORDS = 38, 110
"""Letters of a line under a panel, and of what its author says of a parameter."""


def parameter(calibrator: Stack, name: str, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of one parameter over its prior.

    It is that of ``summary()``: of the channels on the plain temperature reading, in proportion to
    their weights.  The line below is its 90 % interval, the dot its median, and the dotted line the
    value of a faultless reader: temperature 1, offset 0, gain 1.  What is always positive, such as
    the temperature, is on a logarithmic axis, its densities with respect to the logarithm.

    Args:
        calibrator: a fitted stack with channels.
        name: of a parameter that its channels share, such as "temperature", or of one that a
            channel of one's own adds: "skewed.skew", or "skew" where that is the only channel; of
            an entry of a vector "uneven.steps[0]".
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: there is no such parameter, its posterior is one point (``inference="mode"``),
            or matplotlib is not installed.
    """
    known = _list(calibrator)
    if name not in known:
        raise InputError(
            f"the channels have no parameter {name!r}; they have: {', '.join(known) or 'none'}."
        )
    shown = known[name]
    draws, weights, bounded = shown.draws, shown.weights, name == "strength"
    if np.ptp(draws) == 0:
        raise InputError("a mode is one point and has no distribution to be drawn.")
    after = np.random.default_rng(0).choice(draws, len(draws), p=weights / weights.sum())
    before = _prior(calibrator, shown)
    logs = not bounded and bool(min(after.min(), before.min()) > 0)
    ends = np.array([np.quantile(each, (REACH, 1 - REACH)) for each in (before, after)])
    neutral = [PHRASES[name][0]] if name in PHRASES and not shown.own else []
    limits = float(min([ends.min(), *neutral])), float(max([ends.max(), *neutral]))
    low, median, high = np.quantile(draws, LEVELS, weights=weights, method="inverted_cdf")
    with drawing(ax, height=1.6) as axis:
        top = 0.0
        for each, color, label in ((before, PEOPLE, "prior"), (after, OURS, "posterior")):
            grid, density = _density(each, logs, limits, bounded)
            axis.plot(grid, density, color=color, marker="", label=label)
            axis.fill_between(grid, density, color=color, alpha=0.25, lw=0)
            top = max(top, float(density.max()))
        axis.plot((low, high), (-0.05 * top,) * 2, color=OURS, lw=2, marker="")
        axis.plot(median, -0.05 * top, color=OURS, marker="o", ls="")
        for value in neutral:
            axis.axvline(value, color=INK, lw=0.7, ls=":")
        if logs:
            from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

            axis.set_xscale("log")
            # Two decades or more are named by their tens.
            subs = (1.0,) if limits[1] > 100 * limits[0] else (1.0, 2.0, 5.0)
            axis.xaxis.set_major_locator(LogLocator(subs=subs))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set(xlim=limits, ylim=(-0.12 * top, None), yticks=[])
        axis.spines["left"].set_visible(False)
        unit = f" ({UNITS[name]})" if name in UNITS and not shown.own else ""
        words = f": {shorten(shown.words, WORDS, placeholder=' …')}" if shown.words else ""
        axis.set_xlabel(wrap(name.replace("_", " ") + unit + words, LINE))
    return axis


def parameters(calibrator: Stack) -> Figure:
    """Draw the posteriors of all parameters of a summary, a panel each.

    Args:
        calibrator: a fitted stack with channels.

    Returns:
        A figure, which belongs to no window.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: the stack has no channels or only their modes, or matplotlib is not installed.
    """
    names = list(_list(calibrator))
    if not names:
        raise InputError("the stack has no channels whose parameters could be drawn.")
    with looking():
        across = min(3, len(names))
        down = -(-len(names) // across)
        page = new_figure(PAGE, 1.5 * down)
        panels = page.subplots(down, across, squeeze=False).ravel()
        for name, axis in zip(names, panels, strict=False):
            parameter(calibrator, name, ax=axis)
        for axis in panels[len(names) :]:
            axis.axis("off")
        # The legend has an empty panel if there is one.
        place = {"loc": "upper left"} if len(names) < len(panels) else {"loc": "best"}
        free = panels[len(names)] if len(names) < len(panels) else panels[0]
        free.legend(*panels[0].get_legend_handles_labels(), **place)
    return page


def _list(calibrator: Stack) -> dict[str, Parameter]:
    """The parameters of a summary by name."""
    check_stack(calibrator).describe()  # Says so if there is no fit.
    return list_parameters(calibrator.posteriors_, calibrator.weights_)


def _prior(calibrator: Stack, shown: Parameter) -> np.ndarray:
    """Draws from the prior of a parameter, pooled over channels as those of its posterior are."""
    found = []
    for channel, share in shown.shares.items():
        draws = calibrator.posteriors_[channel].sample_prior(DRAWS, calibrator.seed)[shown.site]
        found.append(draws[: round(share * DRAWS), *shown.index])
    return np.concatenate(found).astype(float)


def _density(
    draws: np.ndarray, logs: bool, limits: tuple[float, float], bounded: bool
) -> tuple[Any, Any]:
    """Density on a grid, of the logarithms where the axis has them."""
    from arviz_stats.base.array import array_stats

    inside = draws[(draws >= limits[0]) & (draws <= limits[1])]
    values = np.log(inside) if logs else inside
    grid, density, _ = array_stats.kde(values, bw="silverman", bound_correction=bounded)
    return (np.exp(grid) if logs else grid), density * len(inside) / len(draws)

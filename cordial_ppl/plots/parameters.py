"""The posterior of the reader's parameters, with its prior and what a faultless reader has."""

from typing import Any

import numpy as np

from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import InputError
from cordial_ppl.plots.axis import OURS, PEOPLE, Axes, check_stack, drawing
from cordial_ppl.products.figure import INK, PAGE, Figure, literal, looking, new_figure
from cordial_ppl.summary import LEVELS, PARAMETERS, PHRASES, channel_shares, pool_draws

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


def parameter(calibrator: Stack, name: str, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of one parameter over its prior.

    It is that of ``summary()``: of the channels on the plain temperature reading, in proportion to
    their weights.  The line below is its 90 % interval, the dot its median, and the dotted line the
    value of a faultless reader: temperature 1, offset 0, gain 1.  Temperature, gain and
    concentration are on a logarithmic axis, and their densities with respect to the logarithm.

    Args:
        calibrator: a fitted stack with channels.
        name: of a parameter that its channels share, such as "temperature".
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: there is no such parameter, its posterior is one point (``inference="mode"``),
            or matplotlib is not installed.
    """
    known, weights = _pool(calibrator)
    if name not in known:
        raise InputError(
            f"the channels share no parameter {name!r}; they have: {', '.join(known) or 'none'}."
        )
    draws, bounded = known[name], name == "strength"
    if np.ptp(draws) == 0:
        raise InputError("a mode is one point and has no distribution to be drawn.")
    after = np.random.default_rng(0).choice(draws, len(draws), p=weights / weights.sum())
    before = _prior(calibrator, name)
    logs = not bounded and bool(min(after.min(), before.min()) > 0)
    ends = np.array([np.quantile(each, (REACH, 1 - REACH)) for each in (before, after)])
    neutral = [PHRASES[name][0]] if name in PHRASES else []
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
        unit = f" ({UNITS[name]})" if name in UNITS else ""
        axis.set_xlabel(literal(name.replace("_", " ")) + unit)
    return axis


def parameters(calibrator: Stack) -> Figure:
    """Draw the posteriors of all parameters that the channels share, a panel each.

    Args:
        calibrator: a fitted stack with channels.

    Returns:
        A figure, which belongs to no window.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: the stack has no channels or only their modes, or matplotlib is not installed.
    """
    known, _ = _pool(calibrator)
    if not known:
        raise InputError("the stack has no channels whose parameters could be drawn.")
    names = sorted(known, key=lambda name: [*PARAMETERS, name].index(name))
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


def _pool(calibrator: Stack) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Draws of the parameters that the channels share, and their weights."""
    check_stack(calibrator).describe()  # Says so if there is no fit.
    if not calibrator.posteriors_:
        return {}, np.zeros(0)
    return pool_draws(calibrator.posteriors_, calibrator.weights_)


def _prior(calibrator: Stack, name: str) -> np.ndarray:
    """Draws from the prior of a parameter, pooled over channels as those of its posterior are."""
    found = []
    for channel, share in channel_shares(calibrator.posteriors_, calibrator.weights_).items():
        draws = calibrator.posteriors_[channel].sample_prior(DRAWS, calibrator.seed)[name]
        found.append(draws[: round(share * DRAWS)])
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

"""The posterior of the reader's parameters, with its prior and what a faultless reader has."""

from contextlib import suppress
from textwrap import shorten
from typing import Any

import numpy as np

from cordial_ppl.decisions.reader import LEVELS
from cordial_ppl.decisions.reported import Parameter, list_parameters
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.products.figure import INK, PAGE, Figure, looking, new_figure, wrap
from cordial_ppl.plots.axis import OURS, PEOPLE, Axes, check_stack, drawing

UNITS = {
    "temperature": "factor on the logits",
    "offset": "classes",
    "gain": "classes per stated class",
    "concentration": "1 / classes²",
    "strength": "share",
}
NEUTRAL = {"temperature": 1.0, "offset": 0.0, "gain": 1.0}
"""What a faultless reader has."""

DRAWS = 4000
REACH, ROOM = 0.002, 0.12
"""Share of prior and posterior beyond each end of what a picture has to show, and how much wider
than that it is, so that densities end within it."""

NOTHING = 0.002
"""Share of its peak below which a density is not drawn at its ends."""

ROW = 0.13
"""Height of the row of an entry, inches."""

LINE, WORDS = 38, 110
"""Letters of a line under a panel, and of what its author says of a parameter."""


def parameter(calibrator: Stack, name: str, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of one parameter over its prior.

    It is that of ``summary()``: of the channel with the largest weight, and of channels of one's
    own.  The line below is its 90 % interval, the dot its median, and the dotted line the value of
    a faultless reader: temperature 1, offset 0, gain 1.  What is always positive, such as the
    temperature, is on a logarithmic axis, its densities with respect to the logarithm.  Of a
    vector, the median and the 90 % interval of each entry stand in a row, over those of its prior.

    Args:
        calibrator: a fitted stack with channels.
        name: of a parameter of that channel, such as "temperature", or of a channel of one's own:
            "skewed.skew", or "skew" where that is the only channel; of an entry of a vector
            "uneven.steps[0]".
        ax: where to draw.

    Returns:
        The axis.

    Raises:
        NotFittedError: there was no fit yet.
        InputError: there is no such parameter, its posterior is one point (``inference="mode"``),
            or matplotlib is not installed.
    """
    shown = _find(_list(calibrator), name)
    if shown.is_mode:
        raise InputError("a mode is one point and has no distribution to be drawn.")
    before = _prior(calibrator, shown)
    unit = f" ({UNITS[name]})" if name in UNITS and shown.built_in else ""
    vector = shown.draws.ndim > 1
    with drawing(ax, height=height(shown)) as axis:
        (_draw_entries if vector else _draw_densities)(axis, shown, before)
        words = shown.entries[0].words if vector else shown.words
        words = f": {shorten(words, WORDS, placeholder=' …')}" if words else ""
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
    listed = _list(calibrator)
    if not listed:
        raise InputError("the stack has no channels whose parameters could be drawn.")
    # Vectors, which need higher rows, have rows of their own.
    numbers = [name for name in listed if listed[name].draws.ndim == 1]
    rows = [
        each[k : k + 3]
        for each in (numbers, [name for name in listed if name not in numbers])
        for k in range(0, len(each), 3)
    ]
    with looking():
        heights = [max(height(listed[name]) for name in row) for row in rows]
        page = new_figure(PAGE, sum(heights))
        shape = len(rows), max(map(len, rows))
        panels = page.subplots(*shape, squeeze=False, gridspec_kw={"height_ratios": heights})
        for row, across in zip(rows, panels, strict=True):
            for name, axis in zip(row, across, strict=False):
                parameter(calibrator, name, ax=axis)
        empty = [
            axis for row, across in zip(rows, panels, strict=True) for axis in across[len(row) :]
        ]
        for axis in empty:
            axis.axis("off")
        # The legend has an empty panel if there is one.
        position = "upper left" if empty else "best"
        free = empty[0] if empty else panels[0, 0]
        free.legend(*panels[0, 0].get_legend_handles_labels(), loc=position)
    return page


def height(shown: Parameter) -> float:
    """Return the height of a panel of a parameter, inches."""
    return 1.6 if shown.draws.ndim == 1 else max(1.6, 0.8 + ROW * len(shown.entries))


def _list(calibrator: Stack) -> dict[str, Parameter]:
    """Return the parameters of a summary by name."""
    check_stack(calibrator).describe()  # Says so if there is no fit.
    return list_parameters(calibrator.posteriors_, calibrator.weights_)


def _find(listed: dict[str, Parameter], name: str) -> Parameter:
    """Return the parameter of that name, or the entry of one."""
    site, _, position = name.partition("[")
    if name in listed:
        return listed[name]
    with suppress(KeyError, ValueError, IndexError):
        index = tuple(map(int, position.removesuffix("]").split(",")))
        entry = listed[site].entry(index)
        if entry.name.endswith(f"[{position}") and entry.draws.ndim == 1 and min(index) >= 0:
            return entry
    shapes = {key: list(each.draws.shape[1:]) for key, each in listed.items()}
    available = ", ".join(f"{key} {shape}" if shape else key for key, shape in shapes.items())
    raise InputError(f"the channels have no parameter {name!r}; they have: {available or 'none'}.")


def _prior(calibrator: Stack, shown: Parameter) -> np.ndarray:
    """Draws from the prior of a parameter."""
    posterior = calibrator.posteriors_[shown.channel]
    return posterior.sample_prior(DRAWS, calibrator.seed)[shown.site][:, *shown.index].astype(float)


def _draw_densities(axis: Axes, shown: Parameter, before: np.ndarray) -> None:
    draws, weights, bounded = shown.draws, shown.weights, shown.site == "strength"
    after = np.random.default_rng(0).choice(draws, len(draws), p=weights / weights.sum())
    logs = not bounded and bool(min(after.min(), before.min()) > 0)
    ends = np.array([np.quantile(each, (REACH, 1 - REACH)) for each in (before, after)])
    neutral = [NEUTRAL[shown.site]] if shown.site in NEUTRAL and shown.built_in else []
    low, high = float(min([ends.min(), *neutral])), float(max([ends.max(), *neutral]))
    if bounded:
        limits = low, 1.0
    elif logs:
        limits = low * (low / high) ** ROOM, high * (high / low) ** ROOM
    else:
        limits = low - ROOM * (high - low), high + ROOM * (high - low)
    top = 0.0
    for each, color, label in ((before, PEOPLE, "prior"), (after, OURS, "posterior")):
        grid, density = _density(each, logs, limits, bounded)
        axis.plot(grid, density, color=color, marker="", label=label)
        axis.fill_between(grid, density, color=color, alpha=0.25, lw=0)
        top = max(top, float(density.max()))
    low, median, high = np.quantile(draws, LEVELS, weights=weights, method="inverted_cdf")
    axis.plot((low, high), (-0.05 * top,) * 2, color=OURS, lw=2, marker="")
    axis.plot(median, -0.05 * top, color=OURS, marker="o", ls="")
    for value in neutral:
        axis.axvline(value, color=INK, lw=0.7, ls=":")
    if logs:
        _use_logs(axis, limits)
    axis.set(xlim=limits, ylim=(-0.12 * top, None), yticks=[])
    axis.spines["left"].set_visible(False)


def _draw_entries(axis: Axes, shown: Parameter, before: np.ndarray) -> None:
    entries, ends = shown.entries, []
    for row, entry in enumerate(entries):
        options = {"weights": shown.weights, "method": "inverted_cdf"}
        low, median, high = np.quantile(entry.draws, LEVELS, **options)
        prior = np.quantile(before[:, *entry.index], LEVELS[::2])
        once = {"label": "prior"} if not row else {}
        axis.plot(prior, (row, row), color=PEOPLE, lw=3, marker="", alpha=0.6, zorder=1, **once)
        once = {"label": "posterior"} if not row else {}
        axis.plot((low, high), (row, row), color=OURS, lw=1.2, marker="", zorder=2, **once)
        axis.plot(median, row, color=OURS, marker="o", ls="", ms=3, zorder=3)
        ends += [low, high, *prior]
    if min(ends) > 0:
        _use_logs(axis, (min(ends), max(ends)))
    elif max(ends) > 0:
        axis.axvline(0, color=INK, lw=0.5, ls=":", zorder=0)
    names = [entry.name.removeprefix(shown.site) for entry in entries]
    axis.set_yticks(range(len(names)), names, fontsize="small")
    axis.set_ylim(len(names) - 0.4, -0.6)


def _use_logs(axis: Axes, limits: tuple[float, float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_xscale("log")
    # Two decades or more are named by their tens.
    subs = (1.0,) if limits[1] > 100 * limits[0] else (1.0, 2.0, 5.0)
    axis.xaxis.set_major_locator(LogLocator(subs=subs))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _density(
    draws: np.ndarray, logs: bool, limits: tuple[float, float], bounded: bool
) -> tuple[Any, Any]:
    """Density on a grid, of the logarithms where the axis has them."""
    from arviz_stats.base.array import array_stats

    inside = draws[(draws >= limits[0]) & (draws <= limits[1])]
    values, ends = (np.log(inside), np.log(limits)) if logs else (inside, limits)
    # A share may pile up at its bound, where its density ends; others end where they are nothing.
    wide: dict[str, Any] = {} if bounded else {"custom_lims": tuple(map(float, ends))}
    grid, density, _ = array_stats.kde(values, bw="silverman", bound_correction=bounded, **wide)
    some = np.flatnonzero(density > NOTHING * density.max())
    grid, density = grid[some[0] : some[-1] + 1], density[some[0] : some[-1] + 1]
    return (np.exp(grid) if logs else grid), density * len(inside) / len(draws)

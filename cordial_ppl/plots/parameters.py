"""The posterior of the reader's parameters, with its prior and what a faultless reader has."""

from itertools import batched
from textwrap import shorten
from typing import Any

import numpy as np

from cordial_ppl.decisions.reader import LEVELS
from cordial_ppl.decisions.reported import Parameter, list_parameters
from cordial_ppl.errors import InputError
from cordial_ppl.estimators.estimator import Estimator
from cordial_ppl.evaluation.products.figure import INK, PAGE, Figure, looking, new_figure, wrap
from cordial_ppl.plots.axis import OURS, PEOPLE, Axes, drawing, fit_of

UNITS = {
    "temperature": "factor on the logits",
    "offset": "classes",
    "gain": "classes per stated class",
    "concentration": "1 / classes²",
    "strength": "share",
    "form": "1 mixture, 0 location",
    "tilt": "power of the histogram",
}
BOUNDED = {"strength", "form", "tilt"}
"""Parameters between 0 and 1."""

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


def parameter(calibrator: Estimator[Any], name: str, *, ax: Axes | None = None) -> Axes:
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
        raise InputError("a mode is a single point: there is no distribution to draw.")
    before = _prior(calibrator, shown)
    unit = f" ({UNITS[name]})" if name in UNITS and shown.built_in else ""
    vector = shown.draws.ndim > 1
    with drawing(ax, height=height(shown)) as axis:
        (_draw_entries if vector else _draw_densities)(axis, shown, before)
        words = shown.entries[0].words if vector else shown.words
        words = f": {shorten(words, WORDS, placeholder=' …')}" if words else ""
        axis.set_xlabel(wrap(name.replace("_", " ") + unit + words, LINE))
    return axis


def parameters(calibrator: Estimator[Any]) -> Figure:
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
        raise InputError("the stack has no channels, so there are no parameters to draw.")
    # Vectors, which need higher rows, have rows of their own.
    numbers = [name for name in listed if listed[name].draws.ndim == 1]
    vectors = [name for name in listed if listed[name].draws.ndim > 1]
    rows = [*batched(numbers, 3), *batched(vectors, 3)]
    with looking():
        heights = [max(height(listed[name]) for name in row) for row in rows]
        page = new_figure(PAGE, sum(heights))
        shape = len(rows), max(map(len, rows))
        panels = page.subplots(*shape, squeeze=False, gridspec_kw={"height_ratios": heights})
        empty = []
        for row, across in zip(rows, panels, strict=True):
            for name, axis in zip(row, across, strict=False):
                parameter(calibrator, name, ax=axis)
            empty += list(across[len(row) :])
        for axis in empty:
            axis.axis("off")
        # The legend has an empty panel if there is one.
        free, corner = (empty[0], "upper left") if empty else (panels[0, 0], "best")
        free.legend(*panels[0, 0].get_legend_handles_labels(), loc=corner)
    return page


def height(shown: Parameter) -> float:
    """Return the height of a panel of a parameter, inches."""
    return 1.6 if shown.draws.ndim == 1 else max(1.6, 0.8 + ROW * len(shown.entries))


def _list(calibrator: Estimator[Any]) -> dict[str, Parameter]:
    """Return the parameters of a summary by name."""
    fit = fit_of(calibrator)
    return list_parameters(fit.posteriors, fit.weights)


def _find(listed: dict[str, Parameter], name: str) -> Parameter:
    """Return the parameter of that name, or the entry of one."""
    if name in listed:
        return listed[name]
    for key, each in listed.items():
        for index in np.ndindex(each.draws.shape[1:]):
            if name == f"{key}[{','.join(map(str, index))}]":
                return each.entry(index)
    shapes = {key: list(each.draws.shape[1:]) for key, each in listed.items()}
    available = ", ".join(f"{key} {shape}" if shape else key for key, shape in shapes.items())
    raise InputError(f"the channels have no parameter {name!r}; they have: {available or 'none'}.")


def _prior(calibrator: Estimator[Any], shown: Parameter) -> np.ndarray:
    """Draw from the prior of a parameter."""
    fit = calibrator.fit_
    draws = fit.posteriors[shown.channel].sample_prior(DRAWS, fit.seed)[shown.site]
    return draws[:, *shown.index].astype(float)


def _draw_densities(axis: Axes, shown: Parameter, before: np.ndarray) -> None:
    draws, weights, bounded = shown.draws, shown.weights, shown.site in BOUNDED
    after = np.random.default_rng(0).choice(draws, len(draws), p=weights / weights.sum())
    logs = not bounded and bool(min(after.min(), before.min()) > 0)
    scale, unscale = (np.log, np.exp) if logs else (np.asarray, np.asarray)
    neutral = [NEUTRAL[shown.site]] if shown.site in NEUTRAL and shown.built_in else []
    ends = [np.quantile(each, (REACH, 1 - REACH)) for each in (before, after)]
    values = scale(np.concatenate([*ends, neutral]))
    room = ROOM * np.ptp(values)
    limits = (values.min(), 1.0) if bounded else (values.min() - room, values.max() + room)
    top = 0.0
    for each, color, label in ((before, PEOPLE, "prior"), (after, OURS, "posterior")):
        grid, density = _density(scale(each), limits, bounded)
        axis.plot(unscale(grid), density, color=color, marker="", label=label)
        axis.fill_between(unscale(grid), density, color=color, alpha=0.25, lw=0)
        top = max(top, float(density.max()))
    low, median, high = np.quantile(draws, LEVELS, weights=weights, method="inverted_cdf")
    axis.plot((low, high), (-0.05 * top,) * 2, color=OURS, lw=2, marker="")
    axis.plot(median, -0.05 * top, color=OURS, marker="o", ls="")
    for value in neutral:
        axis.axvline(value, color=INK, lw=0.7, ls=":")
    if logs:
        _use_logs(axis, *unscale(limits))
    axis.set(xlim=unscale(limits), ylim=(-0.12 * top, None), yticks=[])
    axis.spines["left"].set_visible(False)


def _draw_entries(axis: Axes, shown: Parameter, before: np.ndarray) -> None:
    entries, options = shown.entries, {"weights": shown.weights, "method": "inverted_cdf"}
    draws, rows = np.stack([entry.draws for entry in entries], axis=1), np.arange(len(entries))
    low, median, high = np.quantile(draws, LEVELS, axis=0, **options)
    prior = np.stack([before[:, *entry.index] for entry in entries], axis=1)
    prior = np.quantile(prior, LEVELS[::2], axis=0)
    wide, thin = {"color": PEOPLE, "lw": 3, "alpha": 0.6}, {"color": OURS, "lw": 1.2, "zorder": 2}
    for ends, label, look in ((prior, "prior", wide), ((low, high), "posterior", thin)):
        # A line for each column, of which a legend names the first.
        axis.plot(ends, (rows, rows), marker="", **look)[0].set_label(label)
    axis.plot(median, rows, color=OURS, marker="o", ls="", ms=3, zorder=3)
    ends = low.min(), high.max(), prior.min(), prior.max()
    if min(ends) > 0:
        _use_logs(axis, min(ends), max(ends))
    elif max(ends) > 0:
        axis.axvline(0, color=INK, lw=0.5, ls=":", zorder=0)
    names = [entry.name.removeprefix(shown.site) for entry in entries]
    axis.set_yticks(range(len(names)), names, fontsize="small")
    axis.set_ylim(len(names) - 0.4, -0.6)


def _use_logs(axis: Axes, low: float, high: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_xscale("log")
    # Two decades or more are named by their tens.
    subs = (1.0,) if high > 100 * low else (1.0, 2.0, 5.0)
    axis.xaxis.set_major_locator(LogLocator(subs=subs))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _density(draws: np.ndarray, limits: Any, bounded: bool) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the density on a grid between the limits."""
    from arviz_stats.base.array import array_stats

    inside = draws[(draws >= limits[0]) & (draws <= limits[1])]
    # A share may pile up at its bound, where its density ends; others end where they are nothing.
    wide: dict[str, Any] = {} if bounded else {"custom_lims": tuple(map(float, limits))}
    grid, density, _ = array_stats.kde(inside, bw="silverman", bound_correction=bounded, **wide)
    some = np.flatnonzero(density > NOTHING * density.max())
    some = slice(some[0], some[-1] + 1)
    return grid[some], density[some] * len(inside) / len(draws)

"""Where a plot is drawn, in which colours, how an axis names options, and groups of texts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.scale import Scale
from cordial_ppl.plots.figure import COLUMN, literal, looking

Axes = Any
"""A `matplotlib.axes.Axes`."""

PEOPLE, RAW, OURS, CHANNEL = "#b8b8b8", "#D55E00", "#0072B2", "#009E73"
"""What people say, what the reader states, what calibration makes of it (Okabe and Ito, 2008)."""

MOST, ROOM = 11, 36
"""Options that an axis names, and letters that stand side by side below it."""

LONGEST = 12
"""Letters of an option's name that an axis has room for beside those of its neighbours."""


@contextmanager
def drawing(ax: Axes | None, height: float = 2.3) -> Iterator[Axes]:
    """Draw on an axis in its style, or on a new figure in the style of the package.

    Args:
        ax: the axis, or None.
        height: height of a new figure, inches.

    Raises:
        InputError: matplotlib is not installed.
    """
    if ax is not None:
        yield ax
        return
    with looking():
        from matplotlib import pyplot

        yield pyplot.subplots(figsize=(COLUMN, height), layout="constrained")[1]


def short(name: str) -> str:
    """Shorten a name that an axis has no room for, and let none of it be mathematics."""
    return literal(name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…")


def name_options(axis: Any, scale: Scale, places: Sequence[float] | None = None) -> None:
    """Put the options' names at their places on an axis: of all, or evenly of as many as fit.

    Args:
        axis: `ax.xaxis` or `ax.yaxis`.
        scale: the options.
        places: where they stand; by default where their values do.
    """
    from matplotlib.ticker import NullLocator

    where = scale.values if places is None else places
    ranked = np.argsort(where)[:: -(-scale.size // MOST)]
    names = [short(scale.options[k]) for k in ranked]
    axis.set_ticks([where[k] for k in ranked], names)
    if axis.axis_name == "x" and sum(map(len, names)) > ROOM:
        axis.set_tick_params(rotation=35, pad=1)
        for label in axis.get_ticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axis.set_minor_locator(NullLocator())


def group(
    values: Float[np.ndarray, " n"], count: int, decimals: int
) -> list[Int[np.ndarray, " rows"]]:
    """Split texts at the quantiles of their values; those with the same value stay together.

    Args:
        values: one number per text, [n].
        count: how many groups there are at most.
        decimals: to which values are rounded before they are told apart.

    Returns:
        The rows of each group, lowest values first.
    """
    rounded = np.round(values, decimals)
    edges = np.unique(np.quantile(rounded, np.linspace(0, 1, count + 1)[1:-1]))
    bins = np.searchsorted(edges, rounded, side="right")
    return [np.flatnonzero(bins == edge) for edge in np.unique(bins)]

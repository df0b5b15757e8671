"""Figures and axes: their look (with `look.mplstyle`), colours, names of options, heatmaps.

Matplotlib is imported where something is drawn: tables need none.
"""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError

Figure = Any
"""A `matplotlib.figure.Figure`."""

Axes = Any
"""A `matplotlib.axes.Axes`."""

COLUMN, PAGE = 3.4, 7.0
"""Widths of a column and of a page, inches."""

INK = "#333333"
PEOPLE, RAW, OURS, CHANNEL = "#b8b8b8", "#D55E00", "#0072B2", "#009E73"
"""What people say, what the reader states, what calibration makes of it (Okabe and Ito, 2008)."""

MOST, ROOM = 11, 36
"""Options that an axis names, and letters that stand side by side below it."""

LONGEST = 12
"""Letters of an option's name that an axis has room for beside those of its neighbours."""


def require_drawing(what: str = "a figure", *modules: str) -> None:
    """Raise an `InputError` where matplotlib, or another module that is needed, is missing."""
    needed = "matplotlib", *modules
    if not all(map(find_spec, needed)):
        raise InputError(f'{what} needs {", ".join(needed)}. Run pip install "cordial-ppl[plots]".')


@contextmanager
def looking(*more: Path) -> Iterator[None]:
    """Set the look of what is drawn inside.

    Args:
        more: style sheets that come after that of the package.

    Raises:
        InputError: matplotlib is not installed.
    """
    require_drawing()
    from matplotlib import style

    with style.context([Path(__file__).with_name("look.mplstyle"), *more]):
        yield


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


def literal(name: str) -> str:
    """Escape a name to be shown as it stands: dollar signs do not begin a formula."""
    # JSON can write half a pair of surrogates, which no font has.
    return name.encode(errors="replace").decode().replace("$", r"\$")


def wrap(name: str, letters: int) -> str:
    """Break a name into lines of so many letters, to be shown as it stands."""
    return literal(textwrap.fill(name, letters))


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size, inches, which belongs to no window."""
    from matplotlib import figure

    return figure.Figure(figsize=(width, height), layout="constrained")


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
    from matplotlib.artist import setp
    from matplotlib.ticker import NullLocator

    where = scale.values if places is None else places
    ranked = np.argsort(where)[:: -(-scale.size // MOST)]
    names = [short(scale.options[k]) for k in ranked]
    axis.set_ticks([where[k] for k in ranked], names)
    if axis.axis_name == "x" and sum(map(len, names)) > ROOM:
        axis.set_tick_params(rotation=35, pad=1)
        setp(axis.get_ticklabels(), ha="right", rotation_mode="anchor")
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


def draw_heatmap(axis: Any, probs: Float[np.ndarray, "K K"], most: float = 1.0) -> None:
    """Draw a distribution over labels for each stated class, on a colour scale from 0.

    Squares where label and stated class agree are outlined; rows of NaN are hatched.

    Args:
        axis: where to draw.
        probs: probabilities, row y for stated class y; NaN where no text has it.
        most: the probability of the darkest colour.
    """
    axis.imshow(probs, cmap="Blues", vmin=0, vmax=most)
    width = min(0.8, 8 / len(probs))
    for y, row in enumerate(probs):
        if np.isnan(row).all():
            axis.axhspan(y - 0.5, y + 0.5, fill=False, hatch="/////", ec=PEOPLE, lw=0)
        else:
            edges = y + np.array([-0.5, 0.5, 0.5, -0.5, -0.5])
            axis.plot(edges, edges[[0, 0, 1, 1, 0]], color=INK, lw=width, marker="")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(True)

"""Look of figures: sizes, names and heatmaps; the rest: `look.mplstyle`.

Matplotlib is imported where something is drawn: tables need none.
"""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.errors import InputError

Figure = Any
"""A `matplotlib.figure.Figure`."""

COLUMN, PAGE = 3.4, 7.0
"""Widths of a column and of a page, inches."""

INK, PALE = "#333333", "#b8b8b8"

NEEDED = 'matplotlib: pip install -e ".[plots]".'
"""What a figure needs, and how one gets it."""


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def require_drawing() -> None:
    """Raise an `InputError` where figures cannot be drawn."""
    if not can_draw():
        raise InputError(f"a figure needs {NEEDED}")


@contextmanager
def looking() -> Iterator[None]:
    """Set the look of what is drawn inside.

    Raises:
        InputError: matplotlib is not installed.
    """
    require_drawing()
    import matplotlib

    with matplotlib.rc_context(fname=Path(__file__).with_name("look.mplstyle")):
        yield


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


def draw_heatmap(axis: Any, probs: Float[np.ndarray, "K K"], most: float = 1.0) -> None:
    """Draw a distribution over labels for each stated class, on a colour scale from 0.

    Squares where label and stated class agree are outlined; rows of NaN are hatched.

    Args:
        axis: where to draw.
        probs: probabilities, row y for stated class y; NaN where no text has it.
        most: the probability of the darkest colour.
    """
    axis.imshow(probs, cmap="Blues", vmin=0, vmax=most)
    for y, row in enumerate(probs):
        if np.isnan(row).all():
            axis.axhspan(y - 0.5, y + 0.5, fill=False, hatch="/////", ec=PALE, lw=0)
        else:
            edges = y + np.array([-0.5, 0.5, 0.5, -0.5, -0.5])
            axis.plot(
                edges, edges[[0, 0, 1, 1, 0]], color=INK, lw=min(0.8, 8 / len(probs)), marker=""
            )
    axis.tick_params(length=0)
    axis.spines[:].set_visible(True)

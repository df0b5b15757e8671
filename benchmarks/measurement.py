"""What a measurement is, for `results.py` to run: cells of numbers, and a table of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Key = tuple[Any, ...]
Line = dict[str, Any]
"""Line of a table: a plain value in each column."""


class Row(NamedTuple):
    """Numbers of one cell of one draw, as JSON holds them."""

    draw: int
    cell: Key
    numbers: Any


class Measurement(NamedTuple):
    """Measurement of something that is published.

    Attributes:
        name: what it is called on the command line, and its table.
        about: what it measures, in a line.
        cells: lists the cells of a draw, in the order in which they are measured.
        measure: measures a cell of a draw, `measure(draw, *cell)`; JSON can hold what it returns.
        tabulate: makes a table of the rows of all cells.
        draws: how many draws are enough to publish.
        needs_data: whether CORDIAL_DATA has to name the public sets.
        kept_as: whose rows it shares, where its cells are some of another measurement's.
    """

    name: str
    about: str
    cells: Callable[[int], Iterable[Key]]
    measure: Callable[..., Any]
    tabulate: Callable[[Sequence[Row]], Iterable[Line]]
    draws: int = 20
    needs_data: bool = True
    kept_as: str = ""


def average(
    name: str, values: Iterable[Any], draws: Iterable[int], sets: Iterable[Any] | None = None
) -> dict[str, float | None]:
    """Average over sets the mean of each, with the standard error of the average.

    Draws are independent, what is measured in one draw need not be: the error is that of a ratio
    of sums over draws in each set.  There is none of a single draw.

    Args:
        name: column of the average; that of its error is called "NAME se".
        values: what was measured.
        draws: draw of each value.
        sets: set of each value, which count alike; by default all are of one.
    """
    each, clusters = np.array([*values], float), np.unique([*draws], return_inverse=True)[1]
    groups = np.zeros(len(each), int)
    if sets is not None:
        groups = np.unique([*map(str, sets)], return_inverse=True)[1]
    sizes = np.bincount(groups)
    means = np.bincount(groups, each) / sizes
    parts = np.bincount(clusters, (each - means[groups]) / sizes[groups]) / len(sizes)
    count = len(parts)
    error = float(np.sqrt(count / (count - 1) * parts @ parts)) if count > 1 else None
    return {name: float(means.mean()), f"{name} se": error}


def root_mean_square(
    name: str, errors: Iterable[float], draws: Iterable[int], sets: Iterable[Any] | None = None
) -> dict[str, float | None]:
    """Average squared errors as `average` does; return the root, and its standard error."""
    square, error = average(name, np.square([*errors]), draws, sets).values()
    root = float(np.sqrt(square or 0.0))
    return {name: root, f"{name} se": error / (2 * root) if error is not None and root else None}


def list_lowest(
    name: str, values: Iterable[float], sets: Iterable[str], best: Callable[..., str] = min
) -> dict[str, float | str]:
    """Name the set whose mean is lowest (`best=max`: highest), and that mean."""
    means = {key: float(np.mean(each)) for key, each in group(zip(sets, values, strict=True))}
    worst = best(means, key=lambda key: means[key])
    return {name: means[worst], f"{name} in": worst}


def group(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, list[Any]]]:
    """Group values by their keys, in the order in which keys come first."""
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return [*groups.items()]

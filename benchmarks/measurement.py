"""What a measurement is, for `results.py` to run: cells of numbers, and a table of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

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
        cells: lists the cells of a draw, in the order in which they are measured.
        measure: measures a cell of a draw, `measure(draw, *cell)`; JSON can hold what it returns.
        tabulate: makes a table of the rows of all cells.
        draws: how many draws are enough to publish.
        needs_data: whether CORDIAL_DATA has to name the public sets.
        kept_as: whose rows it shares, where its cells are some of another measurement's.
        timed: whether times are measured, which are of all cores.
    """

    name: str
    cells: Callable[[int], Iterable[Key]]
    measure: Callable[..., Any]
    tabulate: Callable[[Sequence[Row]], Iterable[Line]]
    draws: int = 20
    needs_data: bool = True
    kept_as: str = ""
    timed: bool = False


Timed = partial(Measurement, needs_data=False, timed=True)
"""Measurement of times."""


def average(
    name: str,
    values: Iterable[Any],
    draws: Iterable[Any],
    sets: Iterable[Any] | None = None,
    weights: Iterable[float] | None = None,
) -> dict[str, float | None]:
    """Average over sets the mean of each, with the standard error of the average.

    Draws are independent, what is measured in one draw need not be: the error is that of a ratio
    of sums over draws in each set.  There is none of a single draw, or of
    draws that agree.

    Args:
        name: column of the average; that of its error is called "NAME se".
        values: what was measured.
        draws: draw of each value, or what else is independent, such as a person.
        sets: set of each value, which count alike; by default all are of one.
        weights: what each value counts in its set; by default one.
    """
    each, clusters = np.array([*values], float), np.unique([*draws], return_inverse=True)[1]
    weight = np.ones(len(each)) if weights is None else np.array([*weights], float)
    groups = np.zeros(len(each), int)
    if sets is not None:
        groups = np.unique([*map(str, sets)], return_inverse=True)[1]
    sizes = np.bincount(groups, weight)
    means = np.bincount(groups, weight * each) / sizes
    parts = np.bincount(clusters, weight * (each - means[groups]) / sizes[groups]) / len(sizes)
    count = len(parts)
    error = float(np.sqrt(count / (count - 1) * parts @ parts)) or None if count > 1 else None
    return {name: float(means.mean()), f"{name} se": error}


def root_mean_square(
    name: str, errors: Iterable[float], draws: Iterable[int], sets: Iterable[Any] | None = None
) -> dict[str, float | None]:
    """Average squared errors as `average` does; return the root, and its standard error."""
    square, error = average(name, np.square([*errors]), draws, sets).values()
    root = float(np.sqrt(square or 0.0))
    return {name: root, f"{name} se": error / (2 * root) if error is not None and root else None}


def linearise(values: Iterable[float], base: Iterable[float], root: bool = False) -> np.ndarray:
    """Spread a ratio of two means, or its root, over the draws: the mean of these is the ratio.

    What `average` makes of it has the standard error of the ratio, to first order.
    """
    value, unit = np.array([*values], float), np.array([*base], float)
    ratio = value.mean() / unit.mean()
    parts = (value - ratio * unit) / unit.mean()
    return np.sqrt(ratio) + parts / (2 * np.sqrt(ratio)) if root else ratio + parts


def list_lowest(
    name: str, values: Iterable[float], sets: Iterable[Any], best: Callable[..., Any] = min
) -> dict[str, Any]:
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


def list_records(rows: Iterable[Row], names: str = "", part: str = "") -> Iterator[Line]:
    """List what was measured: draw, the parts of the cell by their names, and the numbers.

    Numbers of a cell, or a part of them, are a dictionary, or several.
    """
    for row in rows:
        numbers = row.numbers[part] if part else row.numbers
        cell = {"draw": row.draw} | dict(zip(names.split(), row.cell, strict=True))
        yield from (cell | each for each in ([numbers] if isinstance(numbers, dict) else numbers))


def split(
    records: Iterable[Line], by: Sequence[str], pooled: Collection[str] = ()
) -> Iterator[tuple[Line, list[Line]]]:
    """Group records that are alike in some columns; in each pooled one all are a group too."""
    keys = [
        (key, record)
        for record in records
        for key in product(*({record[k]: 0, "all": 0} if k in pooled else [record[k]] for k in by))
    ]
    ranks = [{"all": len(keys)} for _ in by]
    for key, _ in keys:
        for rank, part in zip(ranks, key, strict=True):
            rank.setdefault(part, len(rank))
    groups = dict(group(keys))
    for key in sorted(
        groups, key=lambda key: [r[part] for r, part in zip(ranks, key, strict=True)]
    ):
        yield dict(zip(by, key, strict=True)), groups[key]


class Means(NamedTuple):
    """Table of the means of every number, of the records that are alike in some columns.

    Attributes:
        names: of the parts of a cell, between spaces, as all names of columns here.
        by: columns that tell the lines of the table apart; of one with an asterisk there is a line
            for all values together too.
        alike: columns of a set; sets count alike in an average.
        lowest: numbers of which the lowest mean of a set is listed too.
        highest: the same of the highest.
        squared: errors, of which the root mean square is taken.
        resolved: numbers of which it is counted in how many sets they are clearly above zero, and
            below: by a t test at 5 %.
        part: which part of a cell's numbers the records are; by default all.
        unit: column of what is independent, such as a person.
        weight: column of what each record counts in its set; by default one.
    """

    names: str
    by: str
    alike: str = "set"
    lowest: Collection[str] = ()
    highest: Collection[str] = ()
    squared: Collection[str] = ()
    resolved: Collection[str] = ()
    part: str = ""
    unit: str = "draw"
    weight: str = ""

    def __call__(self, rows: Sequence[Row]) -> Iterator[Line]:
        """Average the numbers of some rows."""
        by, alike = self.by.replace("*", "").split(), self.alike.split()
        keys = {"draw", self.unit, self.weight, *self.names.split(), *by, *alike}
        pooled = [name for name in by if f"{name}*" in self.by.split()]
        every = list_records(rows, self.names, self.part)
        extremes = ((self.lowest, "lowest", min), (self.highest, "highest", max))
        for line, records in split(every, by, pooled):
            columns = dict.fromkeys(name for record in records for name in record)
            for name in (name for name in columns if name not in keys):
                some = [record for record in records if record.get(name) is not None]
                if not some:
                    continue
                values, units = [each[name] for each in some], [each[self.unit] for each in some]
                sets = [" ".join(str(each.get(part)) for part in alike) for each in some]
                if name in self.squared:
                    line |= root_mean_square(name, values, units, sets)
                else:
                    weights = [each[self.weight] for each in some] if self.weight else None
                    # Errors are over units: each cannot be a set of its own.
                    apart = None if self.unit in alike else sets
                    line |= average(name, values, units, apart, weights)
                for wanted, word, best in extremes:
                    if name in wanted:
                        line |= list_lowest(f"{word} {name}", values, sets, best)
                if name in self.resolved:
                    pairs = zip(sets, zip(values, units, strict=True), strict=True)
                    clear = [find_sign(each) for _, each in group(pairs)]
                    line |= {f"{name} above": clear.count(1), f"{name} below": clear.count(-1)}
            yield line | {"count": len(records)}


def find_sign(pairs: Sequence[tuple[float, Any]]) -> int:
    """Find whether the mean of values, each of a draw, is clearly above zero, below, or neither."""
    values, draws = zip(*pairs, strict=True)
    mean, error = (each or 0.0 for each in average("", values, draws).values())
    far = float(error * stdtrit(len({*draws}) - 1, 0.975))
    return (mean > far > 0) - (mean < -far < 0)

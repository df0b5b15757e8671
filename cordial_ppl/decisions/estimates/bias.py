"""Whether a reader errs differently by group: a test over all columns that name groups."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cordial_ppl.data.numerals import parse_number
from cordial_ppl.decisions.permutation import adjusted_p

ERROR_RATE = 0.05
"""Probability that any column is reported where groups do not matter."""

FEWEST, MOST = 2, 30
"""Groups that a column may have to be tested."""

SHUFFLES = 2000


class Bias(NamedTuple):
    """A group whose labels the calibrator predicts consistently too low or too high.

    Attributes:
        column: the column that names the groups.
        group: the group with the largest error.
        labels: number of labels in the group.
        residual: mean label of the group minus the mean that the calibrator predicts out of fold.
        p: probability that any of the tested columns has such a group by chance.
    """

    column: str
    group: str
    labels: int
    residual: float
    p: float

    def __str__(self) -> str:
        """Return the bias in one sentence."""
        side = "low" if self.residual > 0 else "high"
        return (
            f"{self.column} {self.group!r} is rated {abs(self.residual):.2g} too {side} even after "
            f"calibration ({self.labels} labels; p = {max(self.p, 1e-3):.3f} adjusted for multiple "
            f"testing). Use estimates by {self.column}, and label more texts from {self.group!r}."
        )


def drop_copies(columns: Mapping[str, Any], but: Sequence[Any] = ()) -> dict[str, Any]:
    """Leave out columns that group texts as another does, such as the numbers of systems.

    Args:
        columns: cells of the texts by column; of names and numbers of the same groups, names stay.
        but: cells of a column whose copies are left out too.
    """

    def group(cells: Any) -> tuple[int, ...]:
        _, first, codes = np.unique([*map(str, cells)], return_index=True, return_inverse=True)
        return tuple(first[codes].tolist())

    def is_numbers(column: tuple[str, Any]) -> bool:
        return all(parse_number(str(cell)) is not None for cell in column[1])

    partitions = {group(but): ("", but)}
    for column in sorted(columns.items(), key=is_numbers):
        partitions.setdefault(group(column[1]), column)
    return dict([*partitions.values()][1:])


def find_bias(
    residuals: Float[np.ndarray, " n"],
    columns: Mapping[str, Any],
    seed: int = 0,
    least: float = 0.0,
    clusters: Any = None,
) -> list[Bias]:
    r"""Test columns for groups with residuals of their own, and name the worst group of each.

    The statistic of a column is the variance between its groups,
    :math:`\sum_g n_g (\bar r_g - \bar r)^2`.  Residuals are shuffled over texts, for all columns
    alike; `adjusted_p` accounts for their number.  With clusters, their means are shuffled, or, for
    a column that is not the same throughout each cluster, what is left within clusters.

    Args:
        residuals: label less out-of-fold prediction, in the units of the scale.
        columns: cells of the labelled texts by column; one with fewer than two groups, more than
            thirty, or more than a third of the labels is not tested, nor is one of measurements,
            with numbers that are not whole; copies are left out, see `drop_copies`.
        seed: seed of the shuffles.
        least: residual below which the worst group of a column is not worth a report.
        clusters: cluster of each label, whose texts may err alike; by default each is of its own.

    Returns:
        The columns with p of at most 0.05, the smallest first.
    """
    tested = {
        name: cells
        for name, cells in columns.items()
        for names in [{str(cell) for cell in cells}]
        if FEWEST <= len(names) <= min(MOST, len(residuals) // 3)
        and all((parse_number(name) or 0) % 1 == 0 for name in names)
    }
    members = {
        name: np.unique([str(cell) for cell in cells], return_inverse=True)
        for name, cells in drop_copies(tested).items()
    }
    if not members or np.ptp(residuals) == 0:
        return []
    rng, centred = np.random.default_rng(seed), residuals - residuals.mean()
    units = range(len(centred)) if clusters is None else [*map(str, clusters)]
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    means = np.bincount(unit, centred) / np.bincount(unit)
    left, means = centred - means[unit], means - means.mean()
    whole = np.stack([means, *(rng.permutation(means) for _ in range(SHUFFLES))])
    order, between = np.argsort(unit, kind="stable"), []
    inside = [order, *(np.lexsort((rng.random(len(left)), unit)) for _ in range(SHUFFLES))]
    for names, codes in members.values():
        same = (codes == codes[first][unit]).all()
        groups = np.eye(len(names))[codes[first if same else order]]
        parts = (whole if same else left[np.stack(inside)]) @ groups
        between.append(parts**2 @ (1 / groups.sum(axis=0)))
    adjusted, reported = adjusted_p(np.stack(between, axis=1)).tolist(), []
    for (name, (names, codes)), p in zip(members.items(), adjusted, strict=True):
        if p <= ERROR_RATE:
            counts, sums = np.bincount(codes), np.bincount(codes, centred)
            # Two groups of one size are off alike: rounding must not choose.
            worst = int(np.lexsort([sums, np.round(sums**2 / counts, 9)])[-1])
            off = float(residuals[codes == worst].mean())
            if abs(off) >= least:
                reported.append(Bias(name, str(names[worst]), int(counts[worst]), off, p))
    return sorted(reported, key=lambda bias: bias.p)

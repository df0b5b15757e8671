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
        side, p = "low" if self.residual > 0 else "high", max(self.p, 1e-3)
        return (
            f"{self.column} {self.group!r} is rated too {side} even after calibration (by "
            f"{abs(self.residual):.2g} on average in {self.labels} labels; adjusted p = {p:.3f}). "
            f"Use estimates by {self.column}, and label more texts from {self.group!r}."
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
    alike; `adjusted_p` accounts for their number.  With clusters, the residuals of each get one
    sign at random, and the median of the clusters' means takes the place of the mean.

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

    Source: for clusters the wild bootstrap of Cameron, Gelbach and Miller (2008), "Bootstrap-based
    improvements for inference with clustered errors".
    """
    texts = {name: [*map(str, cells)] for name, cells in columns.items()}
    tested = {
        name: cells
        for name, cells in texts.items()
        if FEWEST <= len({*cells}) <= min(MOST, len(residuals) // 3)
        and all((parse_number(cell) or 0) % 1 == 0 for cell in {*cells})
    }
    tested = drop_copies(tested)
    members = {name: np.unique(cells, return_inverse=True) for name, cells in tested.items()}
    if not members or np.ptp(residuals) == 0:
        return []
    rng, centred = np.random.default_rng(seed), residuals - residuals.mean()
    if clusters is None:
        shuffled = np.stack([centred, *(rng.permutation(centred) for _ in range(SHUFFLES))])
    else:
        unit = np.unique([*map(str, clusters)], return_inverse=True)[1]
        # One odd cluster moves the mean, from which all others then differ alike.
        centred = residuals - np.median(np.bincount(unit, residuals) / np.bincount(unit))
        signs = rng.choice((-1.0, 1.0), (SHUFFLES, unit.max() + 1))
        shuffled = np.vstack([centred, centred * signs[:, unit]])
    one_hot = [np.eye(len(names))[codes] for names, codes in members.values()]
    between = [(shuffled @ groups) ** 2 @ (1 / groups.sum(axis=0)) for groups in one_hot]
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

"""A corpus with its labels: what its texts are of, and the cells that they fall into."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from cordial_ppl.data.labelling import sum_at
from cordial_ppl.decisions.effects import GROUP_SCALE

Draws = Float[np.ndarray, "S C K"]
"""Draws of a number for each cell and option."""

Values = Float[np.ndarray, " K"]
"""The value of each option."""


class Cells(NamedTuple):
    """Texts that are of one group, of one group of the plan, and of one verdict of the judge.

    Attributes:
        of: cell of each text, 0..C-1.
        groups: group of each cell, in order.
        plans: group of the plan of each cell.
        verdicts: 1 for a cell of texts with the verdict of the last option.
        unread: 1 for a cell of texts that were not read.
    """

    of: Int[np.ndarray, " N"]
    groups: Int[np.ndarray, " C"]
    plans: Int[np.ndarray, " C"]
    verdicts: Int[np.ndarray, " C"]
    unread: Int[np.ndarray, " C"]

    @property
    def starts(self) -> Int[np.ndarray, " G"]:
        """The first cell of each group."""
        return np.unique(self.groups, return_index=True)[1]

    def sum(
        self, values: Shaped[np.ndarray, "n *K"], rows: Any = slice(None)
    ) -> Float[np.ndarray, "C *K"]:
        """Sum values of texts, or of some of them, by cell."""
        return sum_at(self.of[rows], values, (len(self.groups), *values.shape[1:]))

    def total(self, values: Draws) -> Float[np.ndarray, "S G"]:
        """Sum what is of each cell and option by group."""
        return np.add.reduceat(values.sum(axis=2), self.starts, axis=1)

    def shares(self, values: Draws) -> Draws:
        """Scale what is of each cell and option to sum to one in each group."""
        return values / self.total(values)[:, self.groups, None]

    def sum_clusters(
        self, values: Shaped[np.ndarray, "N *K"], clusters: Int[np.ndarray, " N"]
    ) -> Float[np.ndarray, "clusters C *K"]:
        """Sum values of texts by cluster and cell."""
        shape = clusters.max() + 1, len(self.groups), *values.shape[1:]
        return sum_at((clusters, self.of), values, shape)


@dataclass(frozen=True, eq=False)
class Corpus:
    """A corpus with its labels, and what its texts are of.

    Attributes:
        rows: the labelled texts, first those that were read.
        labels: share of each option among their labels, ``[n, K]``.
        value: value of each option, whose range is the unit of effects.
        weights: what each labelled text stands for, in any unit: 1 / inclusion probability.
        groups: group of each text, 0..G-1.
        read: whether each text was read.
        scale: scale of the prior of the whole corpus's effect, in units of the values' range.
        plans: the groups of a plan by which labels were drawn, 0..P-1, where they are others.
        verdicts: 1 where the judge's verdict is that of the last option, else 0; None where no
            options pass.
        clusters: cluster of each text, 0..C-1; None where each is of another.
    """

    rows: Int[np.ndarray, " n"]
    labels: Float[np.ndarray, "n K"]
    value: Values
    weights: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " N"]
    read: Bool[np.ndarray, " N"]
    scale: float = GROUP_SCALE
    plans: Int[np.ndarray, " N"] | None = None
    verdicts: Int[np.ndarray, " N"] | None = None
    clusters: Int[np.ndarray, " N"] | None = None

    @cached_property
    def cells(self) -> Cells:
        """The cells of the corpus."""
        nothing = np.zeros(len(self.groups), int)
        parts = (nothing if part is None else part for part in (self.plans, self.verdicts))
        table, of = np.unique([self.groups, *parts, ~self.read], axis=1, return_inverse=True)
        return Cells(of.ravel(), *table)

    @cached_property
    def left(self) -> Float[np.ndarray, " N"]:
        """1 for a text without a label, else 0."""
        left = np.ones(len(self.groups))
        left[self.rows] = 0
        return left


def kish_weights(
    weights: Float[np.ndarray, " n"], codes: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    r"""Scale weights so that those of a code sum to its effective number of texts.

    .. math:: n_{eff} = \Big(\sum_i w_i\Big)^2 \Big/ \sum_i w_i^2

    Source: Kish (1965), Survey sampling.

    Args:
        weights: of the texts.
        codes: what each is of, 0 and up.
    """
    sums, squares = np.bincount(codes, weights), np.bincount(codes, weights**2)
    return weights * (sums / np.maximum(squares, np.finfo(float).tiny))[codes]

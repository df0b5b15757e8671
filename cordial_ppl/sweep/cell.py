"""A cell of a sweep: everything that one task, reader and number of labels gave, in one file."""

from pathlib import Path

import msgspec
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl import storage

KIND = "sweep cell"
ABSENT = " is absent"
"""Ends the name of an array that marks where another has no number."""


class Cell(storage.Record):
    """Results of M methods on S subsets of n labels; NaN where a fit failed.

    Attributes:
        task: name of the task.
        reader: name of the reader.
        n: number of labels.
        methods: names of the methods.
        losses: log loss of each report text, nats, shape ``[M, S, m]``.
        scores: one value a fit by name, shape ``[M, S]``.
        given_stated: mean prediction for each class that the reader states, ``[M, S, K, K]``.
        saturated: predictions for one saturated reading of each class, ``[M, S, K, K]``.
        empirical: label histogram of each class that the reader states, ``[K, K]``.
        stated: how many report texts the reader states each class for, ``[K]``.
        failures: method, draw and reason of each fit that failed.
        fingerprint: what the cell was made from; a later run compares it with what it would make.
    """

    task: str
    reader: str
    n: int
    methods: tuple[str, ...]
    losses: Float[np.ndarray, "_M _S _m"]
    scores: dict[str, Float[np.ndarray, "_M _S"]]
    given_stated: Float[np.ndarray, "_M _S _K _K"]
    saturated: Float[np.ndarray, "_M _S _K _K"]
    empirical: Float[np.ndarray, "_K _K"]
    stated: Int[np.ndarray, " _K"]
    failures: tuple[tuple[str, int, str], ...] = ()
    fingerprint: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError where the parts do not fit together."""
        super().__post_init__()
        fits = self.losses.shape[:2]
        if fits[0] != len(set(self.methods)) or any(s.shape != fits for s in self.scores.values()):
            raise ValueError("its losses or scores do not match its methods")
        if any(m not in self.methods or not 0 <= s < fits[1] for m, s, _ in self.failures):
            raise ValueError("its failures do not match its fits")

    @property
    def reasons(self) -> dict[tuple[str, int], str]:
        """Why a fit failed, by method and draw."""
        return {(method, draw): reason for method, draw, reason in self.failures}


def join(first: Cell, second: Cell) -> Cell:
    """Put the methods of two cells of the same task, reader and labels one after the other."""
    names = ("losses", "given_stated", "saturated")
    return msgspec.structs.replace(
        first,
        methods=first.methods + second.methods,
        scores={k: np.concatenate([v, second.scores[k]]) for k, v in first.scores.items()},
        failures=first.failures + second.failures,
        **{k: np.concatenate([getattr(first, k), getattr(second, k)]) for k in names},
    )


def write_cell(path: Path, cell: Cell) -> None:
    """Write a cell to a file of plain data, whole or not at all."""
    meta, arrays = storage.pack(cell)
    # The file holds finite numbers only.
    gaps = {f"{name}{ABSENT}": ~np.isfinite(values) for name, values in arrays.items()}
    filled = {k: np.nan_to_num(v, posinf=0.0, neginf=0.0) for k, v in arrays.items()}
    storage.write(path, KIND, meta, filled | {k: gap for k, gap in gaps.items() if gap.any()})


def read_cell(path: Path) -> Cell:
    """Read what `write_cell` wrote.

    Raises:
        FileError: the file is damaged or is not a cell of a sweep.
    """
    meta, arrays = storage.read(path, KIND)
    with storage.blaming(path):
        for name in [name for name in arrays if name.endswith(ABSENT)]:
            arrays[name.removesuffix(ABSENT)][arrays.pop(name)] = np.nan
        return storage.unpack(Cell, meta, arrays)

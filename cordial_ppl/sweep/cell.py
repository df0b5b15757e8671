"""A cell of a sweep: everything that one task, reader and number of labels gave, in one file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl import storage
from cordial_ppl.cordial.files import blaming

KIND = "sweep cell"


@dataclass(frozen=True)
class Cell:
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
        reasons: why a fit failed, by method and draw.
        seconds: how long the methods' members took together.
    """

    task: str
    reader: str
    n: int
    methods: tuple[str, ...]
    losses: Float[np.ndarray, "M S m"]
    scores: Mapping[str, Float[np.ndarray, "M S"]]
    given_stated: Float[np.ndarray, "M S K K"]
    saturated: Float[np.ndarray, "M S K K"]
    empirical: Float[np.ndarray, "K K"]
    stated: Int[np.ndarray, " K"]
    reasons: Mapping[tuple[str, int], str]
    seconds: float

    def failed(self) -> Bool[np.ndarray, "M S"]:
        """Which fits failed."""
        found = np.zeros(self.losses.shape[:2], bool)
        for method, draw in self.reasons:
            found[self.methods.index(method), draw] = True
        return found


def join(first: Cell, second: Cell) -> Cell:
    """Put the methods of two cells of the same task, reader and labels one after the other."""
    arrays = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("losses", "given_stated", "saturated")
    }
    return replace(
        first,
        methods=first.methods + second.methods,
        scores={k: np.concatenate([v, second.scores[k]]) for k, v in first.scores.items()},
        reasons={**first.reasons, **second.reasons},
        seconds=first.seconds + second.seconds,
        **arrays,
    )


def write_cell(path: Path, cell: Cell, fingerprint: str) -> None:
    """Write a cell to a file of plain data, whole or not at all.

    Args:
        path: the file.
        cell: the results.
        fingerprint: what they were made from; a later run compares it with its own.
    """
    arrays = {
        "losses": cell.losses.astype(np.float32),
        "given_stated": cell.given_stated,
        "saturated": cell.saturated,
        "empirical": cell.empirical,
        "stated": cell.stated,
    } | {f"score_{name}": values for name, values in cell.scores.items()}
    # The file holds finite numbers only: gaps are marked in arrays beside them.
    absent = {f"absent_{name}": ~np.isfinite(a) for name, a in arrays.items() if _gaps(a)}
    filled = {name: np.where(np.isfinite(a), a, 0.0).astype(a.dtype) for name, a in arrays.items()}
    meta = {
        "task": cell.task,
        "reader": cell.reader,
        "n": cell.n,
        "methods": list(cell.methods),
        "reasons": [[method, draw, text] for (method, draw), text in cell.reasons.items()],
        "seconds": cell.seconds,
        "fingerprint": fingerprint,
    }
    storage.write(path, KIND, meta, filled | absent)


def read_cell(path: Path) -> tuple[Cell, str]:
    """Read what `write_cell` wrote.

    Returns:
        The results, and the fingerprint of what they were made from.

    Raises:
        FileError: the file is damaged or is not a cell of a sweep.
    """
    meta, arrays = storage.read(path, KIND)
    with blaming(path):
        for name in [name for name in arrays if name.startswith("absent_")]:
            absent = arrays.pop(name)
            target = name.removeprefix("absent_")
            arrays[target] = np.where(absent, np.nan, arrays[target])
        cell = Cell(
            str(meta["task"]),
            str(meta["reader"]),
            int(meta["n"]),
            tuple(map(str, meta["methods"])),
            arrays.pop("losses"),
            {n.removeprefix("score_"): a for n, a in arrays.items() if n.startswith("score_")},
            arrays["given_stated"],
            arrays["saturated"],
            arrays["empirical"],
            arrays["stated"],
            {(str(method), int(draw)): str(text) for method, draw, text in meta["reasons"]},
            float(meta["seconds"]),
        )
        _check(cell)
        return cell, str(meta["fingerprint"])


def _check(cell: Cell) -> None:
    """Raise ValueError where the parts of a file do not fit together."""
    fits, classes = cell.losses.shape[:2], cell.stated.shape
    if cell.losses.ndim != 3 or fits[0] != len(set(cell.methods)) or len(classes) != 1:
        raise ValueError("its losses do not match its methods")
    if any(scores.shape != fits for scores in cell.scores.values()):
        raise ValueError("its scores do not match its fits")
    if not cell.given_stated.shape == cell.saturated.shape == (*fits, *classes, *classes):
        raise ValueError("its predictions do not match its fits or options")
    if cell.empirical.shape != (*classes, *classes):
        raise ValueError("its histogram does not match its options")
    known = {(method, draw) for method in cell.methods for draw in range(fits[1])}
    if not cell.reasons.keys() <= known:
        raise ValueError("its reasons do not match its fits")


def _gaps(array: np.ndarray) -> bool:
    return not np.isfinite(array).all()

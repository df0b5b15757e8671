"""Fingerprints of labelled texts: how a saved calibrator recognises the texts of its fit.

Scores on these texts flatter, so a report leaves them out.  A fingerprint is a digest of a text's
label and of the cell of a grid that its logits lie in.  A table that rounds may move logits across
a cell's border, so a search for a text tries every cell that it may have come from.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, product

import numpy as np
from jaxtyping import Bool, Float, Int

TOLERANCE = 1.1e-3
"""Nats by which a logit may have moved: rounding to three decimals moves it by half as many,
centring by up to as much again, and the rest is for 32 bits."""

FORMER = 1e-3
"""Width of the cells in the first files, nats; no neighbouring cell was tried."""

MOST = 4096
"""Cells that are tried for a text; three on average."""


def fingerprints(
    logits: Float[np.ndarray, "n *readers K"], labels: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Return one number for each labelled text, from which neither can be read.

    Args:
        logits: centred logits, nats.
        labels: options of the texts, 0..K-1.
    """
    rows = np.nan_to_num(logits).reshape(len(labels), -1)
    cells = np.rint(rows / _width(rows.shape[1]))
    return np.array([_digest(*each) for each in zip(cells, labels.tolist(), strict=True)], np.int64)


def find_unseen(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    seen: Int[np.ndarray, " m"],
) -> Bool[np.ndarray, " n"]:
    """Return which labelled texts are not among those of a fit.

    A text is recognised if no logit has moved by more than `TOLERANCE`.  Texts with the same
    reading and label cannot be told apart: as many of them are left out as the fit had.

    Args:
        logits: centred logits, nats.
        labels: options of the texts, 0..K-1.
        seen: fingerprints of the texts of the fit.
    """
    left, unseen = Counter(seen.tolist()), np.ones(len(labels), bool)
    rows = np.nan_to_num(logits).reshape(len(labels), -1)
    for place, text in enumerate(zip(rows, labels.tolist(), strict=True) if left else ()):
        found = next((own for own in _candidates(*text) if left[own] > 0), None)
        if found is not None:
            left[found] -= 1
            unseen[place] = False
    return unseen


def _width(numbers: int) -> float:
    """Width of a cell (nats), at which a text is near one border on average."""
    return 2 * TOLERANCE * max(2, numbers)


def _candidates(row: np.ndarray, label: int) -> Iterator[int]:
    """Fingerprints that a text may have had."""
    # Options with equal logits move together, however many they are.
    values, place = np.unique(row, return_inverse=True)
    together = (np.array(cell)[place] for cell in _cells(values, len(row)))
    for cell in islice(chain(together, _cells(row, len(row))), MOST):
        yield _digest(np.array(cell), label)
    yield _digest(np.rint(row / FORMER), label)


def _cells(values: np.ndarray, numbers: int) -> Iterator[tuple[float, ...]]:
    """The cell of each number, and those across a border that is near."""
    own, *near = (np.rint((values + e) / _width(numbers)) for e in (0, -TOLERANCE, TOLERANCE))
    return product(*((o, *({a, b} - {o})) for o, a, b in zip(own, *near, strict=True)))


def _digest(cell: np.ndarray, label: int) -> int:
    row = np.append(cell, label).astype("<i8")
    digest = hashlib.blake2b(row.tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)

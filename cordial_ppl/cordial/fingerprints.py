"""Fingerprints of labelled texts: a judge knows again what it was fitted to, without keeping it.

Scores on texts of the fit flatter; whoever scores a saved judge needs to leave them out.

A fingerprint is a digest of the cell of a grid that a text's logits lie in, and of its label.  A
table that rounds may move logits over a border, so whoever looks for a text tries every cell that
it may have come from.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, islice, product

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

TOLERANCE = 1.1e-3
"""Nats that a reading may have lost on its way: those of a logit rounded to three decimals are half
as many, but centring spreads them; the rest is for 32 bits."""

FORMER = 1e-3
"""Width of the cells of the first files (nats), of which a text had to be in its own."""

MOST = 4096
"""Cells of a text that are tried; three on average."""


def fingerprints(
    logits: Float[np.ndarray, "n *readers K"], labels: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Return one number for each labelled text, which tells no reading and no label.

    Args:
        logits: Centred logits (nats).
        labels: Options of the texts, 0..K-1.
    """
    rows = np.nan_to_num(logits).reshape(len(labels), -1)
    cells = np.rint(rows / _width(rows.shape[1]))
    return np.array([_digest(*each) for each in zip(cells, labels.tolist(), strict=True)], np.int64)


def find_unseen(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    seen: Int[np.ndarray, " m"],
) -> Bool[np.ndarray, " n"]:
    """Return which labelled texts are others than those of a fit.

    A text is known again if no logit has moved by more than `TOLERANCE`.  Texts with the same
    reading and label cannot be told apart: as many of them are left out as the fit had.

    Args:
        logits: Centred logits (nats).
        labels: Options of the texts, 0..K-1.
        seen: Fingerprints of the texts of the fit.
    """
    places = defaultdict(list)
    for place, found in enumerate(seen.tolist()):
        places[found].append(place)
    rows = np.nan_to_num(logits).reshape(len(labels), -1)
    pairs = [
        (number, place)
        for number, text in enumerate(zip(rows, labels.tolist(), strict=True) if places else ())
        for found in _candidates(*text)
        for place in places.get(found, ())
    ]
    if not pairs:
        return np.ones(len(labels), bool)
    # Of texts so close that each may be the other, as many as possible find one of the fit.
    graph = csr_array((np.ones(len(pairs)), np.transpose(pairs)), (len(labels), len(seen)))
    return maximum_bipartite_matching(graph, perm_type="column") < 0


def _width(numbers: int) -> float:
    """Width of a cell (nats), such that a text is near the border of one other on average."""
    return 2 * TOLERANCE * max(2, numbers)


def _candidates(row: np.ndarray, label: int) -> Iterator[int]:
    """Fingerprints that a text may have had."""
    # Options that say the same move together, however many they are.
    values, place = np.unique(row, return_inverse=True)
    together = (np.array(cell)[place] for cell in _cells(values, len(row)))
    for cell in islice(chain(together, _cells(row, len(row))), MOST):
        yield _digest(np.array(cell), label)
    yield _digest(np.rint(row / FORMER), label)


def _cells(values: np.ndarray, numbers: int) -> Iterator[tuple[float, ...]]:
    """Where numbers lie, and may have lain: across each border that is near."""
    own, *near = (np.rint((values + e) / _width(numbers)) for e in (0, -TOLERANCE, TOLERANCE))
    return product(*((o, *({a, b} - {o})) for o, a, b in zip(own, *near, strict=True)))


def _digest(cell: np.ndarray, label: int) -> int:
    row = np.append(cell, label).astype("<i8")
    digest = hashlib.blake2b(row.tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)

"""Fingerprints of labelled texts: a judge knows again what it was fitted to, without keeping it.

Scores on texts of the fit flatter; whoever scores a saved judge needs to leave them out.
"""

import hashlib
from collections import Counter

import numpy as np
from jaxtyping import Bool, Float, Int

ROUNDING = 1e-3
"""Nats that a reading may have lost on its way through a table."""


def fingerprints(
    logits: Float[np.ndarray, "n *readers K"], labels: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Return one number for each labelled text, which tells no reading and no label.

    Args:
        logits: Centred logits (nats).
        labels: Options of the texts, 0..K-1.
    """
    steps = np.rint(np.nan_to_num(logits) / ROUNDING).reshape(len(labels), -1)
    rows = np.column_stack([steps, labels]).astype("<i8")
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows]
    return np.frombuffer(b"".join(digests), "<i8").astype(np.int64)


def find_unseen(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    seen: Int[np.ndarray, " m"],
) -> Bool[np.ndarray, " n"]:
    """Return which labelled texts are others than those of a fit.

    Texts with the same reading and label cannot be told apart: as many of them are left out as the
    fit had.

    Args:
        logits: Centred logits (nats).
        labels: Options of the texts, 0..K-1.
        seen: Fingerprints of the texts of the fit.
    """
    left, unseen = Counter(seen.tolist()), np.ones(len(labels), bool)
    for row, found in enumerate(fingerprints(logits, labels).tolist()):
        if left[found] > 0:
            left[found] -= 1
            unseen[row] = False
    return unseen

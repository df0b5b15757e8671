"""Fingerprints of labelled texts: a calibrator recognises those of its fit, without keeping them.

Scores on texts of the fit flatter, so a report leaves them out.

A fingerprint is a digest of a text's label and of the cell of a grid that its logits lie in.  A
table that rounds may move logits over a border, so there are several grids, shifted against each
other: a small change crosses borders of all but one of them at most.
"""

import hashlib
from collections import Counter

import numpy as np
from jaxtyping import Bool, Float, Int

TOLERANCE = 1.1e-3
"""Nats that a reading may have lost on its way: those of a logit rounded to three decimals are half
as many, but centring spreads them; the rest is for 32 bits."""

DIRECTIONS = 4
"""Projections of the logits that a grid has an axis for: one more than these is enough grids."""


def fingerprints(
    logits: Float[np.ndarray, "n *readers K"], labels: Int[np.ndarray, " n"]
) -> Int[np.ndarray, "n grids"]:
    """Five numbers for each labelled text, which tell no reading and no label.

    Args:
        logits: centred logits, nats.
        labels: options of the texts, 0..K-1.
    """
    rows = np.nan_to_num(logits).reshape(len(labels), -1)
    axes = np.random.default_rng(0).normal(size=(rows.shape[1], DIRECTIONS))
    axes /= np.linalg.norm(axes, axis=0)
    grids = DIRECTIONS + 1
    width = 2 * grids * TOLERANCE * rows.shape[1] ** 0.5
    shifts = np.arange(grids)[:, None]
    cells = np.floor((rows @ axes / width)[:, None] + shifts / grids)
    marks = np.broadcast_to(labels[:, None, None], (*cells.shape[:2], 1))
    whole = np.concatenate([cells, marks, np.broadcast_to(shifts, marks.shape)], axis=2)
    numbers = whole.astype("<i8").reshape(-1, whole.shape[2])
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in numbers)
    return np.frombuffer(digests, "<i8").astype(np.int64).reshape(len(labels), grids)


def find_unseen(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    seen: Int[np.ndarray, "..."],
) -> Bool[np.ndarray, " n"]:
    """Which labelled texts are others than those of a fit.

    A text is recognised if no logit has moved by more than `TOLERANCE`.  Texts with the same
    reading and label cannot be told apart: as many of them are left out as the fit had.

    Args:
        logits: centred logits, nats.
        labels: options of the texts, 0..K-1.
        seen: fingerprints of the texts of the fit.
    """
    left, unseen = Counter(seen.ravel().tolist()), np.ones(len(labels), bool)
    for row, own in enumerate(fingerprints(logits, labels).tolist()):
        if known := [digest for digest in own if left[digest] > 0]:
            left.subtract(known)
            unseen[row] = False
    return unseen

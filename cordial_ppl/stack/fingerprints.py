"""Fingerprints of labelled texts: a calibrator recognises those of its fit, without keeping them.

Scores on texts of the fit flatter, so a report leaves them out.

A fingerprint is a digest of a text's label and of the cell of a grid that its logits lie in.  A
table that rounds may move logits over a border, so there are several grids, shifted against each
other: a small change crosses borders of all but one of them at most.
"""

import hashlib
from collections import Counter, defaultdict

import numpy as np
from jaxtyping import Bool, Float, Int

TOLERANCE = 1.1e-3
"""Nats that a reading may have lost on its way: those of a logit rounded to three decimals are half
as many, but centring spreads them; the rest is for 32 bits."""

DIRECTIONS = 4
"""Projections of the logits, at most, that a grid has an axis for: one more is enough grids."""


def grids(numbers: int) -> int:
    """Number of grids for texts whose readings are so many numbers, which sum to zero."""
    return 1 + min(DIRECTIONS, max(1, numbers - 1))


def fingerprints(
    logits: Float[np.ndarray, "n *readers K"], labels: Int[np.ndarray, " n"]
) -> Int[np.ndarray, "n grids"]:
    """Up to five numbers for each labelled text, which tell no reading and no label.

    Args:
        logits: centred logits, nats.
        labels: options of the texts, 0..K-1.
    """
    rows = np.nan_to_num(logits).reshape(len(labels), -1)
    count = grids(rows.shape[1])
    axes = np.random.default_rng(0).normal(size=(rows.shape[1], count - 1))
    axes -= axes.mean(axis=0)
    axes /= np.linalg.norm(axes, axis=0)
    width = 2 * count * TOLERANCE * rows.shape[1] ** 0.5
    shifts = np.arange(count)[:, None]
    cells = np.floor((rows @ axes / width)[:, None] + shifts / count)
    marks = np.broadcast_to(labels[:, None, None], (*cells.shape[:2], 1))
    whole = np.concatenate([cells, marks, np.broadcast_to(shifts, marks.shape)], axis=2)
    numbers = whole.astype("<i8").reshape(-1, whole.shape[2])
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in numbers)
    return np.frombuffer(digests, "<i8").astype(np.int64).reshape(len(labels), count)


def find_unseen(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    seen: Int[np.ndarray, "..."],
) -> Bool[np.ndarray, " n"]:
    """Which labelled texts are others than those of a fit; see :func:`find_places`."""
    return find_places(logits, labels, seen) < 0


def find_places(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    seen: Int[np.ndarray, "..."],
) -> Int[np.ndarray, " n"]:
    """Place of each labelled text among those of a fit; -1 for others.

    A text is recognised if no logit has moved by more than `TOLERANCE`, and may be if its reading
    is hardly further from one of the same label; with two options, readings are that close more
    often.  Of texts that may be the same one, as many are left out as the fit had.

    Args:
        logits: centred logits, nats.
        labels: options of the texts, 0..K-1.
        seen: fingerprints of the texts of the fit, as they are or one text's after the other's.
    """
    given = fingerprints(logits, labels)
    places = defaultdict(list)
    for place, digest in enumerate(seen.ravel().tolist()):
        places[digest].append(place // given.shape[1])
    taken, found = set(), np.full(len(labels), -1)
    for row, digests in enumerate(given.tolist()):
        near = Counter(text for digest in digests for text in places[digest] if text not in taken)
        if near:
            found[row] = near.most_common(1)[0][0]
            taken.add(int(found[row]))
    return found

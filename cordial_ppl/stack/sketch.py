"""Counts of readings by stated option and expected score, which a fit keeps in place of texts.

The expected score is the mean of what is stated: of a hard rating, that rating.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int64

from cordial_ppl.data.number_table import is_unread
from cordial_ppl.data.ratings import state

STEPS = 64
"""Steps of expected scores on a scale of up to so many classes, at most."""


def sketch(logits: Float[np.ndarray, "n K"]) -> Int64[np.ndarray, "2 cells"]:
    """Count readings by stated option and expected score.

    Args:
        logits: option logits, nats; texts without a reading are not counted.

    Returns:
        A column for each cell that has texts, with the cell and the number of texts.  A cell is an
        option, 0..K-1, and a score, rounded to steps of which a whole number makes a class.
    """
    logits, size = logits[~is_unread(logits)], logits.shape[1]
    scores = state(logits)[0] @ np.arange(size)
    steps = np.rint(scores * steps_of_class(size)).astype(np.int64)
    counts = np.bincount(logits.argmax(axis=1) * span(size) + steps)
    cells = np.flatnonzero(counts)
    return np.stack([cells, counts[cells]])


def merge(sketches: Sequence[Int64[np.ndarray, "2 _"]]) -> Int64[np.ndarray, "2 cells"]:
    """Add up the sketches of parts of a table."""
    cells, texts = np.concatenate(sketches, axis=1)
    cells, places = np.unique(cells, return_inverse=True)
    return np.stack([cells, np.bincount(places, texts, len(cells)).astype(np.int64)])


def check_sketch(sketch: Int64[np.ndarray, "2 cells"], size: int) -> None:
    """Check that a sketch is one of readings with so many options.

    Raises:
        ValueError: it is not.
    """
    cells, texts = sketch
    inside = len(cells) and 0 <= cells[0] and cells[-1] < size * span(size)
    if not inside or (np.diff(cells) <= 0).any() or texts.min() < 1:
        raise ValueError("the reading counts do not match the options of the scale")


def steps_of_class(size: int) -> int:
    """Steps of a class."""
    return max(1, STEPS // (size - 1))


def span(size: int) -> int:
    """Number of different scores."""
    return (size - 1) * steps_of_class(size) + 1

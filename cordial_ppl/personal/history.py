"""Rows of texts, some at a time, so that no table of all texts and values is kept."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int, Real

from cordial_ppl.arrays import CHUNK_ROWS


def chunks(rows: Int[np.ndarray, " n"]) -> Iterator[Int[np.ndarray, " _"]]:
    """Rows in the same order, some at a time."""
    for start in range(0, len(rows), CHUNK_ROWS):
        yield rows[start : start + CHUNK_ROWS]


def histories(
    users: Int[np.ndarray, " n"], times: Real[np.ndarray, " n"]
) -> Iterator[tuple[Int[np.ndarray, " b"], Int[np.ndarray, " b"], Int[np.ndarray, " b"]]]:
    """Rows of texts by user and time, some users at a time.

    With them come the places among them where each text's user begins, and where the texts of the
    same user and time begin: the texts between the two are earlier.
    """
    order = np.lexsort((times, users))
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    cuts = starts[np.searchsorted(starts, np.arange(0, len(order), CHUNK_ROWS), side="right") - 1]
    for texts in np.split(order, np.unique(cuts)[1:]):
        who, when, place = users[texts], times[texts], np.arange(len(texts))
        new_user = np.diff(who, prepend=-1) != 0
        # Compared, not subtracted: nanoseconds since 1970 are not exact as floats.
        new_moment = new_user | np.append(True, when[1:] != when[:-1])
        first, moment = (
            np.maximum.accumulate(np.where(new, place, 0)) for new in (new_user, new_moment)
        )
        yield texts, first, moment

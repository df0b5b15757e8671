"""Who labelled what and when: labelled texts arranged so that sums over earlier ones are cheap."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real


class History(NamedTuple):
    """Texts sorted by user and, for each user, by time.

    Attributes:
        rows: the texts in this order, shape ``[n]``.
        users: number of each text's user, in this order, shape ``[n]``.
        starts: where each text's user begins, shape ``[n]``.
        moments: where the texts of the same user and time begin, shape ``[n]``.
    """

    rows: Int[np.ndarray, " n"]
    users: Int[np.ndarray, " n"]
    starts: Int[np.ndarray, " n"]
    moments: Int[np.ndarray, " n"]

    @property
    def earlier(self) -> Int[np.ndarray, " n"]:
        """How many earlier texts the user of each text has; those at the same time are none."""
        return self.moments - self.starts

    def blocks(self, size: int) -> Iterator[slice]:
        """Runs of at most ``size`` texts that divide no user, but for users with more texts."""
        ends = np.flatnonzero(np.diff(self.users, append=-1)) + 1
        start = 0
        while start < len(self.users):
            # The last user who fits, or else the first.
            last = np.searchsorted(ends, start + size, side="right") - 1
            end = int(ends[max(last, np.searchsorted(ends, start, side="right"))])
            yield slice(start, end)
            start = end

    def sums_before(self, values: Float[np.ndarray, "b G"], block: slice) -> np.ndarray:
        """Sums of a block's values over the earlier texts of each text's user."""
        totals = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
        moments, starts = (part[block] - block.start for part in (self.moments, self.starts))
        return totals[moments] - totals[starts]


def arrange(users: Int[np.ndarray, " n"], order: Real[np.ndarray, " n"]) -> History:
    """Sort texts by user and time; texts at the same time keep their order.

    Args:
        users: number of each text's user.
        order: when each text was labelled, as :func:`times.as_order` gives it.
    """
    rows = np.lexsort((order, users))
    who, when = users[rows], order[rows]
    place = np.arange(len(rows))
    new_user = np.diff(who, prepend=-1) != 0
    # Compared rather than subtracted: nanoseconds since 1970 are no exact floats.
    new_moment = new_user | np.append(True, when[1:] != when[:-1])
    starts, moments = (
        np.maximum.accumulate(np.where(new, place, 0)) for new in (new_user, new_moment)
    )
    return History(rows, who, starts, moments)

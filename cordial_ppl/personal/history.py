"""Who labelled what and when: labelled texts arranged so that sums over earlier ones are cheap."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError, Where, name_rows
from cordial_ppl.formats.tables import as_name


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


def arrange(users: Int[np.ndarray, " n"], order: Float[np.ndarray, " n"]) -> History:
    """Sort texts by user and time; texts at the same time keep their order.

    Args:
        users: number of each text's user.
        order: when each text was labelled; any increasing numbers.
    """
    rows = np.lexsort((order, users))
    who, when = users[rows], order[rows]
    place = np.arange(len(rows))
    new_user = np.diff(who, prepend=-1) != 0
    new_moment = new_user | (np.diff(when, prepend=np.nan) != 0)
    starts, moments = (
        np.maximum.accumulate(np.where(new, place, 0)) for new in (new_user, new_moment)
    )
    return History(rows, who, starts, moments)


def as_users(users: Any, count: int, where: Where | None = None) -> list[str]:
    """Names of users, one a text; whole numbers are the same user whatever their type.

    Args:
        users: the names.
        count: how many texts there are.
        where: names a text's place in messages; by default its row.

    Raises:
        InputError: there are not as many as texts, or one is missing.
    """
    try:
        cells = np.asarray(users, object).tolist() if np.ndim(users) == 1 else None
        known = {cell: as_name(cell) for cell in set(cells or ())}
    except (TypeError, ValueError):
        cells, known = None, {}
    if cells is None or len(cells) != count:
        found = "none" if cells is None else str(len(cells))
        raise InputError(
            f"users must name one user for each of {count} texts, in one dimension; found {found}."
        )
    names = [known[cell] for cell in cells]
    missing = np.flatnonzero([not name for name in names])
    if missing.size:
        raise InputError(f"every text needs a user; none is named in {name_rows(missing, where)}.")
    return names


def as_order(order: Any, count: int) -> Float[np.ndarray, " n"]:
    """When texts were labelled; by default in the order in which they come.

    Raises:
        InputError: these are not as many finite numbers as there are texts.
    """
    if order is None:
        return np.arange(count, dtype=np.float64)
    try:
        times = np.asarray(order, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"order must be numbers that grow with time: {error}.") from error
    if times.shape != (count,):
        raise InputError(
            f"order must have one number for each of {count} texts; got shape {times.shape}."
        )
    wrong = np.flatnonzero(~np.isfinite(times))
    if wrong.size:
        raise InputError(f"order must be finite numbers; not so in {name_rows(wrong)}.")
    return times

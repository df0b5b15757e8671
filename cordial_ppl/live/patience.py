"""How long to wait before a request is tried again."""

import datetime
import random
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class Patience:
    """Exponential backoff with full jitter: U(0, min(longest, first 2^i)) seconds before retry i.

    Attributes:
        retries: How often a request is tried again.
        first: Seconds before the first retry, at most.
        longest: Seconds before any retry, at most.
        asked: Seconds that a server may ask to wait (`Retry-After`), at most.
    """

    retries: int = 6
    first: float = 1.0
    longest: float = 30.0
    asked: float = 300.0

    def wait(self, retry: int, after: float | None, rng: random.Random) -> float | None:
        """Say how long to wait before a retry.

        Args:
            retry: Its number, from 0.
            after: Seconds that the server asks to wait, if it does.
            rng: Where the jitter comes from.

        Returns:
            Seconds; None to give up.
        """
        if retry >= self.retries or (after is not None and after > self.asked):
            return None
        jitter = rng.uniform(0.0, min(self.longest, self.first * 2.0**retry))
        # Who was told when to come back comes then, and not all at the same moment.
        return jitter if after is None else after + 0.1 * jitter


def seconds_after(header: str | None, now: datetime.datetime) -> float | None:
    """Read the header `Retry-After`, seconds or a date.

    Args:
        header: Its value, or None.
        now: The time.

    Returns:
        Seconds from now, or None.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - now).total_seconds()
        except (TypeError, ValueError):
            return None
    # Not a number, or no time to speak of, is as good as nothing.
    return seconds if 0.0 < seconds < float("inf") else None

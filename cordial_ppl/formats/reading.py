"""The reading of one text, with what its numbers are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64


@dataclass(slots=True)
class Reading:
    """A reading of one text.

    Attributes:
        kind: "logprob", "n", "logit" or "p".
        values: One number an option, [K].
        parts: What each option's number is made of: (text, number).
        floored: Options that nothing was said of, which got the smallest log-probability returned.
        guessed: Options of several tokens of which only the first was seen, or shared ones.
        share: Probability of all options together, as far as it was returned; NaN where unknown.
        unread: Answers that name no option.
        several: Answers that announce several different options, of which one was taken.
        orders: The readings that this one is the mean of, where the options stood in several
            orders; None for an order whose answer names no option.
    """

    kind: str
    values: Float64[np.ndarray, " K"]
    parts: list[list[tuple[str, float]]]
    floored: list[int] = field(default_factory=list)
    guessed: list[int] = field(default_factory=list)
    share: float = np.nan
    unread: int = 0
    several: int = 0
    orders: "Sequence[Reading | None]" = ()

    @property
    def lone(self) -> bool:
        """Whether a single option was found: a choice, of which the rest only has what is left."""
        if self.orders:
            return any(order is not None and order.lone for order in self.orders)
        return len(self.floored) == len(self.parts) - 1

    @property
    def dropped(self) -> int:
        """Orders that name no option, so that what a place adds does not cancel."""
        return sum(order is None for order in self.orders)

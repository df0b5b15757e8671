"""The reading of one text: a number for each option, and what is to be said of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from cordial_ppl.errors import InputError


@dataclass(slots=True)
class Reading:
    """The reading of one text.

    Attributes:
        kind: "logprob", "n", "logit" or "p".
        values: One number per option, [K].
        parts: What each option's number is made of: (text, number).
        floored: Options without evidence, which got the smallest log-probability returned.
        guessed: Options of several tokens of which only the first was seen, or which share it.
        share: Probability of all options together, as far as it was returned; NaN if unknown.
        unread: Answers that name no option.
        several: Answers that announce different options, of which the last was taken.
        orders: The readings that this one is the mean of, one for each order of the options; None
            for an order whose answer names no option.
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

    def turned(self) -> "Reading":
        """Return the same reading of the options from the last to the first."""
        last = len(self.values) - 1
        return replace(
            self,
            values=self.values[::-1],
            parts=self.parts[::-1],
            floored=sorted(last - k for k in self.floored),
            guessed=sorted(last - k for k in self.guessed),
        )

    @property
    def lone(self) -> bool:
        """Return whether a single option was returned, so that the others share what it leaves."""
        if self.orders:
            return any(order is not None and order.lone for order in self.orders)
        return len(self.floored) == len(self.values) - 1

    @property
    def dropped(self) -> int:
        """Count the orders whose answer names no option: position effects do not cancel."""
        return sum(order is None for order in self.orders)


def mix(readings: Sequence[Reading | None]) -> Reading | None:
    r"""Average the options' probabilities over answers to one prompt.

    :math:`\ell_k = \log \frac{1}{S} \sum_s e^{\ell_k^{(s)}}`, which is less noisy than counting.

    Args:
        readings: The readings in log-probabilities; None for an answer that names no option.

    Returns:
        Their mixture; None if no answer names an option.
    """
    valid = [reading for reading in readings if reading is not None]
    if not valid:
        return None
    less = float(np.log(len(valid)))
    values = np.logaddexp.reduce([reading.values for reading in valid]) - less
    parts = [
        [(text, score - less) for reading in valid for text, score in reading.parts[k]]
        for k in range(len(values))
    ]
    mixed = _merge(valid, values, parts, floored=[k for k, texts in enumerate(parts) if not texts])
    mixed.unread = len(readings) - len(valid)
    return mixed


def average(readings: Sequence[Reading | None]) -> Reading | None:
    r"""Average readings of one text with the options in several orders.

    Log-probabilities are averaged as they are, :math:`\ell_k = \frac{1}{P} \sum_p \ell_{pk}`: what
    a reader adds to an option's logit for its place cancels if every option stands in every place
    equally often; a mean of probabilities would keep it. Counts of sampled answers add up.

    Args:
        readings: The readings, of one kind; None where an answer names no option.

    Returns:
        The mean of those that name one, with all as its orders; an option is floored if any of
        them floored it. None if there is none.

    Raises:
        InputError: They are of different kinds.
    """
    valid = [reading for reading in readings if reading is not None]
    if not valid:
        return None
    kinds = sorted({reading.kind for reading in valid})
    if len(kinds) > 1:
        raise InputError(f"readings of one text must be of one kind; found {', '.join(kinds)}.")
    values = np.stack([reading.values for reading in valid])
    values = values.sum(axis=0) if kinds == ["n"] else values.mean(axis=0)
    floored = sorted({k for reading in valid for k in reading.floored})
    merged = _merge(valid, values, [[] for _ in values], floored)
    merged.orders = tuple(readings)
    return merged


def _merge(valid: Sequence[Reading], values: np.ndarray, parts: list, floored: list) -> Reading:
    """Make a reading of several, with what is to be said of each."""
    return Reading(
        kind=valid[0].kind,
        values=values,
        parts=parts,
        floored=floored,
        guessed=sorted({k for reading in valid for k in reading.guessed}),
        share=float(np.mean([reading.share for reading in valid])),
        unread=sum(reading.unread for reading in valid),
        several=sum(reading.several for reading in valid),
    )

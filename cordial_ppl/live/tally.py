"""What asking took: requests, seconds, tokens and money."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Price = tuple[float, float]
"""Dollars for a million tokens, read and written."""


@dataclass
class Tally:
    """Counts, while answers come in.

    Attributes:
        questions: How many there are in all.
        known: How many had been answered before.
        price: What tokens cost; None if that is unknown.
    """

    questions: int
    known: int = 0
    price: Price | None = None
    answered: int = 0
    requests: int = 0
    read: int = 0
    written: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, body: Mapping[str, Any]) -> None:
        """Count a response and its tokens, as far as the server says them."""
        usage = body.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        self.requests += 1
        self.read += _whole(usage.get("prompt_tokens"))
        self.written += _whole(usage.get("completion_tokens"))

    @property
    def share(self) -> float:
        """How much of the work is done, 0 to 1."""
        return (self.known + self.answered) / self.questions

    @property
    def cost(self) -> float | None:
        """Dollars."""
        if self.price is None:
            return None
        return (self.read * self.price[0] + self.written * self.price[1]) / 1e6

    @property
    def words(self) -> str:
        """One line for people."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        parts = [
            f"{self.known + self.answered:,} of {self.questions:,} answers",
            f"{self.requests / seconds:.1f} requests/s",
        ]
        if self.read or self.written:
            parts.append(f"{self.read:,} + {self.written:,} tokens")
        if self.cost is not None:
            parts.append(f"${self.cost:,.4f}")
        return ", ".join(parts)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0

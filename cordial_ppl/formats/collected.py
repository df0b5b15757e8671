"""What a log gave: tables, and what is to be said of them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cordial_ppl.formats.evidence import Reading


class Explained(NamedTuple):
    """A text whose reading is explained.

    Attributes:
        item_id: The text.
        place: Where the log has it.
        reading: Its reading; None if its answer names no option.
    """

    item_id: str
    place: str
    reading: Reading | None


@dataclass
class Collected:
    """What a log gave.

    Attributes:
        options: The options in order; none if the log holds labels alone and nobody named them.
        readings: The columns of a table of readings; none if the log holds labels alone.
        labels: The columns of a table of labels; no rows if the log has none.
        explained: The first texts.
        unread: Places of the records that name no option.
        answers: Number of answers by where they stand in a text (`answers.SOURCES`), or by why
            they name no option (`answers.LOST`).
        floored: Number of texts by the option that had to be filled.
        guessed: Number of texts in which the first token speaks for an option of several.
        lone: Number of texts in which a single option was returned.
        share: Mean probability of all options together; NaN if unknown.
        unnamed: Whether texts are named by their order.
        unread_samples: Answers that name no option, among samples of which others do.
        several: Answers that announce different options, of which the last was taken.
        failed: Requests without an answer: their places, and what the log says of them.
        hard: Whether every reading is one answer without log-probabilities.
        dropped: Orders of the options in which an answer names none, while it does in others.
        incomplete: Number of texts that have such orders.
    """

    options: tuple[str, ...]
    readings: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    explained: list[Explained] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    floored: Counter[str] = field(default_factory=Counter)
    guessed: int = 0
    lone: int = 0
    share: float = np.nan
    unnamed: bool = False
    unread_samples: int = 0
    several: int = 0
    failed: list[str] = field(default_factory=list)
    hard: bool = True
    dropped: int = 0
    incomplete: int = 0

    def __len__(self) -> int:
        """The number of readings."""
        return len(self.readings.get("item_id", ()))

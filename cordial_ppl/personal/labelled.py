"""Labelled texts of users, worked through in blocks: no table of all texts and values is kept."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import CHUNK_ROWS
from cordial_ppl.personal.effects import Effect
from cordial_ppl.personal.evidence import log_likelihoods
from cordial_ppl.personal.history import History


class Labelled(NamedTuple):
    """Labelled texts, and whose they are.

    Attributes:
        effect: what may differ between users.
        probs: the population's probabilities.
        labels: options 0..K-1.
        histogram: smoothed label histogram.
        history: the texts arranged by user and time.
    """

    effect: Effect
    probs: Float[np.ndarray, "n K"]
    labels: Int[np.ndarray, " n"]
    histogram: Float[np.ndarray, " K"]
    history: History

    def blocks(self) -> Iterator[tuple[slice, Float[np.ndarray, "b G"]]]:
        """Runs of texts that divide no user, and their labels' log likelihoods at every value."""
        for block in self.history.blocks(CHUNK_ROWS):
            rows = self.history.rows[block]
            own = self.probs[rows], self.labels[rows]
            yield block, log_likelihoods(self.effect, *own, self.histogram)

    def add_to(self, totals: Float[np.ndarray, "U G"], counts: Int[np.ndarray, " U"]) -> None:
        """Add the log likelihoods of each user's labels, and how many there are, in place."""
        for block, new in self.blocks():
            who, first, number = np.unique(
                self.history.users[block], return_index=True, return_counts=True
            )
            totals[who] += np.add.reduceat(new, first, axis=0)
            counts[who] += number

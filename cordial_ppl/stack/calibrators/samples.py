"""What all fits share: readings and labels whose leading axes are broadcast."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from cordial_ppl.runtime.arrays import AnyArray

BatchLogits = Float[AnyArray, "*#sets n K"]
"""Readings of one sample, or of several: leading axes are broadcast against those of labels."""

BatchLabels = Int[AnyArray, "*#sets n"]
"""Positions on the scale, 0..K-1; -1 marks texts to ignore."""

BatchWeights = Float[AnyArray, "*#sets n"] | None
"""What each label counts; one where there are none."""

BatchLogProbs = Float[np.ndarray, "... n K"]
"""Log probabilities (nats) for each fit, the leading axes of its parameters."""


class Samples(NamedTuple):
    """Samples one after the other, with texts as the last axis, over which sums are long.

    Attributes:
        shape: the leading axes, of which B is the product.
        logits: readings, float64; a single array if all samples have the same.
        chosen: the label's weight where a text has this one, else zero.
        counts: sum of the labels' weights in each sample.
    """

    shape: tuple[int, ...]
    logits: Float[np.ndarray, "samples K n"]
    chosen: Float[np.ndarray, "B K n"]
    counts: Float[np.ndarray, " B"]

    @property
    def shares(self) -> Float[np.ndarray, "B K n"]:
        """Weight of each label in a mean over its sample; zeros where there is none."""
        return self.chosen / self.divisors[:, None, None]

    @property
    def divisors(self) -> Float[np.ndarray, " B"]:
        """The counts; one where there are no labels."""
        return np.where(self.counts > 0, self.counts, 1.0)

    def unfold(self, values: np.ndarray) -> np.ndarray:
        """Restore the leading axes."""
        return values.reshape(self.shape + values.shape[1:])


def as_samples(
    logits: BatchLogits,
    labels: BatchLabels,
    weights: BatchWeights = None,
    *,
    options: int | None = None,
) -> Samples:
    """Broadcast the leading axes of readings and labels against each other, and flatten them.

    Args:
        logits: readings.
        labels: their labels.
        weights: of the labels.
        options: number of options; by default one for each column of the readings.
    """
    logits, labels = np.asarray(logits, np.float64), np.asarray(labels)
    *sets, rows, size = logits.shape
    shape = np.broadcast_shapes(tuple(sets), labels.shape[:-1])
    copies, count = (1 if math.prod(sets) == 1 else math.prod(shape)), math.prod(shape)
    turned = np.ascontiguousarray(logits.swapaxes(-1, -2))
    if copies > 1:
        turned = np.broadcast_to(turned, (*shape, size, rows))
    marks = np.broadcast_to(labels, (*shape, rows)).reshape(count, 1, rows)
    chosen = (marks == np.arange(size if options is None else options)[:, None]).astype(np.float64)
    if weights is not None:
        chosen *= np.broadcast_to(weights, (*shape, rows)).reshape(count, 1, rows)
    return Samples(shape, turned.reshape(copies, size, rows), chosen, chosen.sum(axis=(1, 2)))


def some(values: Shaped[np.ndarray, "B *rest"], at: Any) -> Shaped[np.ndarray, "A *rest"]:
    """Return rows of an array that has one for each sample, or a single one for all of them."""
    return values if len(values) == 1 else values[at]

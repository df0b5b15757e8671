"""What all fits share: readings and labels whose leading axes are broadcast, and cross-validation.

Cross-validation chooses a calibrator's setting: all settings and folds are one fit of many.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from cordial_ppl.data.labelling import rank_texts
from cordial_ppl.runtime.arrays import EPS, FLOOR, AnyArray

FOLDS = 4

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


def spread_folds(
    labels: Int[AnyArray, " n"], texts: Int[AnyArray, " n"] | None = None
) -> Int[np.ndarray, " n"]:
    """Assign labelled texts to folds at random; sizes differ by at most one text.

    Texts that are ignored change nothing for the others.

    Args:
        labels: positions `[n]` on the scale; -1 marks texts to ignore.
        texts: which text each label is of; by default each of another.

    Returns:
        The fold of each text, 0..3, and -1 for a text to ignore.
    """
    seen, assigned = np.flatnonzero(np.asarray(labels) >= 0), np.full(len(labels), -1)
    ranks = rank_texts((np.arange(len(labels)) if texts is None else np.asarray(texts))[seen])
    assigned[seen] = np.random.default_rng(0).permutation(ranks.max(initial=-1) + 1)[ranks] % FOLDS
    return assigned


def cross_validate[Params: tuple[AnyArray, ...]](
    fit: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Params],
    log_probs: Callable[[Params, np.ndarray], np.ndarray],
    logits: Float[AnyArray, "n features"],
    labels: BatchLabels,
    weights: Float[AnyArray, " n"] | None = None,
    folds: BatchLabels | None = None,
    *,
    grid: Float[np.ndarray, "G *axes"],
) -> Params:
    """Fit with the setting that has the lowest held-out log loss.

    Minimises `sum_i -w_i log max(p_(-fold(i))(z_i), FLOOR)` over the grid.  Sets of labels share
    what they leave out: all labels, and all without each of four folds, are ten sets together.

    Args:
        fit: from readings `[n, features]`, labels `[G, S, n]` (-1: ignored), weights `[n]` and
            settings `[G, #S, *axes]` to parameters, a NamedTuple of arrays `[G, S, ...]`; G is one
            for what is returned.
        log_probs: from parameters and readings to log probabilities `[G, n, K]`.
        logits: readings, or other features of the texts that the fit takes.
        labels: positions on the scale; -1 marks texts to ignore.
        weights: of the labels; one by default.
        folds: fold of each label, 0..3; by default each is of another text.
        grid: settings, from the weakest to the strongest.

    Returns:
        The parameters fitted to all labels with the best setting; of several settings that are as
        good the last, the strongest.
    """
    table, sets = np.asarray(logits), np.reshape(labels, (-1, len(logits)))
    counts = np.ones(len(table)) if weights is None else np.asarray(weights)
    folds = np.stack([*map(spread_folds, sets)]) if folds is None else np.where(sets < 0, -1, folds)
    left_out = folds[:, None] == np.arange(FOLDS)[:, None]
    seen = np.where(left_out, -1, sets[:, None]).reshape(-1, len(table))
    unique, numbers = np.unique(seen, axis=0, return_inverse=True)
    params = fit(table, np.tile(unique, (len(grid), 1, 1)), counts, grid[:, None])
    losses = np.zeros((len(sets), len(grid)))
    for (index, fold), number in zip(np.ndindex(left_out.shape[:2]), numbers, strict=True):
        rows = np.flatnonzero(left_out[index, fold])
        logs = log_probs(type(params)(*(part[:, number] for part in params)), table[rows])
        logs = logs[:, np.arange(len(rows)), sets[index, rows]]
        losses[index] -= np.maximum(logs, math.log(FLOOR)) @ counts[rows]
    least = losses.min(axis=1, keepdims=True)
    good = losses <= least + EPS**0.6 * (1.0 + least)
    best = len(grid) - 1 - good[:, ::-1].argmax(axis=1)
    params = fit(table, sets[None], counts, grid[None, best])
    shape = np.shape(labels)[:-1]
    return type(params)(*(part[0].reshape(shape + part.shape[2:]) for part in params))

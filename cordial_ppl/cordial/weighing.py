"""Weighing the members of a stack by what they say of texts that they have not seen.

The weights are those under which the out-of-fold predictions make the labels likeliest, shrunk by
a Dirichlet prior; the same predictions tell what log loss to expect.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.arrays import FLOOR
from cordial_ppl.inference.data import Labelled, hold_out
from cordial_ppl.readings import label_histogram
from cordial_ppl.stacking import prior_weights, stack_weights


class ExpectedLoss(NamedTuple):
    """Mean out-of-fold log loss in nats: what to expect on texts like the labelled ones.

    Attributes:
        cordial: of the stack; flattered by a few hundredths with few labels, for the weights were
            chosen on these folds, and the folds' draws were carried over from those of all labels.
        histogram: of the smoothed histogram of the other folds' labels.
        raw: of the reading as it came, which needs no labels.
        labels: how many labels the means are over; below eight there are no folds, and the first
            two are NaN.
    """

    cordial: float
    histogram: float
    raw: float
    labels: int


class Mixture(NamedTuple):
    """Weighed members, and what they say of the labelled texts without having seen their labels.

    Attributes:
        weights: of the members; they sum to one.
        expected: log losses to expect.
        losses: mean out-of-fold log loss of each member, nats; none without folds.
        out_of_fold: probabilities of the mixture; None without folds, or where there is a text
            that no member says anything of.
    """

    weights: Float[np.ndarray, " M"]
    expected: ExpectedLoss
    losses: tuple[float, ...] = ()
    out_of_fold: Float[np.ndarray, "n K"] | None = None


def weigh(
    texts: Labelled,
    folds: Int[np.ndarray, " n"] | None,
    held_out: Float[np.ndarray, "n K M"] | None,
    counts: Float[np.ndarray, " M"],
    present: Bool[np.ndarray, "n M"] | None = None,
) -> Mixture:
    """Weigh members: without folds by the prior alone.

    Args:
        texts: the labelled texts.
        folds: fold of each text; None without folds.
        held_out: each member's probabilities of texts that it has not seen; None without folds.
        counts: Dirichlet pseudo-counts of the members.
        present: which members say something of which text; by default all of all.
    """
    labels, rows = texts.labels, np.arange(len(texts.labels))
    raw_loss = mean_loss(stated(texts.logits)[rows, labels])
    if held_out is None or folds is None:
        nothing = float("nan")
        expected = ExpectedLoss(nothing, nothing, raw_loss, len(labels))
        return Mixture(prior_weights(counts), expected)
    chosen = held_out[rows, labels]
    present = np.ones(chosen.shape, bool) if present is None else present
    weights = stack_weights(np.log(np.maximum(chosen, FLOOR)), counts, present=present)
    mixed = np.einsum("nkm,nm->nk", held_out, shares_of(weights, present))
    known, size = present.any(axis=1), texts.logits.shape[-1]
    histograms = np.stack([label_histogram(own, size) for own in hold_out(labels, folds)])
    expected = ExpectedLoss(
        mean_loss(mixed[rows, labels][known]),
        mean_loss(histograms[folds, labels]),
        raw_loss,
        len(labels),
    )
    mixed = mixed / mixed.sum(axis=1, keepdims=True) if known.all() else None
    return Mixture(weights, expected, tuple(map(mean_loss, chosen.T)), mixed)


def shares_of(
    weights: Float[np.ndarray, " M"], present: Bool[np.ndarray, "n M"]
) -> Float[np.ndarray, "n M"]:
    """Weights of the members that say something of each text, scaled to sum to one.

    Where these have no weight at all they share alike; where there are none the row is zero.
    """
    own = np.where(present, weights, 0.0)
    own = np.where(own.sum(axis=1, keepdims=True) > 0, own, present)
    total = own.sum(axis=1, keepdims=True)
    return own / np.where(total > 0, total, 1.0)


def stated(logits: Float[np.ndarray, "n *readers K"]) -> Float[np.ndarray, "n K"]:
    """What is read, as probabilities; of several readers the mean of those who read the text."""
    raw = np.exp(logits - logits.max(axis=-1, keepdims=True))
    raw /= raw.sum(axis=-1, keepdims=True)
    return raw if raw.ndim == 2 else np.nanmean(raw, axis=1)


def mean_loss(probs: Float[np.ndarray, " n"]) -> float:
    """Mean log loss, in nats, of labels that have these probabilities; NaN of none."""
    return float(-np.mean(np.log(np.maximum(probs, FLOOR)))) if len(probs) else float("nan")

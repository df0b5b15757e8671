"""Weighing the members of a stack by what they predict for texts that they were not fitted to.

The weights make the labels likeliest under the out-of-fold predictions, with a Dirichlet prior; the
same predictions estimate the log loss to expect.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.smoothing import smooth_histogram
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.stacking import earned_counts, prior_weights, stack_weights


class ExpectedLoss(NamedTuple):
    """Mean out-of-fold log loss in nats: what to expect on texts like the labelled ones.

    Attributes:
        cordial: of the stack, each fold mixed by the weights that the other folds give; on average
            too high by about .03 or less (``accuracy-expected``).
        histogram: of the smoothed histogram of the other folds' labels.
        raw: of the reading as it is, which needs no labels.
        labels: number of labelled texts; with fewer than eight there are no folds, and the first
            two losses are NaN.
    """

    cordial: float
    histogram: float
    raw: float
    labels: int


class Mixture(NamedTuple):
    """Weights of the members, and out-of-fold predictions of the labelled texts.

    Attributes:
        weights: of the members; they sum to one.
        expected: log losses to expect.
        losses: mean out-of-fold log loss of each member, nats; empty without folds.
        out_of_fold: probabilities of the mixture, with weights that have not seen the text's fold;
            None without folds, or where no member predicts some text.
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
    kept: Float[np.ndarray, " M"] | None = None,
    present: Bool[np.ndarray, "n M"] | None = None,
) -> Mixture:
    """Weigh members; without folds the weights are those of the prior.

    Args:
        texts: the labelled texts.
        folds: fold of each row, the same for those of a text; None without folds.
        held_out: each member's out-of-fold probabilities; None without folds.
        counts: Dirichlet pseudo-counts of the members.
        kept: parts of the pseudo-counts that need no proof; the rest of each falls with what the
            member loses out of fold. By default all are kept.
        present: which members predict which texts; by default all of them all.
    """
    labels, counted, rows = texts.labels, texts.weights, np.arange(len(texts.labels))
    raw_loss = mean_loss(stated(texts.logits)[rows, labels], counted)
    if held_out is None or folds is None:
        expected = ExpectedLoss(float("nan"), float("nan"), raw_loss, texts.count)
        return Mixture(prior_weights(counts), expected)
    chosen = held_out[rows, labels]
    present = np.ones(chosen.shape, bool) if present is None else present
    kept = counts if kept is None else kept
    logs = np.log(np.maximum(chosen, FLOOR))

    def learn(seen: np.ndarray) -> np.ndarray:
        """Find the weights from some of the labels."""
        *of_labels, some = counted[seen], texts.texts[seen], logs[seen]
        prior = earned_counts(some, counts, kept, *of_labels)
        return stack_weights(some, prior, present[seen], *of_labels)

    mixed, guessed = np.empty(held_out.shape[:2]), np.empty(len(labels))
    for fold in np.unique(folds):
        held = folds == fold
        shares = shares_of(learn(~held), present[held])
        mixed[held] = np.einsum("nkm,nm->nk", held_out[held], shares)
        histogram = smooth_histogram(labels[~held], mixed.shape[1], counted[~held])
        guessed[held] = histogram[labels[held]]
    weights, coverage = learn(np.ones(len(labels), bool)), present.any(axis=1)
    loss = mean_loss(mixed[rows, labels][coverage], counted[coverage])
    mixed = mixed / mixed.sum(axis=1, keepdims=True) if coverage.all() else None
    expected = ExpectedLoss(loss, mean_loss(guessed, counted), raw_loss, texts.count)
    return Mixture(weights, expected, tuple(mean_loss(probs, counted) for probs in chosen.T), mixed)


def shares_of(
    weights: Float[np.ndarray, " M"], present: Bool[np.ndarray, "n M"]
) -> Float[np.ndarray, "n M"]:
    """Scale weights of the members that predict each text to sum to one.

    Members that have no weight at all share alike; a text that no member predicts gets zeros.
    """
    shares = np.where(present, weights, 0.0)
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, present)
    total = shares.sum(axis=1, keepdims=True)
    return shares / np.where(total > 0, total, 1.0)


def stated(logits: Float[np.ndarray, "n *readers K"]) -> Float[np.ndarray, "n K"]:
    """Turn the raw reading into probabilities; of several readers, the mean of those present."""
    raw = softmax(logits, axis=-1)
    return raw if raw.ndim == 2 else np.nanmean(raw, axis=1)


def mean_loss(probs: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> float:
    """Compute the weighted mean log loss of labels, nats; NaN if there are none."""
    if not len(probs):
        return float("nan")
    return float(-np.sum(weights * np.log(np.maximum(probs, FLOOR))) / np.sum(weights))

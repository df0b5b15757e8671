"""Lanes: one data set seen through several masks of its labels, all together and fold by fold.

The first lane sees all labels, the others leave one fold out.  What predicts a text fairly is a
lane that has not seen its label.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import bucket, pad_rows, repeat_rows
from cordial_ppl.inference.family import OneOf, of_target
from cordial_ppl.inference.problem import Cloud, Problem, predict
from cordial_ppl.inference.target import Prior, Target
from cordial_ppl.readings import Readings, label_histogram


class Data(NamedTuple):
    """Labelled texts.

    Attributes:
        logits: centred logits, nats; with an axis of readers if there are several.
        labels: their options 0..K-1.
        covariates: what else is known of each text, by name.
    """

    logits: Float[np.ndarray, "n *readers K"]
    labels: Int[np.ndarray, " n"]
    covariates: dict[str, Float[np.ndarray, " n"]]


class Lanes(NamedTuple):
    """One data set seen through several masks of its labels.

    Attributes:
        logits: centred logits, padded, shape ``[n, K]``, or ``[n, R, K]`` for R readers.
        covariates: per-text covariates, padded, each of shape ``[n]``.
        labels: visible labels of each lane, -1 for the others, shape ``[L, n]``.
        histograms: smoothed histogram of each lane's labels, shape ``[L, K]``.
        lane: for each text, a lane that has not seen its label, shape ``[n]``; 0 without folds.
    """

    logits: Float[Any, "n *readers K"]
    covariates: dict[str, Any]
    labels: Int[Any, "L n"]
    histograms: Float[Any, "L K"]
    lane: Int[Any, " n"]

    def problem(self, target: Target | OneOf, prior: Prior, labels: Any, histogram: Any) -> Problem:
        """The problem of these labels and their histogram."""
        return Problem(target, prior, Readings(self.logits, histogram, self.covariates), labels)

    def smoothed(self, pseudo_counts: Float[np.ndarray, " K"] | None) -> "Lanes":
        """The same data with other pseudo-counts of the label histograms, if any are given."""
        if pseudo_counts is None:
            return self
        size = len(pseudo_counts)
        visible = np.reshape(self.labels, (-1, self.labels.shape[-1]))
        shares = [label_histogram(own, size, None, pseudo_counts) for own in visible]
        return self._replace(histograms=np.reshape(shares, self.histograms.shape))


class LaneFit(NamedTuple):
    """Posterior of the first lane, and each text's prediction from a lane that has not seen it."""

    cloud: Cloud
    held_out: Float[Array, "n K"]


def make_lanes(
    logits: Float[np.ndarray, "n *readers K"],
    labels: Int[np.ndarray, " n"],
    folds: Int[np.ndarray, " n"] | None = None,
    covariates: dict[str, np.ndarray] | None = None,
    rows: int | None = None,
) -> Lanes:
    """Pad a data set to its bucket and mask its labels, once whole and once for each fold.

    Args:
        logits: centred logits.
        labels: options 0..K-1.
        folds: fold of each text, 0..F-1; None for a single lane.
        covariates: per-text covariates.
        rows: what to pad to; by default the bucket.

    Returns:
        ``1 + F`` lanes; a fold's histogram counts the labels that the fold sees.
    """
    size, count = logits.shape[-1], len(labels)
    rows = bucket(count) if rows is None else rows
    lane = np.zeros(count, np.int64) if folds is None else folds + 1
    masks = [np.ones(count, bool)] + [lane != f for f in range(1, lane.max() + 1)]
    visible = [np.where(mask, labels, -1) for mask in masks]
    return Lanes(
        logits=pad_rows(logits, rows, 0.0),
        covariates={k: repeat_rows(v, rows) for k, v in (covariates or {}).items()},
        labels=np.stack([pad_rows(v, rows, -1) for v in visible]),
        histograms=np.stack([label_histogram(v, size) for v in visible]),
        lane=pad_rows(lane, rows, 0),
    )


def held_out(target: Target | OneOf, lanes: Lanes, clouds: Cloud) -> Float[Array, "n K"]:
    """Predict each text from the lane that has not seen its label.

    Args:
        target: the channel, or one of a family.
        lanes: the data.
        clouds: the posterior of every lane but the first, each array with one more axis in front.

    Returns:
        Probabilities, shape ``[n, K]``; zeros without folds.
    """
    if not clouds.draws.shape[0]:
        return jnp.zeros((lanes.logits.shape[0], lanes.logits.shape[-1]), lanes.logits.dtype)

    def one(own: Target, histogram: Array, cloud: Cloud) -> Array:
        return predict(own, cloud, Readings(lanes.logits, histogram, lanes.covariates))

    histograms = jnp.asarray(lanes.histograms)[1:]
    probs = of_target(target, lambda own: jax.vmap(partial(one, own))(histograms, clouds))
    return probs[jnp.maximum(jnp.asarray(lanes.lane) - 1, 0), jnp.arange(probs.shape[1])]


def lane_fit(target: Target | OneOf, lanes: Lanes, clouds: Cloud) -> LaneFit:
    """The first lane's posterior, and what the others say of the texts that they have not seen.

    Args:
        target: the channel, or one of a family.
        lanes: the data.
        clouds: the posterior of every lane, each array with one more axis in front.
    """
    first, rest = (jax.tree.map(lambda leaf, at=at: leaf[at], clouds) for at in (0, slice(1, None)))
    return LaneFit(first, held_out(target, lanes, rest))

"""Labelled texts: as they came, and padded for a compiled program."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.arrays import pad_rows, repeat_rows
from cordial_ppl.readings import Readings

TILE = 32
"""Rows that a program on a CPU computes at a time: how many tiles there are is data, not shape."""

CAPACITY = 2048
"""Rows that there is room for: one program serves any number of labels up to here."""


class Labelled(NamedTuple):
    """Labelled texts.

    Attributes:
        logits: centred logits, nats; with an axis of readers if there are several.
        labels: their options 0..K-1; -1 for a text whose label is held out.
        covariates: what else is known of each text, by name.
    """

    logits: Float[np.ndarray, "n *readers K"]
    labels: Int[np.ndarray, " n"]
    covariates: Mapping[str, Float[np.ndarray, " n"]]

    def take(self, rows: Any) -> "Labelled":
        """Some of the texts, by position."""
        extra = {name: column[rows] for name, column in self.covariates.items()}
        return Labelled(self.logits[rows], self.labels[rows], extra)

    def join(self, more: "Labelled") -> "Labelled":
        """These texts and then others, which have the same covariates."""
        pairs = [(column, more.covariates[name]) for name, column in self.covariates.items()]
        extra = dict(zip(self.covariates, map(np.concatenate, pairs), strict=True))
        logits = np.concatenate([self.logits, more.logits])
        return Labelled(logits, np.concatenate([self.labels, more.labels]), extra)


class Data(NamedTuple):
    """Labelled texts as a compiled program takes them.

    Attributes:
        logits: centred logits, padded to the capacity, nats; texts last, so that loops over them
            are over neighbours in memory.
        labels: their options; -1 for padding and for what is held out.
        histogram: smoothed label histogram pi that the channel falls back on.
        covariates: what else is known of each text, by name.
        tiles: how many tiles of rows hold texts.
    """

    logits: Float[Any, "... K rows"]
    labels: Int[Any, "*many rows"]
    histogram: Float[Any, "*many K"]
    covariates: dict[str, Float[Any, "*many rows"]]
    tiles: Int[Any, ""]

    @property
    def readings(self) -> Readings:
        """What a channel's model sees of the texts."""
        return Readings(jnp.moveaxis(self.logits, -1, 0), self.histogram, self.covariates)


def on_cpu() -> bool:
    """Whether programs run on a CPU, and not on an accelerator."""
    return jax.default_backend() == "cpu"


def capacity(rows: int) -> int:
    """Number of rows that texts are padded to.

    Args:
        rows: how many texts there are.

    Returns:
        On a CPU 2,048, whose tiles are computed as far as there are texts; on an accelerator, which
        computes all rows at once, a power of two from 32 on.  Beyond, twice as many, and so on.
    """
    size = CAPACITY if on_cpu() else TILE
    while size < rows:
        size *= 2
    return size


def pad(
    texts: Labelled,
    labels: Int[np.ndarray, " n"],
    histogram: Float[np.ndarray, " K"],
    dtype: Any,
) -> Data:
    """Pad labelled texts for a compiled program.

    Args:
        texts: the texts.
        labels: what is seen of their labels; -1 for what is held out.
        histogram: smoothed label histogram.
        dtype: precision that the program works in.
    """
    padded = pad_texts(texts._replace(labels=labels), capacity(len(labels)))
    return Data(
        logits=texts_last(padded.logits.astype(dtype)),
        labels=padded.labels.astype(np.int32),
        histogram=np.asarray(histogram, dtype),
        covariates={name: column.astype(dtype) for name, column in padded.covariates.items()},
        tiles=np.int32(-(-len(labels) // TILE) if on_cpu() else 1),
    )


def pad_texts(texts: Labelled, rows: int) -> Labelled:
    """Append texts without a label, with logits 0 and the last text's covariates."""
    return Labelled(
        pad_rows(texts.logits, rows, 0.0),
        pad_rows(texts.labels, rows, -1),
        {name: repeat_rows(column, rows) for name, column in texts.covariates.items()},
    )


def texts_last(logits: Float[np.ndarray, "n *readers K"]) -> Float[np.ndarray, "*readers K n"]:
    """Logits with the axis of the texts at the end, in memory too."""
    return np.ascontiguousarray(np.moveaxis(logits, 0, -1))


def hold_out(labels: Int[np.ndarray, " n"], folds: Int[np.ndarray, " n"]) -> list[np.ndarray]:
    """Labels without each fold in turn: those of the fold are -1.

    Args:
        labels: options of the texts.
        folds: fold of each text, 0..F-1.
    """
    return [np.where(folds == fold, -1, labels) for fold in range(folds.max() + 1)]

"""Labelled texts: as they came, and padded for a compiled program."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from cordial_ppl.data.covariates import as_covariates
from cordial_ppl.data.frames import aligned, check_columns
from cordial_ppl.data.labelling import rank_texts, salt_texts
from cordial_ppl.data.number_table import is_unread
from cordial_ppl.data.readings import Readings
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.runtime.arrays import bucket, pad_rows, repeat_rows

TILE = 32
"""Rows that a program on a CPU computes at a time: how many tiles there are is data, not shape."""

CAPACITY = 2048
"""Rows that there is room for: one program serves any number of labels up to here."""

FEW = 256
"""Rows that show whether many are equal."""

BY_DEFAULT: Any = None
"""Stands for what follows from the number of labels."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of texts, one per row; a text with several labels has several rows.

    Attributes:
        logits: centred logits, nats; with an axis of readers if there are several; NaN for what was
            not read.
        labels: options 0..K-1; -1 for a label that is held out.
        covariates: what else is known of each row, by name.
        weights: what each label counts in the likelihood, positive; by default one.
        texts: which text each row is of, any numbers; by default each row is of another.
        salt: what names of texts were digested with for a file that these are from.
    """

    logits: Float[np.ndarray, "n *readers K"]
    labels: Int[np.ndarray, " n"]
    covariates: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    weights: Float[np.ndarray, " n"] = BY_DEFAULT
    texts: Int[np.ndarray, " n"] = BY_DEFAULT
    salt: str = ""

    def __post_init__(self) -> None:
        """Fill in what is left out."""
        rows, fill = len(self.labels), {"weights": np.ones, "texts": lambda n: -1 - np.arange(n)}
        vars(self).update({k: f(rows) for k, f in fill.items() if vars(self)[k] is None})

    @property
    def ranks(self) -> Int[np.ndarray, " n"]:
        """Number the texts 0..T-1, in the order of their first rows."""
        return rank_texts(self.texts)

    @property
    def count(self) -> int:
        """Return the number of texts T."""
        return len(np.unique(self.texts))

    @property
    def first(self) -> Int[np.ndarray, " T"]:
        """Return the first row of each text, in their order."""
        return np.sort(np.unique(self.texts, return_index=True)[1])

    @property
    def unread(self) -> Bool[np.ndarray, " n"]:
        """Tell rows of texts that were not read: all of their logits are NaN."""
        return is_unread(self.logits)

    @property
    def read(self) -> "Labelled":
        """Return the rows of texts that were read."""
        unread = self.unread
        return self.take(~unread) if unread.any() else self

    @property
    def readers(self) -> int | None:
        """Return the number of readers R; None where logits have no axis of readers."""
        return self.logits.shape[1] if self.logits.ndim == 3 else None

    def take(self, rows: Any) -> "Labelled":
        """Return some of the rows, by position."""
        extra = {name: column[rows] for name, column in self.covariates.items()}
        labels, weights = self.labels[rows], self.weights[rows]
        return Labelled(self.logits[rows], labels, extra, weights, self.texts[rows], self.salt)

    def has(self, texts: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Recognise texts by their names; one without a name, a negative number, never is."""
        return np.isin(salt_texts(texts, self.salt), self.texts[self.texts >= 0])


def find_equal(*columns: Shaped[np.ndarray, "n ..."]) -> tuple[np.ndarray, np.ndarray]:
    """Find rows that stand for all: hard ratings and labels of K options make K x K different ones.

    Args:
        columns: numbers, one row of each.

    Returns:
        Distinct rows by position, and the number of each row among them; all rows, if more than
        half are distinct.
    """
    parts = [np.asarray(part, np.float64).reshape(len(part), -1) for part in columns]
    table = np.ascontiguousarray(np.hstack(parts))
    keys = table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]
    for some in (keys[:FEW], keys):
        _, first, numbers = np.unique(some, return_index=True, return_inverse=True)
        if 2 * len(first) > len(some):
            return np.arange(len(keys)), np.arange(len(keys))
    return first, numbers


def without_labels(
    logits: Float[np.ndarray, "m *readers K"], covariates: Mapping[str, Float[np.ndarray, " m"]]
) -> Labelled:
    """Return texts none of whose labels is seen."""
    count = len(logits)
    return Labelled(logits, np.full(count, -1), covariates, np.zeros(count))


def label_readings(
    values: Any, logits: np.ndarray, labels: Any, scale: Scale, covariates: Any, levels: Any = None
) -> Labelled:
    """Validate labels, one for each row of readings, and covariates.

    Args:
        values: the readings as they came; the rows of pandas are matched by its index.
        logits: the same, validated and centred.
        labels: their options, in their order or with their index.
        scale: the options.
        covariates: per-text covariates, as in ``fit``.
        levels: number of levels of covariates that number something, by name.
    """
    check_columns(values, None, scale.options)
    codes = scale.encode(aligned(values, labels, "labels"))
    if len(codes) != len(logits):
        raise InputError(f"got {len(logits)} rows of logits but {len(codes)} labels.")
    covariates = aligned(values, covariates, "covariates")
    return Labelled(logits, codes, as_covariates(covariates, len(logits), levels=levels))


class Data(NamedTuple):
    """Labelled texts as a compiled program takes them.

    Attributes:
        logits: centred logits, padded to the capacity, nats; texts last, so that loops over them
            are over neighbours in memory.
        labels: their options; -1 for padding and for what is held out.
        weights: what each label counts; zero for padding.
        histogram: smoothed label histogram pi that the channel falls back on.
        covariates: what else is known of each text, by name.
        tiles: how many tiles of rows hold texts.
    """

    logits: Float[Any, "... K rows"]
    labels: Int[Any, "*many rows"]
    weights: Float[Any, "*many rows"]
    histogram: Float[Any, "*many K"]
    covariates: dict[str, Float[Any, "*many rows"]]
    tiles: Int[Any, ""]

    @property
    def readings(self) -> Readings:
        """Return the texts as a channel's model sees them."""
        return Readings(jnp.moveaxis(self.logits, -1, 0), self.histogram, self.covariates)


def pad(
    texts: Labelled, histogram: Float[np.ndarray, " K"], dtype: Any, rows: int | None = None
) -> Data:
    """Pad labelled texts for a compiled program.

    Args:
        texts: the texts.
        histogram: smoothed label histogram.
        dtype: precision that the program works in.
        rows: number of rows; by default 2,048, or four times as many, and so on.
    """
    count = len(texts.labels)
    padded = pad_texts(texts, rows or max(CAPACITY, bucket(count)))
    return Data(
        logits=texts_last(padded.logits.astype(dtype)),
        labels=padded.labels.astype(np.int32),
        weights=padded.weights.astype(dtype),
        histogram=np.asarray(histogram, dtype),
        covariates={name: column.astype(dtype) for name, column in padded.covariates.items()},
        tiles=np.int32(-(-count // TILE)),
    )


def pad_texts(texts: Labelled, rows: int) -> Labelled:
    """Append texts without a label, with logits and weight 0 and the last text's covariates."""
    return Labelled(
        pad_rows(texts.logits, rows, 0.0),
        pad_rows(texts.labels, rows, -1),
        {name: repeat_rows(column, rows) for name, column in texts.covariates.items()},
        pad_rows(texts.weights, rows, 0.0),
        pad_rows(texts.texts, rows, -1),
    )


def texts_last(logits: Float[np.ndarray, "n *readers K"]) -> Float[np.ndarray, "*readers K n"]:
    """Move the axis of the texts to the end of logits, in memory too."""
    return np.ascontiguousarray(np.moveaxis(logits, 0, -1))

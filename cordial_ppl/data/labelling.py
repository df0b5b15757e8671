"""Labels that count differently: weights, and several labels of one text.

A row is a label of a text.  The likelihood of the labels is ``sum_i w_i log p(z_i | x_i)``: a
weight of 2 counts like two labels, a soft label is several rows of one text whose weights sum to
one, and the labels of several annotators share their text.
"""

import hashlib
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.data.containers import as_cells, as_numbers, as_objects, check_count
from cordial_ppl.data.numerals import is_missing
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, quote

LARGEST = 1e4
"""A weight counts labels: nobody has more of one text, and 32 bits hold their sums."""


def rank_texts(texts: Any) -> np.ndarray:
    """Number texts 0..T-1 in the order in which they first occur among rows, ``[n]``."""
    _, first, inverse = np.unique(np.asarray(texts), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def average_ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Rank values from one up; equal ones share the mean of their ranks."""
    order = np.sort(values)
    sides = [np.searchsorted(order, values, side) for side in ("left", "right")]
    return (np.sum(sides, axis=0) + 1) / 2


def sum_at(index: Any, values: Any, shape: tuple[Any, ...]) -> Float[np.ndarray, "..."]:
    """Sum values by the places that they belong to, in an array of zeros of this shape."""
    sums = np.zeros(shape)
    np.add.at(sums, index, values)
    return sums


def sum_by(codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum values by code, 0 and up, which each has in the last axis; codes without any are none."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(values[..., order], starts, -1) if len(starts) else values


def share_text(texts: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    r"""Weigh the labels of several annotators, :math:`w_i = 1 / m` for a text with m labels.

    A text counts as one, however many have labelled it.

    Args:
        texts: which text each label is of.
    """
    ranks = rank_texts(texts)
    return 1.0 / np.bincount(ranks)[ranks]


def as_weights(
    values: Any,
    texts: Int[np.ndarray, " n"],
    cells: tuple[np.ndarray, np.ndarray] | None = None,
    noun: str = "sample_weight",
) -> Float[np.ndarray, " n"]:
    """Validate the weights of labels; where none are given, a text's labels share a weight of one.

    Args:
        values: numbers from 0 up, shape ``[n]``, or None.
        texts: which text each label is of.
        cells: row and column of each label in a table of annotators; the weights are then those of
            its cells, or of its rows, which their labels share.
        noun: what messages call the weights.

    Raises:
        InputError: they are no such numbers, of another length, or all zero.
    """
    if values is None:
        return share_text(texts)
    numbers = as_numbers(values, noun)
    rows = np.arange(len(texts)) if cells is None else cells[0]
    if cells is not None and numbers.ndim == 2:
        if len(numbers) != 1 + rows.max() or numbers.shape[1] <= cells[1].max():
            raise InputError(
                f"a 2-D {noun} must have the same shape as the labels; got {numbers.shape}."
            )
        weights = numbers[cells]
    else:
        check_count(numbers, noun, 1 + int(rows.max()))
        weights = numbers[rows] * share_text(rows)
    if (wrong := np.flatnonzero(~((weights >= 0) & (weights <= LARGEST)))).size:
        raise InputError(
            f"{noun} must be between 0 and {LARGEST:,.0f} (a weight of 1 counts as one "
            f"label); found {weights[wrong[0]]:g} in row {rows[wrong[0]]}."
        )
    if not weights.any():
        raise InputError(f"{noun} must contain a positive weight; found only zeros.")
    return weights


def as_texts(values: Any, rows: int) -> Int[np.ndarray, " n"]:
    """Number the texts that labels are of by a digest of their names.

    Equal names have equal numbers, also in a later call; a whole number is named like its digits.
    Texts without a name are -1, -2, ...

    Args:
        values: which text each label is of, names or whole numbers from 0 up, shape ``[n]``; None
            where each is of another.
        rows: number of labels n.

    Raises:
        InputError: they are no such names, or of another length.
    """
    if values is None:
        return -1 - np.arange(rows)
    names = as_cells(values, "text names", rows).tolist()
    for row, name in enumerate(names):
        if is_missing(name) or not isinstance(name, str | int):
            raise InputError(
                f"texts must be names or whole numbers; found {quote(name)} in row {row}."
            )
        if isinstance(name, int) and name < 0:
            raise InputError(f"a whole-number text id must be 0 or above; found {quote(name)}.")
    # An accent may be a character of its own in one file, and part of its letter in the other.
    return np.array([_digest(normalize("NFC", str(name))) for name in names], np.int64)


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 2


def salt_texts(texts: Int[np.ndarray, " n"], salt: str) -> Int[np.ndarray, " n"]:
    """Digest numbers of texts with a salt, as files do; those without a name stay.

    Args:
        texts: numbers of texts, from :func:`as_texts`.
        salt: what only one file has; empty, all of them stay.
    """
    named = [text if text < 0 or not salt else _digest(f"{salt} {text}") for text in texts.tolist()]
    return np.array(named, np.int64)


class TextLabels(NamedTuple):
    """The labels of each of T texts, in the order of their first rows.

    Attributes:
        first: the first row of each.
        shares: share of each option among its labels, by weight; rows sum to one.
        weights: sum of its labels' weights.
    """

    first: Int[np.ndarray, " T"]
    shares: Float[np.ndarray, "T K"]
    weights: Float[np.ndarray, " T"]

    @property
    def effective(self) -> float:
        r"""Compute how many equal texts say as much, :math:`(\sum_i w_i)^2 / \sum_i w_i^2`."""
        # Rounding of equal weights is no difference, and squares of large ones are too large.
        return round(float(1 / np.sum((self.weights / self.weights.sum()) ** 2)), 6)

    @property
    def alike(self) -> bool:
        """Return whether all labels are of one option, so that nothing can be learned."""
        return bool(np.count_nonzero(self.shares.sum(axis=0)) == 1)


def by_text(
    labels: Int[np.ndarray, " n"],
    size: int,
    weights: Float[np.ndarray, " n"] | None = None,
    texts: Int[np.ndarray, " n"] | None = None,
) -> TextLabels:
    """Collect the labels of each text.

    Args:
        labels: positions on the scale.
        size: number of options K.
        weights: what each label counts; one by default.
        texts: which text each is of; by default each of another.
    """
    counted = np.ones(len(labels)) if weights is None else weights
    ranks = np.arange(len(labels)) if texts is None else rank_texts(texts)
    first = np.sort(np.unique(ranks, return_index=True)[1])
    sums = sum_at((ranks, labels), counted, (len(first), size))
    totals = sums.sum(axis=1)
    return TextLabels(first, sums / totals[:, None], totals)


def have_several(labels: Any) -> bool:
    """Return whether labels have a row per text and a column per annotator, ``[n, m]``."""
    shape = getattr(labels, "shape", None)
    if shape is not None:
        return len(shape) == 2
    first = next(iter(labels), None) if isinstance(labels, list | tuple) else None
    return isinstance(first, list | tuple | np.ndarray)


def list_labels(
    labels: Any, scale: Scale
) -> tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " rows"], Int[np.ndarray, " rows"]]:
    """List the labels of several annotators one by one, text by text.

    Args:
        labels: a row per text and a column per annotator; None, NaN, an empty cell, or -1 where
            that is no option, for a label that is missing.
        scale: the K options.

    Returns:
        Positions on the scale, and the row and column of each.

    Raises:
        InputError: a label is no option, a text has none, rows differ in length, or are one-hot.
    """
    cells = as_objects(labels)
    if cells.ndim != 2:
        raise InputError(
            "labels must have the shape [n], or [n, annotators] with rows of equal length and None "
            "for a missing label."
        )
    minus = not {"-1", "-1.0"} & set(scale.options)

    def is_absent(cell: Any) -> bool:
        return is_missing(cell) or (minus and np.isscalar(cell) and cell == -1)

    there = ~np.vectorize(is_absent, [bool])(cells)
    if (empty := np.flatnonzero(~there.any(axis=1))).size:
        raise InputError(f"every text needs at least one label; row {empty[0]} has no label.")
    rows, columns = np.nonzero(there)
    codes = scale.encode(
        cells[rows, columns].tolist(), where=lambda i: f"row {rows[i]}, column {columns[i]}"
    )
    hot = np.eye(scale.size)[[-1] * len(cells)]
    if len(hot) > 2 and there.all() and np.array_equal(np.sort(codes.reshape(cells.shape)), hot):
        raise InputError("labels are one-hot rows. Pass labels.argmax(axis=1) instead.")
    return codes, rows, columns

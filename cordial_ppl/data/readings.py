"""Readings: what a reader (an LLM judge) says of each text, as centred logits.

Adding a constant to the logits of a row changes nothing, so rows are centred to mean 0.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int

from cordial_ppl.data.containers import as_numbers
from cordial_ppl.data.number_table import GIVEN, NumberTable, Source, is_unread
from cordial_ppl.errors import InputError, name_rows, warn

SURE = 8
"""Rows from which on logits that all look like probabilities are no coincidence."""


class Readings(NamedTuple):
    """What a channel model sees of the texts (a pytree).

    Attributes:
        logits: centred logits, [n, K], or [n, R, K] for R judges (nats); NaN for all K options of a
            judge that did not rate the text.
        histogram: smoothed share of each label, [K].
        covariates: values per text by name, [n] each.
    """

    logits: Float[Any, "n *readers K"]
    histogram: Float[Any, " K"]
    covariates: dict[str, Float[Any, " n"]] = {}


def as_logits(
    values: Any, *, size: int | None = None, source: Source = GIVEN, gaps: bool = False
) -> Float64[np.ndarray, "n K"]:
    """Validate logits and centre each row to mean 0: l_k - (1/K) sum_j l_j.

    An option with logit -inf, or masked more than 1,000 nats below the largest, was not read: it
    gets the smallest value of its row that was, and one warning counts them. If only one option was
    read, the others are put log(1e-4) below it. Logits that look like probabilities are warned of.

    Args:
        values: logits or log-probabilities [n, K] (nats): NumPy, JAX, pandas, polars or lists.
        size: number of options K expected, if known.
        source: where the values come from.
        gaps: whether a row of NaN is a text that was not read, and stays one.

    Returns:
        Centred finite logits [n, K]; NaN for a text that was not read.

    Raises:
        InputError: the values are not a table of numbers with n >= 1 and K >= 2 (or K = `size`), a
            value is NaN or +inf, or a row is -inf throughout.
    """
    table = NumberTable(values, "logits", source, size, gaps)
    numbers = table.numbers
    inside = len(numbers) >= SURE and numbers.min() >= 0 and numbers.max() <= 1
    if inside and np.allclose(numbers.sum(axis=1), 1):
        warn(
            "the logits of every text lie between 0 and 1 and sum to one. If they are "
            "probabilities, use readings_from_probabilities, or name the columns p_OPTION."
        )
    # Sums round by their order in memory, and a data frame is stored column by column.
    logits = np.ascontiguousarray(table.floor(numbers))
    return table.spread(logits - logits.mean(axis=1, keepdims=True))


def as_logits_of_readers(
    values: Any,
    *,
    readers: Sequence[str] | None = None,
    size: int | None = None,
    gaps: bool = False,
) -> Float64[np.ndarray, "n R K"]:
    """Validate the logits of several readers and centre them, each reader and text to mean 0.

    Args:
        values: logits [n, R, K] (nats); NaN for all K options of a reader that has not read a text.
        readers: names of the R readers for messages; by default their positions.
        size: number of options K expected, if known.
        gaps: whether a text may be one that no reader has read.

    Returns:
        Centred logits [n, R, K], NaN where a reading is missing.

    Raises:
        InputError: the values have another shape, a text has no reading at all or only part of one,
            or a reading is invalid; the message names the reader and the text.
    """
    table = as_numbers(values, "logits")
    if table.ndim != 3 or not table.size:
        hint = " For one judge, add an axis: logits[:, None]." if table.ndim == 2 else ""
        raise InputError(f"logits must have shape [n, R, K]; found {list(table.shape)}.{hint}")
    names = readers or name_readers(table.shape[1])
    if len(names) != table.shape[1]:
        raise InputError(
            f"logits must cover {len(names)} judges ({', '.join(names)}); found {table.shape[1]}."
        )
    if (unread := np.flatnonzero(is_unread(table))).size and not gaps:
        raise InputError(f"every text needs a reading; no judge rated {name_rows(unread)}.")
    for number, name in enumerate(names):
        source = Source(lambda row, name=name: f"row {row} of {name!r}")
        table[:, number] = as_logits(table[:, number], size=size, source=source, gaps=True)
    return table


def name_readers(count: int) -> tuple[str, ...]:
    """Name readers by default: "reader 0" ...."""
    return tuple(f"reader {number}" for number in range(count))


def label_histogram(
    labels: Int[Any, " n"], size: int, weights: Float[np.ndarray, " n"] | None = None
) -> Float64[np.ndarray, " K"]:
    """Compute the share of each label, (count_k + 1) / (n + K), n the sum of weights.

    Args:
        labels: positions 0..K-1, [n]; others (a padded -1) are not counted.
        size: number of options K.
        weights: what each label counts; one by default.
    """
    hits = np.asarray(labels)[:, None] == np.arange(size)
    counts = (hits if weights is None else hits * weights[:, None]).sum(axis=0) + 1.0
    return counts / counts.sum()

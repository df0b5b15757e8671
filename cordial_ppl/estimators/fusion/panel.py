"""Readings by several readers: one array of logits, in which a missing reading is NaN."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.data.containers import as_numbers
from cordial_ppl.data.frames import aligned, check_columns, column_names
from cordial_ppl.data.readings import as_logits_of_readers, name_readers
from cordial_ppl.errors import InputError, naming


def as_reader_logits(
    values: Any, readers: Sequence[str] | None = None, size: int | None = None
) -> tuple[Float[np.ndarray, "n R K"], tuple[str, ...]]:
    """Validate the logits of several readers, and centre them for each reader and text.

    Args:
        values: an array ``[n, R, K]``, or a mapping from readers to arrays ``[n, K]``; a reader
            that has not read a text has NaN for all K options, and one that has read none may be
            absent from the mapping.
        readers: the readers' names, in order; by default those of the mapping, or "reader 0" ....
        size: number of options K, if known.

    Returns:
        Centred logits, NaN where a reading is missing, and the readers' names.

    Raises:
        InputError: the values have another shape or other readers, a text has no reading or only
            part of one, or a reading is invalid; the message names the reader and the text.
    """
    if isinstance(values, Mapping):
        readers = tuple(map(str, values if readers is None else readers))
        tables: dict[str, np.ndarray] = {}
        for name, table in values.items():
            noun = f"logits of {name!r}"
            tables[str(name)] = as_numbers(aligned(values, table, noun), noun)
        if not tables or not tables.keys() <= set(readers):
            expected, received = ", ".join(readers) or "there are", ", ".join(tables) or "none"
            raise InputError(f"logits must be those of the readers {expected}; found {received}.")
        shapes = {name: table.shape for name, table in tables.items()}
        if {len(shape) for shape in shapes.values()} != {2} or len(set(shapes.values())) > 1:
            received = ", ".join(f"{list(shape)} of {name!r}" for name, shape in shapes.items())
            raise InputError(f"the readers' logits must have one shape [n, K]; found {received}.")
        unread = np.full(shapes.popitem()[1], np.nan)
        values = np.stack([tables.get(name, unread) for name in readers], axis=1)
    logits = as_logits_of_readers(values, readers=readers, size=size)
    return logits, tuple(readers or name_readers(logits.shape[1]))


def check_frames(values: Any, options: Sequence[str]) -> tuple[str, ...]:
    """Refuse readers' data frames whose columns are not in one order, that of the options.

    Args:
        values: logits as for ``as_reader_logits``; only data frames in a mapping are checked.
        options: the options, after which columns may be named: "logit_1", or "1".

    Returns:
        The columns' names for the options, which later data frames must have; ``options`` if
        there is no data frame.

    Raises:
        InputError: a data frame has another order; the message names the reader.
    """
    for name, table in values.items() if isinstance(values, Mapping) else ():
        with naming(f"reader {name!r}"):
            check_columns(table, None, options)
        columns = column_names(table)
        if columns is not None:
            options = tuple(column.rpartition("_")[2] for column in columns)
    return tuple(options)


def read_by(logits: Float[np.ndarray, "n R K"]) -> Bool[np.ndarray, "n R"]:
    """Tell which texts each reader has read."""
    return ~np.isnan(logits[:, :, 0])


def find_spreads(logits: Float[np.ndarray, "n R K"]) -> Float[np.ndarray, " R"]:
    """Compute the standard deviation of each reader's logits; 1 of one whose logits are all 0."""
    spreads = np.nanstd(logits, axis=(0, 2))
    return np.where(spreads > 0, spreads, 1.0)


def pool(
    logits: Float[np.ndarray, "n R K"],
    spreads: Float[np.ndarray, " R"],
    trust: Float[np.ndarray, " R"],
) -> Float[np.ndarray, "n K"]:
    r"""Average logits over the readers of each text, in units of their spreads.

    .. math:: \bar\ell = \bar\sigma\,
        \frac{\sum_{r \in R(x)} t_r\, \ell_r / \sigma_r}{\sum_{r \in R(x)} t_r}

    Args:
        logits: centred logits, NaN where a reading is missing.
        spreads: spread of each reader's logits.
        trust: t, the weight of each reader, positive.
    """
    weights = read_by(logits) * trust[None]
    total = np.einsum("nr,nrk->nk", weights / spreads[None], np.nan_to_num(logits))
    return total / weights.sum(axis=1)[:, None] * spreads.mean()

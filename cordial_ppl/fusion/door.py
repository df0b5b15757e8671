"""The door of several readers: one array of logits, in which a missing reading is NaN."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.containers import as_numbers
from cordial_ppl.errors import CordialWarning, InputError
from cordial_ppl.readings import as_logits_of_readers, name_readers


def as_reader_logits(
    values: Any, readers: Sequence[str] | None = None, size: int | None = None
) -> tuple[Float[np.ndarray, "n R K"], tuple[str, ...]]:
    """Check the logits of several readers and centre them, each reader and text to mean 0.

    Args:
        values: an array ``[n, R, K]``, or one ``[n, K]`` a reader by name; a reader that has not
            read a text has NaN for all K options, and one that has read none need not be named.
        readers: the readers' names, in order; by default those of the mapping, or "reader 0" ....
        size: number of options K expected, if known.

    Returns:
        Centred logits, NaN where a reading is missing, and the readers' names.

    Raises:
        InputError: the values have another shape or other readers, a text has no reading at all or
            only part of one, or a reading is none; the message names the reader and the text.
    """
    if isinstance(values, Mapping):
        values, readers = _stack(values, readers)
    table = as_logits_of_readers(values, readers=readers, size=size)
    return table, tuple(readers or name_readers(table.shape[1]))


def read_by(logits: Float[np.ndarray, "n R K"]) -> Bool[np.ndarray, "n R"]:
    """Which readers have read which texts."""
    return ~np.isnan(logits[:, :, 0])


def pool(
    logits: Float[np.ndarray, "n R K"], scales: Float[np.ndarray, " R"]
) -> Float[np.ndarray, "n K"]:
    r"""Average logits of the readers of each text, in units of their spreads.

    .. math:: \bar\ell = \bar\sigma\, \frac{1}{|R(x)|} \sum_{r \in R(x)} \ell_r / \sigma_r

    Args:
        logits: centred logits, NaN where a reading is missing.
        scales: spread of each reader's logits.
    """
    return np.nanmean(logits / scales[None, :, None], axis=1) * scales.mean()


def check_names(readers: Sequence[str], taken: Collection[str]) -> None:
    """Refuse readers of one name, or of a name that is taken."""
    doubled = [name for name in readers if readers.count(name) > 1]
    if doubled:
        raise InputError(f"readers must have different names; {doubled[0]!r} occurs twice.")
    wrong = [name for name in readers if name in taken]
    if wrong:
        raise InputError(f"no reader can be called {wrong[0]!r}: rename it.")


def check_overlap(present: Bool[np.ndarray, "n R"], readers: Sequence[str]) -> None:
    """Refuse a reader without a labelled text; warn of two that share none."""
    idle = [name for name, own in zip(readers, present.T, strict=True) if not own.any()]
    if idle:
        raise InputError(
            f"every reader needs a reading of a labelled text; {idle[0]!r} has none. Leave it out, "
            "or have it read texts that are labelled."
        )
    apart = [
        (readers[one], readers[other])
        for one, other in combinations(range(len(readers)), 2)
        if not (present[:, one] & present[:, other]).any()
    ]
    if apart:
        more = f" (nor {len(apart) - 1} more pairs)" if len(apart) > 1 else ""
        warnings.warn(
            f"the readers {apart[0][0]!r} and {apart[0][1]!r}{more} have read no labelled text in "
            "common: their weights compare them on different texts.",
            CordialWarning,
            stacklevel=5,
        )


def _stack(
    values: Mapping[str, Any], readers: Sequence[str] | None
) -> tuple[Float[np.ndarray, "n R K"], tuple[str, ...]]:
    names = tuple(map(str, values if readers is None else readers))
    try:
        tables = {str(name): as_numbers(own) for name, own in values.items()}
    except ValueError as error:
        raise InputError(f"logits of each reader must be numbers [n, K]: {error}.") from error
    if not tables.keys() <= set(names):
        raise InputError(
            f"logits must be those of the readers {', '.join(names)}; found {', '.join(tables)}."
        )
    first = next(iter(tables), None)
    if first is None:
        raise InputError("logits must be those of at least one reader; found none.")
    for name, table in tables.items():
        if table.ndim != 2 or table.shape != tables[first].shape:
            raise InputError(
                "the readers' logits must have one shape [n, K]; that of "
                f"{name!r} is {list(table.shape)}, that of {first!r} {list(tables[first].shape)}."
            )
    unread = np.full_like(tables[first], np.nan)
    return np.stack([tables.get(name, unread) for name in names], axis=1), names

"""Readings by several readers: one array of logits, in which a missing reading is NaN.

Their average trusts each of them as far as it says something: a reader of noise would spoil it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from cordial_ppl.data.containers import as_numbers
from cordial_ppl.data.frames import aligned, check_columns, column_names
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import as_logits_of_readers, name_readers
from cordial_ppl.errors import InputError, naming
from cordial_ppl.runtime.arrays import FLOOR
from cordial_ppl.stack.stacking import LEAST_ERROR, MIN_LABELS
from cordial_ppl.stack.weighing import stated

AGREEMENT, SPREAD = 0.6, 0.3
"""Mean and standard deviation of Fisher's z between readers that read the same thing."""

PRIOR_LOG_ODDS = -1.5
"""Of a reader that is worse than the best, to read anything; chosen on the readings of
``benchmarks/fusion.py``."""

LEAST_TRUST = 0.001
"""Of texts that no other reader has read, the average is the reader that nobody trusts."""


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
        InputError: the values have another shape or other readers, or a reading is invalid or in
            part missing; the message names the reader and the text.
    """
    if isinstance(values, Mapping):
        readers = tuple(map(str, values if readers is None else readers))
        tables: dict[str, np.ndarray] = {}
        for name, table in values.items():
            noun = f"logits of {name!r}"
            tables[str(name)] = as_numbers(aligned(values, table, noun), noun)
        if not tables or not tables.keys() <= set(readers):
            expected, received = ", ".join(readers) or "a reader", ", ".join(tables) or "none"
            raise InputError(f"logits must contain readings from {expected}; got {received}.")
        shapes = {name: table.shape for name, table in tables.items()}
        if {len(shape) for shape in shapes.values()} != {2} or len(set(shapes.values())) > 1:
            received = ", ".join(f"{list(shape)} of {name!r}" for name, shape in shapes.items())
            raise InputError(
                f"the logits of all judges must have the same shape [n, K]; got {received}."
            )
        unread = np.full(shapes.popitem()[1], np.nan)
        values = np.stack([tables.get(name, unread) for name in readers], axis=1)
    logits = as_logits_of_readers(values, readers=readers, size=size, gaps=True)
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
        if (columns := column_names(table)) is not None:
            options = tuple(columns)
    return tuple(options)


def read_by(logits: Float[np.ndarray, "n R K"]) -> Bool[np.ndarray, "n R"]:
    """Tell which texts each reader has read."""
    return ~np.isnan(logits[:, :, 0])


def find_spreads(texts: Labelled) -> Float[np.ndarray, " R"]:
    """Compute the standard deviation of each reader's logits; 1 of one whose logits are all 0.

    A text counts once, however many labels it has.
    """
    spreads = np.nanstd(texts.logits[texts.first], axis=(0, 2))
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


def trust_readers(
    texts: Labelled, held_out: Float[np.ndarray, "n K R"], present: Bool[np.ndarray, "n R"]
) -> Float[np.ndarray, " R"]:
    r"""Weigh readers for their average by their losses and by their agreement with the best one.

    .. math:: \min\Bigl(1,\; e^{-1.5 - \max(z_r, 0)^2 / 2}\,
        \frac{\mathrm{N}(f_r; 0.6, v + 0.09)}{\mathrm{N}(f_r; 0, v)}\Bigr), \qquad
        z_r = \frac{\bar d_r}{\mathrm{se}(d_r) + 0.01}, \quad v = \frac{1}{n - 3}

    Here d is by how much the out-of-fold loss of a reader's stack exceeds that of the best one, and
    f Fisher's z, the inverse hyperbolic tangent of the correlation of the positions that the two
    state, or 0 if that is negative.  A reader that agrees with the best one, or predicts as well,
    is averaged; one of noise hardly, where the labels tell.  The best one has the largest log
    likelihood, out of fold, plus the log of that ratio for its correlation with the labels, which
    few labels tell sooner.

    Args:
        texts: the labelled texts, with the readings of all readers.
        held_out: probabilities by each reader's stack, out of fold.
        present: which of these there are.

    Returns:
        Weights between 0.001 and 1, of the best reader 1; 1 of readers that share fewer than eight
        labelled texts with it.
    """
    options = np.arange(texts.logits.shape[2])
    logs = np.log(np.maximum(held_out[np.arange(len(texts.labels)), texts.labels], FLOOR))
    trust, evidence = np.ones(present.shape[1]), np.full(present.shape[1], -np.inf)

    def position_of(part: Labelled, reader: int) -> np.ndarray:
        return stated(part.logits[:, reader]) @ options

    parts = {reader: texts.take(seen) for reader, seen in enumerate(present.T)}
    enough = {reader: part for reader, part in parts.items() if part.count >= MIN_LABELS}
    fewest = min((part.count for part in enough.values()), default=0)
    for reader, part in enough.items():
        mean = np.average(logs[present[:, reader], reader], weights=part.weights)
        evidence[reader] = fewest * mean + _relation(part, position_of(part, reader), part.labels)
    best = int(np.argmax(evidence))
    for reader in range(len(trust)):
        both = present[:, reader] & present[:, best]
        part = texts.take(both)
        if reader == best or part.count < MIN_LABELS:
            continue
        share, excess = part.weights / part.weights.sum(), logs[both, best] - logs[both, reader]
        mean = share @ excess
        # What is said of one text goes together.
        apart = np.bincount(part.ranks, share * (excess - mean))
        score = max(mean / (math.sqrt(apart @ apart) + LEAST_ERROR), 0.0)
        log_odds = PRIOR_LOG_ODDS - score**2 / 2
        log_odds += _relation(part, position_of(part, best), position_of(part, reader))
        trust[reader] = max(math.exp(min(log_odds, 0.0)), LEAST_TRUST)
    return trust


def _relation(texts: Labelled, first: np.ndarray, second: np.ndarray) -> float:
    """Compute the log density ratio of a correlation: of what is related against what is not."""
    (one, both_vary), (_, other) = np.cov(first, second, aweights=texts.weights)
    alike = both_vary / math.sqrt(one * other) if one * other > 0 else 0.0
    f, v = math.atanh(min(max(alike, 0.0), 0.99)), 1 / (texts.count - 3)
    wide = v + SPREAD**2
    return (math.log(v / wide) - (f - AGREEMENT) ** 2 / wide + f**2 / v) / 2

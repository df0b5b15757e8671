"""Credible intervals of a text's expected position on the scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.arrays import CHUNK_ROWS
from cordial_ppl.inference.posterior import Posterior

CHUNK = 128
"""Texts whose draws are sorted at a time: they fit a core's own cache."""

ROUNDING = 1e-9
"""Share of the weight that a quantile may fall short of its own: what sums in 64 bits may lose."""


def mean_interval(
    members: Sequence[tuple[Any, Float[np.ndarray, "m ..."]]],
    shares: Float[np.ndarray, "m M"],
    covariates: Mapping[str, np.ndarray],
    values: Float[np.ndarray, " K"],
    level: float,
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Quantiles of the expected position over members and over the draws of each channel.

    A channel contributes the draws that it predicts with, a calibrator its one answer, each with
    the member's weight.

    Args:
        members: fitted members, each with the validated, centred readings that it sees.
        shares: weight of each member in each text's mixture.
        covariates: per-text covariates.
        values: position of each option.
        level: probability inside the interval.

    Returns:
        Lower and upper ends.
    """
    used = [member for member, own in zip(members, shares.T, strict=True) if own.any()]
    shares = shares[:, shares.any(axis=0)]
    weights = [fit.kept[1] if isinstance(fit, Posterior) else np.ones(1) for fit, _ in used]
    found = []
    for start in range(0, len(shares), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        extra = {name: column[rows] for name, column in covariates.items()}
        means = [
            fit.expected(logits[rows], extra, values)
            if isinstance(fit, Posterior)
            else (fit.predict_centred(logits[rows], extra) @ values)[None]
            for fit, logits in used
        ]
        found.append(quantiles(means, weights, shares[rows], level))
    low, high = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return low, high


def quantiles(
    means: Sequence[Float[np.ndarray, "_ m"]],
    weights: Sequence[Float[np.ndarray, " _"]],
    shares: Float[np.ndarray, "*m M"],
    level: float,
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    r"""Two quantiles of each text, over all draws of all members.

    .. math:: \inf \{ x : \sum_j \omega_j \sum_d w_{jd}\, [\mu_{jd} \le x] \ge \alpha \},
       \qquad \alpha = (1 \mp \mathrm{level}) / 2

    Values nearer to each other than a millionth of their range count as alike.

    Args:
        means: what each draw of a member says of each text, ``[D_j, m]`` for member j; a
            calibrator, which has one answer, has one draw.
        weights: of the draws of each member, ``[D_j]``.
        shares: weight of each member, or of each member in each text's mixture.
        level: probability between the two.

    Returns:
        Lower and upper quantiles.
    """
    counts = [len(each) for each in weights]
    own, member = np.concatenate(weights), np.repeat(np.arange(len(counts)), counts)
    texts, total = means[0].shape[1], len(own)
    bits, numbers = total.bit_length(), np.arange(total, dtype=np.int32)
    low = min(each.min(initial=np.inf) for each in means)
    length = max(each.max(initial=-np.inf) for each in means) - low
    steps = (2 ** (31 - bits) - 128) / (length or 1.0)
    found = np.empty((2, texts))
    for start in range(0, texts, CHUNK):
        rows = slice(start, min(start + CHUNK, texts))
        part = np.empty((rows.stop - start, total), np.float32)
        np.concatenate([each[:, rows] for each in means], out=part.T, casting="same_kind")
        # A value's place in the range, and in the last bits the number of its draw: to sort whole
        # numbers takes a sixth of the time that it takes to find an order.
        keys = ((part - low) * steps).astype(np.int32)
        keys <<= bits
        keys |= numbers
        keys.sort(axis=1)
        order = (keys & (2**bits - 1)).astype(np.intp)
        if shares.ndim == 1:
            mass = (own * shares[member]).take(order)
        else:
            mass = own.take(order) * np.take_along_axis(shares[rows], member[order], axis=1)
        below = mass.cumsum(axis=1)
        for ends, end in zip(found, ((1 - level) / 2, (1 + level) / 2), strict=True):
            enough = below >= (end - ROUNDING) * below[:, -1:]
            draw = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
            ends[rows] = np.take_along_axis(part, draw, axis=1)[:, 0]
    return found[0], found[1]

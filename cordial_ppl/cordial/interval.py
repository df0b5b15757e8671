"""Credible intervals of a text's expected position on the scale."""

from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import add
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.arrays import chunks, pad_rows, repeat_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

DRAWS = 100

CHUNK = 128
"""Texts whose draws are sorted at a time: they fit a core's own cache."""

ROUNDING = 1e-9
"""Share of the weight that a quantile may fall short of its own: what sums in 64 bits may lose."""


def mean_interval(
    members: Sequence[tuple[Any, Float[np.ndarray, "m ..."]]],
    shares: Float[np.ndarray, "m M"],
    covariates: dict[str, np.ndarray],
    values: Float[np.ndarray, " K"],
    level: float,
    seed: int,
    draws: int = DRAWS,
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Quantiles of the expected position over members and over the draws of each channel.

    A channel contributes draws from its posterior, a calibrator its one answer, each with the
    member's weight.

    Args:
        members: fitted members, each with the validated, centred readings that it sees.
        shares: weight of each member in each text's mixture.
        covariates: per-text covariates.
        values: position of each option.
        level: probability inside the interval.
        seed: seed of the choice of draws.
        draws: how many draws of each channel's posterior.

    Returns:
        Lower and upper ends.
    """
    rng = np.random.default_rng(seed)
    used = np.flatnonzero(shares.any(axis=0)).tolist()
    means = []
    for m in used:
        fit, logits = members[m]
        if isinstance(fit, Posterior):
            chosen = fit.draws[_systematic(rng, fit.weights, draws)]
            means.append(_expected(fit, chosen, logits, covariates, values))
        else:
            probs = fit.predict_centred(logits, covariates, dtype="float64")
            means.append((probs @ values)[None])
    weights = [np.full(len(each), 1 / len(each)) for each in means]
    return quantiles(means, weights, shares[:, used], level)


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


def _systematic(rng: np.random.Generator, weights: np.ndarray, draws: int) -> np.ndarray:
    points = (np.arange(draws) + rng.random()) / draws
    return np.minimum(np.searchsorted(np.cumsum(weights), points), len(weights) - 1)


def _expected(
    fit: Posterior,
    draws: Float[np.ndarray, "D P"],
    logits: Float[np.ndarray, "m ..."],
    covariates: dict[str, np.ndarray],
    values: Float[np.ndarray, " K"],
) -> Float[np.ndarray, "D m"]:
    """Expected position of each text under each draw of a channel."""
    run, parts = _channel_means(fit.target), []
    histogram, places = fit.histogram.astype(np.float32), values.astype(np.float32)
    with jax.enable_x64(True):
        for rows, size in chunks(len(logits)):
            extra = {
                name: repeat_rows(column[rows].astype(np.float32), size)
                for name, column in covariates.items()
            }
            padded = pad_rows(logits[rows].astype(np.float32), size, 0.0)
            means = run(draws.astype(np.float32), Readings(padded, histogram, extra), places)
            parts.append(np.asarray(means)[:, : len(logits[rows])])
    return np.concatenate(parts, axis=1)


@lru_cache(maxsize=256)
def _channel_means(target: Target):
    def run(draws: Any, readings: Readings, values: Any) -> Float[Array, "S n"]:
        def mean(draw: Array) -> Float[Array, " n"]:
            probs = target.probs(draw, readings).astype(values.dtype)
            # Written out: a channel computes its options one by one, and a product with a vector
            # would put them together again for every text and draw.
            return reduce(add, [value * probs[:, k] for k, value in enumerate(values)])

        return jax.lax.map(mean, draws, batch_size=None if _on_cpu() else 20)

    return compiled(run)


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"

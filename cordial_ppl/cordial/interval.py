"""Credible intervals of a text's expected position on the scale."""

from collections.abc import Sequence
from functools import lru_cache, reduce
from math import gcd
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from cordial_ppl.arrays import chunks, pad_rows, repeat_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

DRAWS = 100

TILE = 128
"""Texts whose quantiles are searched at a time: all their draws fit a core's own cache."""

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
    chosen = {
        m: fit.draws[_systematic(rng, fit.weights, draws)].astype(np.float32)
        for m in used
        if isinstance(fit := members[m][0], Posterior)
    }
    counts = np.array([draws if m in chosen else 1 for m in used])
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    places = values.astype(np.float32)
    parts = []
    with jax.enable_x64(True):
        for rows, size in chunks(len(shares)):
            extra = {
                name: repeat_rows(column[rows].astype(np.float32), size)
                for name, column in covariates.items()
            }
            means = []
            for m in used:
                fit, logits = members[m][0], members[m][1][rows]
                if m in chosen:
                    padded = pad_rows(logits.astype(np.float32), size, 0.0)
                    readings = Readings(padded, fit.histogram.astype(np.float32), extra)
                    means.append(_channel_means(fit.target)(chosen[m], readings, places))
                else:
                    mean = fit.predict_centred(logits, extra) @ values
                    means.append(pad_rows(mean.astype(np.float32)[:, None], size, 0.0).T)
            own = pad_rows(shares[rows][:, used] / counts, size, 1.0)
            found = _quantiles(tuple(means), own, ends)
            parts.append(np.asarray(found)[:, : len(shares[rows])])
    low, high = np.concatenate(parts, axis=1).astype(np.float64)
    return low, high


def _systematic(rng: np.random.Generator, weights: np.ndarray, draws: int) -> np.ndarray:
    points = (np.arange(draws) + rng.random()) / draws
    return np.minimum(np.searchsorted(np.cumsum(weights), points), len(weights) - 1)


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


@compiled
def _quantiles(
    means: tuple[Any, ...], shares: Float[Any, "n M"], ends: Float[Any, " E"]
) -> Float[Array, "E n"]:
    """Weighted quantiles of each text, over all draws of all members.

    Args:
        means: what each draw of each member says, ``[S_m, n]`` for member m.
        shares: weight of each draw of a member.
        ends: probabilities at which to take quantiles.

    Returns:
        The least of the values at or below which there is this share of the weight.
    """
    # An accelerator takes all texts at once.
    tile = gcd(len(shares), TILE) if _on_cpu() else len(shares)

    def tiled(rows: Any) -> Float[Array, "tiles R tile"]:
        return jnp.asarray(rows).reshape(len(rows), -1, tile).swapaxes(0, 1)

    def search(part: tuple[list[Array], Array]) -> Float[Array, "E tile"]:
        return _bisect([_to_ranks(rows) for rows in part[0]], part[1], ends)

    found = jax.lax.map(search, ([tiled(rows) for rows in means], tiled(shares.T)))
    return found.swapaxes(0, 1).reshape(len(ends), -1)


def _bisect(
    members: list[Int[Array, "_ n"]], shares: Float[Array, "M n"], ends: Float[Array, " E"]
) -> Float[Array, "E n"]:
    """Search the quantiles bit by bit: to sort all draws takes thirty times as long."""
    whole = reduce(add, [share * len(rows) for rows, share in zip(members, shares, strict=True)])
    least = reduce(jnp.minimum, [jnp.min(rows, axis=0) for rows in members])
    most = reduce(jnp.maximum, [jnp.max(rows, axis=0) for rows in members])

    def weight(limit: Array) -> Array:
        counts = [_count(rows, limit).astype(shares.dtype) for rows in members]
        return reduce(add, [share * count for share, count in zip(shares, counts, strict=True)])

    def quantile(end: Array) -> Array:
        # Half the draws of one member weigh one half, however their sum is rounded.
        wanted = (end - ROUNDING) * whole

        def halve(bounds: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = bounds
            middle = (low & high) + ((low ^ high) >> 1)
            enough = weight(middle) >= wanted
            return jnp.where(enough, low, middle + 1), jnp.where(enough, middle, high)

        bounds = jax.lax.while_loop(lambda b: jnp.any(b[0] < b[1]), halve, (least, most))
        return _from_ranks(bounds[1])

    return jnp.stack([quantile(end) for end in ends])


def _count(rows: Int[Array, "S n"], limit: Int[Array, " n"]) -> Int[Array, " n"]:
    """How many numbers of each column are no larger than its limit."""

    def step(count: Array, row: Array) -> tuple[Array, None]:
        return count + (row <= limit).astype(count.dtype), None

    # Written out, sums of a few rows stay in a core's registers; much longer ones do not.
    unroll = min(10, len(rows)) if _on_cpu() else len(rows)
    return jax.lax.scan(step, jnp.zeros(limit.shape, jnp.int32), rows, unroll=unroll)[0]


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def _to_ranks(numbers: Float[Array, "..."]) -> Int[Array, "..."]:
    """Whole numbers in the order of 32-bit numbers: their bits, those of negative ones turned."""
    return _turn(jax.lax.bitcast_convert_type(numbers, jnp.int32))


def _from_ranks(ranks: Int[Array, "..."]) -> Float[Array, "..."]:
    return jax.lax.bitcast_convert_type(_turn(ranks), jnp.float32)


def _turn(bits: Int[Array, "..."]) -> Int[Array, "..."]:
    return jnp.where(bits < 0, bits ^ 0x7FFFFFFF, bits)

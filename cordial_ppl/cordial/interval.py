"""Credible intervals of a text's expected position on the scale."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.arrays import chunks, pad_rows, repeat_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

DRAWS = 100


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
    place = np.repeat(np.arange(len(used)), counts)
    ends = np.array([(1 - level) / 2, (1 + level) / 2], np.float32)
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
                    run = _channel_means(fit.target)
                    means.append(run(chosen[m], readings, values.astype(np.float32)))
                else:
                    mean = fit.predict_centred(logits, extra, dtype="float64") @ values
                    means.append(pad_rows(mean.astype(np.float32)[:, None], size, 0.0).T)
            own = pad_rows((shares[rows][:, used] / counts).astype(np.float32), size, 1.0)
            low, high = _quantiles(jnp.concatenate(means), own, place, ends)
            parts.append(np.stack([low, high])[:, : len(shares[rows])])
    low, high = np.concatenate(parts, axis=1).astype(np.float64)
    return low, high


def _systematic(rng: np.random.Generator, weights: np.ndarray, draws: int) -> np.ndarray:
    points = (np.arange(draws) + rng.random()) / draws
    return np.minimum(np.searchsorted(np.cumsum(weights), points), len(weights) - 1)


@lru_cache(maxsize=256)
def _channel_means(target: Target):
    def run(draws: Any, readings: Readings, values: Any) -> Array:
        return jax.lax.map(
            lambda draw: target.probs(draw, readings).astype(values.dtype) @ values,
            draws,
            batch_size=20,
        )

    return compiled(run)


@compiled
def _quantiles(means: Array, shares: Any, member: Any, ends: Any) -> tuple[Array, Array]:
    """Weighted quantiles along the first axis; each row has its member's share of each text."""
    order = jnp.argsort(means, axis=0)
    ranked = jnp.take_along_axis(means, order, axis=0)
    total = jnp.cumsum(jnp.take_along_axis(shares.T, member[order], axis=0), axis=0)

    def reach(end: Array) -> Array:
        first = jnp.argmax(total >= end * total[-1:], axis=0)[None]
        return jnp.take_along_axis(ranked, first, axis=0)[0]

    return reach(ends[0]), reach(ends[1])

"""Credible intervals of a text's expected position on the scale."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from cordial_ppl.arrays import chunks, pad_rows
from cordial_ppl.compilation import compiled
from cordial_ppl.inference.posterior import Posterior
from cordial_ppl.inference.target import Target
from cordial_ppl.readings import Readings

DRAWS = 100


def mean_interval(
    fits: Mapping[str, Any],
    weights: Mapping[str, float],
    logits: Float[np.ndarray, "m K"],
    covariates: dict[str, np.ndarray],
    values: Float[np.ndarray, " K"],
    level: float,
    seed: int,
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Quantiles of the expected position over members and over the draws of each channel.

    A channel contributes 100 draws from its posterior, a calibrator its one answer, each with the
    member's weight.

    Args:
        fits: fitted members by name.
        weights: weights of the members.
        logits: validated, centred readings.
        covariates: per-text covariates.
        values: position of each option.
        level: probability inside the interval.
        seed: seed of the choice of draws.

    Returns:
        Lower and upper ends.
    """
    rng = np.random.default_rng(seed)
    used = [name for name in fits if weights[name] > 0]
    shares, chosen = [], {}
    for name in used:
        fit = fits[name]
        if isinstance(fit, Posterior):
            chosen[name] = fit.draws[_systematic(rng, fit.weights)].astype(np.float32)
        count = DRAWS if name in chosen else 1
        shares.append(np.full(count, weights[name] / count, np.float32))
    share, ends = np.concatenate(shares), np.array([(1 - level) / 2, (1 + level) / 2], np.float32)
    parts = []
    with jax.enable_x64(True):
        for rows, size in chunks(len(logits)):
            chunk = logits[rows]
            padded = pad_rows(chunk.astype(np.float32), size, 0.0)
            extra = {
                name: pad_rows(column[rows].astype(np.float32), size, 0.0)
                for name, column in covariates.items()
            }
            means = []
            for name in used:
                fit = fits[name]
                if name in chosen:
                    readings = Readings(padded, fit.histogram.astype(np.float32), extra)
                    run = _channel_means(fit.target)
                    means.append(run(chosen[name], readings, values.astype(np.float32)))
                else:
                    mean = fit.predict_centred(chunk, extra, dtype="float64") @ values
                    means.append(pad_rows(mean.astype(np.float32)[:, None], size, 0.0).T)
            low, high = _quantiles(jnp.concatenate(means), share, ends)
            parts.append(np.stack([low, high])[:, : len(chunk)])
    low, high = np.concatenate(parts, axis=1).astype(np.float64)
    return low, high


def _systematic(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    points = (np.arange(DRAWS) + rng.random()) / DRAWS
    return np.minimum(np.searchsorted(np.cumsum(weights), points), len(weights) - 1)


@lru_cache(maxsize=256)
def _channel_means(target: Target):
    def run(draws: Array, readings: Readings, values: Any) -> Array:
        return jax.lax.map(
            lambda draw: target.probs(draw, readings).astype(values.dtype) @ values,
            draws,
            batch_size=20,
        )

    return compiled(run)


@compiled
def _quantiles(means: Array, share: Any, ends: Any) -> tuple[Array, Array]:
    """Weighted quantiles along the first axis."""
    order = jnp.argsort(means, axis=0)
    ranked = jnp.take_along_axis(means, order, axis=0)
    total = jnp.cumsum(share[order], axis=0)

    def reach(end: Array) -> Array:
        first = jnp.argmax(total >= end * total[-1:], axis=0)[None]
        return jnp.take_along_axis(ranked, first, axis=0)[0]

    return reach(ends[0]), reach(ends[1])

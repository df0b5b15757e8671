"""Few weighted draws that predict what all draws of a posterior predict, by kernel herding."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cordial_ppl.errors import InputError
from cordial_ppl.inference.importance import resample
from cordial_ppl.runtime.blas import on_one_core

PROBES = 192
"""Predictions that are kept as they are: a multiple of the rows that a program takes at a time."""

SCALES = 0.5, 1.0, 2.0
"""How decided made-up readings are, in units of the labelled ones."""

TINY = float(np.finfo(np.float32).tiny)

MOST = 4096
"""Draws that are compared with each other; of more, as many are resampled first."""


class Probes(NamedTuple):
    """Made-up readings, and the option of each whose predicted probability is kept.

    Attributes:
        rows: the labelled text whose covariates it has, shape ``[m]``.
        logits: centred logits, shape ``[m, K]``, or ``[m, R, K]`` of several readers.
        options: options 0..K-1, shape ``[m]``.
    """

    rows: Int[np.ndarray, " m"]
    logits: Float[np.ndarray, "m *readers K"]
    options: Int[np.ndarray, " m"]


def make_probes(logits: Float[np.ndarray, "n *readers K"]) -> Probes:
    """Make up readings like the labelled ones, but of any text: options turned, clear profiles.

    Five labelled texts say little of what other texts read like. A sixth of the probes are labelled
    readings, a third are such readings with their options turned in a circle, and half have one
    peak somewhere on the scale or beyond its ends; all but the first are made flatter or clearer.

    Args:
        logits: centred logits of the labelled texts, at least one.
    """
    rng, size, count = np.random.default_rng(0), logits.shape[-1], PROBES
    plain, peaked = count // 6, count // 2
    rows, turns = rng.integers(len(logits), size=count), rng.integers(size, size=count)
    scales = rng.choice(SCALES, count)
    turns[:plain], scales[:plain] = 0, 1.0
    spread = (..., *(None,) * (logits.ndim - 2), slice(None))
    columns = (np.arange(size) + turns[:, None]) % size
    made = np.take_along_axis(logits[rows], columns[spread], axis=-1)
    peaks = np.tile(np.linspace(-0.5, size - 0.5, -(-peaked // 3)), 3)[:peaked, None]
    profiles = -((np.arange(size) - peaks) ** 2)
    profiles -= profiles.mean(axis=1, keepdims=True)
    # Where a reader has not read a text, its logits are NaN.
    profiles *= (np.nanstd(logits) or 1.0) / np.maximum(profiles.std(axis=1, keepdims=True), TINY)
    made[-peaked:] = profiles[spread]
    scales[-peaked:] = np.repeat(SCALES, -(-peaked // 3))[:peaked]
    made = made * scales.reshape(count, *(1,) * (logits.ndim - 1))
    return Probes(rows, made, np.arange(count) % size)


@on_one_core  # Other threads round otherwise, and other draws would be chosen.
def thin(
    features: Float[np.ndarray, "S F"], weights: Float[np.ndarray, " S"], size: int
) -> tuple[Int[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    r"""Choose few draws, and weights of theirs under which features keep their means.

    .. math:: \sum_d v_d\, f(\phi_{s_d}) \approx \sum_s w_s\, f(\phi_s)

    Each draw in turn takes the mean of the kernel ``f . g + c exp(-|f - g|^2 / 2 c)``, with c the
    variance of the features, nearest to that of all draws: the first term keeps means, the second
    the distribution, which intervals depend on.  Nothing is random.

    Args:
        features: functions f of the draws, all in one unit, such as predicted probabilities.
        weights: w, weights of the draws, not negative, with a positive sum.
        size: how many draws are wanted, at least 1.

    Returns:
        Numbers of at most ``size`` draws, and their weights, which sum to one; all draws and their
        weights as they are where there are no more.

    Raises:
        InputError: ``size`` is below 1.

    Source:
        Chen, Welling and Smola (2010), "Super-samples from kernel herding".
    """
    if size < 1:
        raise InputError(f"the number of draws to keep must be at least 1; got {size}.")
    if len(features) <= size:
        return np.arange(len(features)), weights
    used = np.flatnonzero(weights > 0)
    if len(used) <= size:
        return used, weights[used] / weights[used].sum()
    if len(used) > MOST:
        used = used[resample(0.5, np.log(weights[used]), MOST)]
        weights = np.ones(len(weights))
    share = (weights[used] / weights[used].sum()).astype(np.float32)
    centred = features[used].astype(np.float32)
    centred -= share @ centred
    kernel = centred @ centred.T
    norms = kernel.diagonal().copy()
    variance = max(float(share @ norms), TINY)
    # In place: a million numbers each time.
    near = kernel - norms[:, None] / 2
    near -= norms[None] / 2
    near /= variance
    kernel += variance * np.exp(near, out=near)
    goal, off, chosen = kernel @ share, kernel.diagonal() / 2, []
    for count in range(1, size + 1):
        chosen.append(int(np.argmax(count * goal - off)))
        off = off + kernel[chosen[-1]]
    rows, counts = np.unique(used[chosen], return_counts=True)
    return rows, counts / size

"""Credible intervals of a text's expected position on the scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.inference.posterior import Posterior

BLOCK = 512
"""Texts whose draws are sorted at a time."""

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
    for start in range(0, len(shares), BLOCK):
        rows = slice(start, start + BLOCK)
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

    Args:
        means: what each draw of a member says of each text, ``[D_j, m]`` for member j; a
            calibrator, which has one answer, has one draw.
        weights: of the draws of each member, ``[D_j]``.
        shares: weight of each member, or of each member in each text's mixture.
        level: probability between the two.

    Returns:
        Lower and upper quantiles.
    """
    own = np.concatenate(weights)
    member = np.repeat(np.arange(len(weights)), [len(each) for each in weights])
    tails = (1 - level) / 2, (1 + level) / 2
    values = np.concatenate(means, dtype=np.float32).T.copy()
    order = np.argsort(values, axis=1)
    mass = own * shares[..., member]
    mass = mass[order] if mass.ndim == 1 else np.take_along_axis(mass, order, axis=1)
    below = mass.cumsum(axis=1)
    found = []
    for tail in tails:
        enough = below >= (tail - ROUNDING) * below[:, -1:]
        draw = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        found.append(np.take_along_axis(values, draw, axis=1)[:, 0])
    return found[0], found[1]

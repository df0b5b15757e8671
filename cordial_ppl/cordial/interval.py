"""Intervals of a text's expected position on the scale, under a mixture of fitted members."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cordial_ppl.inference.posterior import Posterior

BLOCK = 512
"""Texts whose draws are sorted at a time."""

ROUNDING = 1e-9
"""Share of the weight by which rounding may make a cumulative sum fall short of a quantile."""


def mixture_interval(
    members: Sequence[tuple[Any, np.ndarray]],
    shares: Float[np.ndarray, "m M"],
    covariates: Mapping[str, np.ndarray],
    values: Float[np.ndarray, " K"],
    level: float,
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """Two quantiles of each text's expected position, over draws and members.

    Args:
        members: fitted members, each with the readings that it sees.
        shares: weight of each member in each text's mixture.
        covariates: of the texts, by name.
        values: position of each option on the scale.
        level: probability between the two.

    Returns:
        Lower and upper quantiles.
    """
    some = shares.any(axis=0)
    used = [member for member, own in zip(members, some, strict=True) if own]
    weights = [fit.kept[1] if isinstance(fit, Posterior) else np.ones(1) for fit, _ in used]
    ends = np.empty((2, len(shares)))
    for start in range(0, len(shares), BLOCK):
        rows = slice(start, start + BLOCK)
        extra = {name: column[rows] for name, column in covariates.items()}
        means = [
            fit.expected(seen[rows], extra, values)
            if isinstance(fit, Posterior)
            else (fit.predict_centred(seen[rows], extra) @ values)[None]
            for fit, seen in used
        ]
        ends[:, rows] = quantiles(means, weights, shares[rows, some], level)
    return ends[0], ends[1]


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
        means: expected position of each text under each draw of a member, ``[D_j, m]`` for
            member j; a calibrator counts as one draw.
        weights: of the draws of each member, ``[D_j]``.
        shares: weight of each member, or of each member in each text's mixture.
        level: probability between the two.

    Returns:
        Lower and upper quantiles.
    """
    member = np.repeat(np.arange(len(weights)), [len(each) for each in weights])
    values = np.concatenate(means, dtype=np.float32).T.copy()
    order = np.argsort(values, axis=1)
    mass = np.concatenate(weights) * shares[..., member]
    mass = mass[order] if mass.ndim == 1 else np.take_along_axis(mass, order, axis=1)
    below = mass.cumsum(axis=1)
    found = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        enough = below >= (tail - ROUNDING) * below[:, -1:]
        draw = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        found.append(np.take_along_axis(values, draw, axis=1)[:, 0])
    return found[0], found[1]

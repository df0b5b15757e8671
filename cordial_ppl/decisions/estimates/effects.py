r"""How differently a reader errs by group: an effect of each group on what calibration leaves.

A label less what the calibrator predicts for its text, out of fold, is

.. math:: r_i = a + b_{g(i)} + e_i, \qquad b_g \sim N(0, \tau^2), \quad e_i \sim N(0, \sigma^2)

The calibrator itself says how large single residuals are: a few labels, whose rare values are often
not among them, say it less well.  So sigma has the scaled inverse chi-square prior of `DEGREES`
labels about what the calibrator predicts.

Source: Battese, Harter and Fuller (1988), "An error-components model for prediction of county crop
areas using survey and satellite data" (small-area estimation).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

GROUP_SCALE, CORPUS_SCALE = 0.25, 0.065
"""Scales of the half-normal priors of tau, in units of the range of the values: on five options a
class and .26 of one.  On real readings the effects of systems spread by .15 to .4 of a class, in
dialogues with three options by .7.  The corpus's scale weighs the calibrator's mean and that of the
residuals.  Chosen, as what follows, on the readings that `benchmarks/estimates.py` measures."""

DEGREES, VARIANCE_SHARE = 30, 0.85
"""Degrees of freedom of the prior of sigma, as of so many labels, and the share of the predictive
variance about which it lies: calibrators doubt more than they need, by a seventh to a quarter on
real readings."""

STEPS = 48
"""Points of the grid of each standard deviation."""


class Spreads(NamedTuple):
    """Draws of what all groups share.

    Attributes:
        tau: standard deviation of the group effects, in the units of the values.
        sigma: standard deviation of single residuals.
    """

    tau: Float[np.ndarray, " D"]
    sigma: Float[np.ndarray, " D"]


def draw_spreads(
    residuals: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
    scale: float,
    expected: float,
    draws: int,
    rng: np.random.Generator,
) -> Spreads:
    r"""Draw the standard deviations from their posterior on a grid, effects integrated out.

    With :math:`v_g = \tau^2 + \sigma^2 / n_g` the mean residual of group g is
    :math:`N(a, v_g)`, and a has a flat prior.

    Args:
        residuals: label less out-of-fold prediction; none gives the prior of tau.
        groups: group of each residual, 0, 1, ...
        scale: scale of the half-normal prior of tau, in the units of the values.
        expected: standard deviation about which the prior of sigma lies, above 0.
        draws: how many draws.
        rng: source of random numbers.
    """
    reach = 4 * scale
    tau = (np.arange(STEPS) + 0.5) * reach / STEPS
    log_prior = -0.5 * (tau / scale) ** 2
    jitter = (rng.random(draws) - 0.5) * reach / STEPS
    if not len(residuals):
        chosen = _choose(log_prior, draws, rng)
        return Spreads(tau[chosen] + jitter, np.full(draws, expected))
    counts = np.bincount(groups)
    sums, counts = np.bincount(groups, residuals)[counts > 0], counts[counts > 0]
    means, degrees = sums / counts, DEGREES + len(residuals) - len(counts)
    squares = max(np.sum(residuals**2) - np.sum(counts * means**2), 0.0) + DEGREES * expected**2
    largest = max(expected, float(np.std(residuals)))
    sigma = np.geomspace(np.sqrt(squares / degrees) / 3, 3 * largest, STEPS)
    spread = tau[:, None, None] ** 2 + sigma[:, None] ** 2 / counts
    precision = np.sum(1 / spread, axis=2)
    centre = np.sum(means / spread, axis=2) / precision
    apart = np.sum((means - centre[..., None]) ** 2 / spread, axis=2)
    logs = np.sum(np.log(spread), axis=2) + np.log(precision) + apart
    logs = log_prior[:, None] - 0.5 * (logs + squares / sigma**2) - degrees * np.log(sigma)
    row, column = np.unravel_index(_choose(logs.ravel(), draws, rng), logs.shape)
    rng.standard_normal(draws)  # Nobody's: seeds give the intervals that they gave with it.
    return Spreads(tau[row] + jitter, sigma[column])


def draw_effects(
    residuals: Float[np.ndarray, "#D n"],
    groups: Int[np.ndarray, " n"],
    count: int,
    spreads: Spreads,
    rng: np.random.Generator,
) -> Float[np.ndarray, "D G"]:
    r"""Draw each group's effect, given the spreads and residuals whose common mean is zero.

    .. math:: b_g \mid r, \tau, \sigma \sim N\!\left(\frac{n_g \bar r_g}{\sigma^2 v},
        \frac1v\right), \qquad v = \frac1{\tau^2} + \frac{n_g}{\sigma^2}

    Whoever gives residuals that are not centred has the effects take in what is common to all.  A
    group without residuals gets the whole spread between groups.

    Args:
        residuals: those of each draw, or the same for all.
        groups: group of each residual, 0..count-1.
        count: number of groups G.
        spreads: draws of the standard deviations.
        rng: source of random numbers.
    """
    member = np.eye(count)[groups]
    precision = 1 / spreads.tau[:, None] ** 2 + member.sum(axis=0) / spreads.sigma[:, None] ** 2
    means = residuals @ member / spreads.sigma[:, None] ** 2 / precision
    return means + rng.standard_normal(means.shape) / np.sqrt(precision)


def _choose(logs: Float[np.ndarray, " N"], draws: int, rng: np.random.Generator) -> Any:
    probs = np.exp(logs - logs.max())
    return rng.choice(len(logs), draws, p=probs / probs.sum())

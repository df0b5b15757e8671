r"""How differently a reader errs by group: an effect of each group on what calibration leaves.

A label less what the calibrator predicts for its text, out of fold, is

.. math:: r_i = a + b_{g(i)} + c_{k(i)} + e_i, \qquad a \sim N(0, \tau_a^2), \quad
    b_g \sim t_\nu(0, \tau), \quad c_k \sim N(0, \tau_c^2), \quad e_i \sim N(0, \sigma^2)

with an effect c of each cluster of texts that are alike, where there are clusters.  The effects of
groups have heavy tails, so that one system unlike all others is not drawn towards them.  What all
groups have in common is the effect a of the whole corpus, drawn before.

The calibrator itself says how large single residuals are: a few labels, whose rare values are often
not among them, say it less well.  So sigma has the scaled inverse chi-square prior of `DEGREES`
labels about what the calibrator predicts.

Source: Battese, Harter and Fuller (1988), "An error-components model for prediction of county crop
areas using survey and satellite data" (small-area estimation).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import chi2

GROUP_SCALE, CORPUS_SCALE = 0.25, 0.065
"""Scales of the half-normal priors of tau, in units of the range of the values: on five options a
class and .26 of one.  On real readings the effects of systems spread by .15 to .4 of a class, in
dialogues with three options by .7.  The corpus's scale weighs the calibrator's mean and that of the
residuals.  Chosen, as what follows, on the readings that `benchmarks/estimates.py` measures."""

DEGREES, VARIANCE_SHARE = 30, 0.85
"""Degrees of freedom of the prior of sigma, as of so many labels, and the share of the predictive
variance about which it lies: calibrators doubt more than they need, by a seventh to a quarter on
real readings."""

LEAST = 0.01
"""Least standard deviation of a residual, in units of the range of the values."""

STEPS = 48
"""Points of the grid of each standard deviation."""

TAIL, TAILS = 3.0, 9
"""Degrees of freedom of the effects' Student-t distribution, and the variances that it mixes."""

SCALES = TAIL / chi2(TAIL).ppf((np.arange(TAILS) + 0.5) / TAILS)
"""These variances, in units of tau squared, each as probable."""


APART = 100.0
"""Variance of the effect of a group that is not drawn to the others, in units of theirs."""


class Spreads(NamedTuple):
    """Draws of what all groups share.

    Attributes:
        tau: standard deviation of the group effects, in the units of the values.
        sigma: standard deviation of single residuals.
    """

    tau: Float[np.ndarray, " D"]
    sigma: Float[np.ndarray, " D"]


class Residuals(NamedTuple):
    """Which group and cluster each residual is of.

    Attributes:
        groups: group of each residual, 0..G-1.
        count: number of groups G.
        weights: precision of each residual, in units of that of one; such as of the inclusion
            probabilities, in each group to the sum of its effective number of residuals.
        clusters: cluster of each residual, 0..C-1; None where each is of another.
        spreads: draws of the standard deviations of cluster effects and of single residuals.
        alone: groups that stand for many more texts than labels: they are not drawn to the others.
    """

    groups: Int[np.ndarray, " n"]
    count: int
    weights: Float[np.ndarray, " n"]
    clusters: Int[np.ndarray, " n"] | None = None
    spreads: Spreads | None = None
    alone: Bool[np.ndarray, " G"] | None = None

    @property
    def membership(self) -> Float[np.ndarray, "n G"]:
        """The weight of each residual, in the column of its group."""
        return np.eye(self.count)[self.groups] * self.weights[:, None]

    @property
    def cells(self) -> Float[np.ndarray, "C G"]:
        """Sum of weights by cluster and group."""
        assert self.clusters is not None
        result = np.zeros((self.clusters.max(initial=-1) + 1, self.count))
        np.add.at(result, (self.clusters, self.groups), self.weights)
        return result

    @property
    def sizes(self) -> Float[np.ndarray, " G"]:
        """How many independent residuals each group's mean is as good as."""
        sizes = self.membership.sum(axis=0)
        if self.spreads is None:
            return sizes
        tau, sigma = (np.square(each).mean() for each in self.spreads)
        cells = self.cells
        lost = (tau / (sigma + cells.sum(axis=1) * tau)) @ cells**2
        return (sizes - lost) * (tau + sigma) / sigma


def find_residuals(
    labels: Float[np.ndarray, "n K"],
    out_of_fold: Float[np.ndarray, "n K"] | None,
    value: Float[np.ndarray, " K"],
) -> tuple[Float[np.ndarray, " m"], float]:
    """Return labels less their out-of-fold predictions, and the deviation to expect of them.

    Args:
        labels: share of each option among the labels of each text.
        out_of_fold: probabilities of the same texts; None if unknown, which leaves no residuals.
        value: value of each option.
    """
    least = (LEAST * np.ptp(value)) ** 2
    if out_of_fold is None:
        return np.empty(0), float(np.sqrt(least))
    mean, predicted = labels @ value, out_of_fold @ value
    # A text's residual is of the mean of its labels, which vary less than one.
    within = labels @ value**2 - mean**2
    variance = np.mean(out_of_fold @ value**2 - predicted**2 - within)
    return mean - predicted, float(np.sqrt(max(VARIANCE_SHARE * variance, least)))


def weigh_by_design(
    weights: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Scale weights so that those of a group sum to its effective number of texts (Kish)."""
    sums, squares = np.bincount(groups, weights), np.bincount(groups, weights**2)
    return weights * (sums / np.maximum(squares, np.finfo(float).tiny))[groups]


def draw_spreads(
    residuals: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
    scale: float,
    expected: float,
    draws: int,
    rng: np.random.Generator,
    sizes: Float[np.ndarray, " G"] | None = None,
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
        sizes: how many independent residuals the mean of each group is as good as; by default as
            many as it has.
    """
    reach = 4 * scale
    tau = (np.arange(STEPS) + 0.5) * reach / STEPS
    log_prior = -0.5 * (tau / scale) ** 2
    jitter = (rng.random(draws) - 0.5) * reach / STEPS
    if not len(residuals):
        chosen = _choose(log_prior, draws, rng)
        return Spreads(tau[chosen] + jitter, np.full(draws, expected))
    counts = np.bincount(groups)
    present = counts > 0
    effective = (counts if sizes is None else sizes[: len(counts)])[present]
    sums, counts = np.bincount(groups, residuals)[present], counts[present]
    means, degrees = sums / counts, DEGREES + len(residuals) - len(counts)
    squares = max(np.sum(residuals**2) - np.sum(counts * means**2), 0.0) + DEGREES * expected**2
    largest = max(expected, float(np.std(residuals)))
    sigma = np.geomspace(np.sqrt(squares / degrees) / 3, 3 * largest, STEPS)
    spread = tau[:, None, None] ** 2 + sigma[:, None] ** 2 / effective
    precision = np.sum(1 / spread, axis=2)
    centre = np.sum(means / spread, axis=2) / precision
    apart = np.sum((means - centre[..., None]) ** 2 / spread, axis=2)
    logs = np.sum(np.log(spread), axis=2) + np.log(precision) + apart
    logs = log_prior[:, None] - 0.5 * (logs + squares / sigma**2) - degrees * np.log(sigma)
    row, column = np.unravel_index(_choose(logs.ravel(), draws, rng), logs.shape)
    return Spreads(tau[row] + jitter, sigma[column])


def draw_effects(
    residuals: Float[np.ndarray, "#D n"],
    of: Residuals,
    spreads: Spreads,
    rng: np.random.Generator,
    tails: bool = True,
) -> Float[np.ndarray, "D G"]:
    r"""Draw each group's effect, given the spreads and residuals whose common mean is zero.

    Without clusters, and with the variance :math:`\lambda_g \tau^2` of a mixture component,

    .. math:: b_g \mid r, \tau, \sigma \sim N\!\left(\frac{n_g \bar r_g}{\sigma^2 v},
        \frac1v\right), \qquad v = \frac1{\lambda_g \tau^2} + \frac{n_g}{\sigma^2}

    With clusters their effects are integrated out: :math:`Z^\top V^{-1} Z` takes the place of
    :math:`n_g / \sigma^2`, where V is the covariance of the residuals given b.

    A group without residuals gets the whole spread between groups.

    Args:
        residuals: those of each draw, or the same for all.
        of: their groups and clusters.
        spreads: draws of the standard deviations.
        rng: source of random numbers.
        tails: whether effects are Student's t, or else normal.
    """
    noise = (spreads.sigma if of.spreads is None else of.spreads.sigma)[:, None] ** 2
    member = of.membership
    total = residuals @ member / noise
    information = np.broadcast_to(member.sum(axis=0) / noise, (len(noise), of.count))
    full = None
    if of.spreads is not None:
        cells = of.cells
        tau = of.spreads.tau[:, None] ** 2
        lost = tau / (noise + cells.sum(axis=1) * tau) / noise
        sums = residuals @ (np.eye(len(cells))[of.clusters] * of.weights[:, None])
        total = total - (lost * sums) @ cells
        full = -np.einsum("dk,kg,kh->dgh", lost, cells, cells, optimize=True)
        full[:, np.arange(of.count), np.arange(of.count)] += information
        information = np.einsum("dgg->dg", full)
    variance = np.broadcast_to(spreads.tau[:, None] ** 2, information.shape)
    if tails:
        variance = variance * _draw_scales(total, information, variance, rng)
    if of.alone is not None:
        variance = np.where(of.alone, APART * variance.mean(), variance)
    if full is None:
        precision = 1 / variance + information
        return (total / precision) + rng.standard_normal(precision.shape) / np.sqrt(precision)
    full[:, np.arange(of.count), np.arange(of.count)] += 1 / variance
    root = np.linalg.cholesky(full)
    centre = np.linalg.solve(root, total[..., None])[..., 0] + rng.standard_normal(variance.shape)
    return np.linalg.solve(np.swapaxes(root, 1, 2), centre[..., None])[..., 0]


def draw_common_effect(
    residuals: Float[np.ndarray, "#D n"],
    of: Residuals,
    spreads: Spreads,
    tau: Float[np.ndarray, " D"],
    rng: np.random.Generator,
) -> Float[np.ndarray, " D"]:
    r"""Draw the effect of the whole corpus, those of the groups integrated out.

    The mean residuals of groups are :math:`N(a, \tau^2 + \sigma^2 / n_g)`; where groups share
    clusters, as if they shared none.

    Args:
        residuals: those of each draw, or the same for all.
        of: their groups.
        spreads: draws of the standard deviations of group effects and of single residuals.
        tau: draws of the standard deviation of the effect itself.
        rng: source of random numbers.
    """
    member, sizes = of.membership, of.sizes
    labelled = sizes > 0
    means = residuals @ member[:, labelled] / member.sum(axis=0)[labelled]
    information = 1 / (spreads.tau[:, None] ** 2 + spreads.sigma[:, None] ** 2 / sizes[labelled])
    precision = 1 / tau**2 + information.sum(axis=1)
    centre = (information * means).sum(axis=1) / precision
    return centre + rng.standard_normal(len(tau)) / np.sqrt(precision)


def draw_cluster_effects(
    residuals: Float[np.ndarray, "D n"],
    of: Residuals,
    effects: Float[np.ndarray, "D G"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "D C"]:
    """Draw the effects of the clusters that have labels, given those of the groups.

    Args:
        residuals: those of each draw.
        of: their groups and clusters.
        effects: of the groups.
        rng: source of random numbers.
    """
    assert of.spreads is not None and of.clusters is not None
    cells = of.cells
    tau, noise = (np.square(each)[:, None] for each in of.spreads)
    precision = 1 / tau + cells.sum(axis=1) / noise
    sums = residuals @ (np.eye(len(cells))[of.clusters] * of.weights[:, None])
    means = (sums - effects @ cells.T) / noise / precision
    return means + rng.standard_normal(means.shape) / np.sqrt(precision)


def _draw_scales(
    total: Float[np.ndarray, "D G"],
    information: Float[np.ndarray, "D G"],
    variance: Float[np.ndarray, "D G"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "D G"]:
    """Draw the variance of each effect's component, in units of tau squared."""
    labelled = information > 0
    precision = np.where(labelled, information, 1.0)
    means = np.where(labelled, total / precision, 0.0)
    spreads = [scale * variance + 1 / precision for scale in SCALES]
    logs = np.stack([-0.5 * (means**2 / spread + np.log(spread)) for spread in spreads])
    logs = np.where(labelled, logs, 0.0)
    shares = np.exp(logs - logs.max(axis=0)).cumsum(axis=0)
    return SCALES[(rng.random(means.shape) * shares[-1] > shares).sum(axis=0).clip(max=TAILS - 1)]


def _choose(logs: Float[np.ndarray, " N"], draws: int, rng: np.random.Generator) -> Any:
    probs = np.exp(logs - logs.max())
    return rng.choice(len(logs), draws, p=probs / probs.sum())

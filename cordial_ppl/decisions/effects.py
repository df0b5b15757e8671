r"""How differently a reader errs by group, cluster or verdict: crossed effects on residuals.

A label less what the calibrator predicts for its text, out of fold, is, for each step of the scale

.. math:: r_i = \sum_f z_{fi}\, b_{f, l_f(i)} + e_i, \qquad
    b_{fl} \sim N(0, \lambda_{fl}\, \tau_f^2), \quad e_i \sim N(0, \sigma^2 / w_i)

with an effect of the level l that each factor f has there.  Steps are turned to axes along which
residuals and effects are uncorrelated, and each axis has its own tau and sigma.  Effects of groups
have heavy tails (Student's t), so that one system unlike all others is not drawn towards them.  All
is drawn by Gibbs, many chains side by side, one for each draw of what the calibrator predicts; tau
is drawn with the effects integrated out.

The calibrator itself says how large single residuals are: a few labels, whose rare values are often
not among them, say it less well.  So sigma has the scaled inverse chi-square prior of `DEGREES`
labels about what the calibrator predicts.

Source: Battese, Harter and Fuller (1988), "An error-components model for prediction of county crop
areas using survey and satellite data" (small-area estimation); van Dyk and Park (2008), "Partially
collapsed Gibbs samplers".
"""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from cordial_ppl.data.labelling import sum_by

GROUP_SCALE, CORPUS_SCALE = 0.25, 0.085
"""Scales of the half-normal priors of tau, in units of the range of the values: on five options a
class and a third of one.  The corpus's scale weighs the calibrator's mean and that of
the residuals.  Chosen, as what follows, on readings that `benchmarks/estimates.py` measures."""

DEGREES = 30
"""Degrees of freedom of the prior of sigma, as of so many labels."""

ALIKE = 0.7
"""Correlation of the effects of neighbouring steps."""

TAIL = 3.0
"""Degrees of freedom of the Student-t distribution of heavy effects."""

APART = 100.0
"""Variance of the effect of a group that is not drawn to the others, in units of theirs."""

GRID = 32
"""Points of the grid of tau."""

BURN, STATES, THIN = 16, 8, 2
"""Sweeps before the first state of a chain that is kept, states kept, and sweeps between these."""

TOGETHER = 16
"""Levels of a factor whose variances are multiplied before a logarithm is taken."""

CHAINS, ROOM = (50, 500), 3_000_000
"""Chains, at least and at most, and numbers of one array, at most: many levels have few chains."""


class Factor(NamedTuple):
    """What residuals are grouped by.

    Attributes:
        codes: level of each residual.
        count: number of levels, also those without residuals.
        scale: of the half-normal prior of tau, in units of the range of the values.
        heavy: whether effects are Student's t, or else normal.
        slope: what each residual has of its level's effect.
        alone: levels that are not drawn to the others, for they stand for many more texts than
            labels.
    """

    codes: Int[np.ndarray, " n"]
    count: int
    scale: float
    heavy: bool = False
    slope: Float[np.ndarray, " n"] | float = 1.0
    alone: Bool[np.ndarray, " L"] | bool = False


class Effects(NamedTuple):
    """Draws of the effects of each factor, and of their standard deviations.

    Attributes:
        chains: which draw of the residuals each draw is of.
        basis: the axes, in columns, by step.
        levels: effects of each factor, by step.
        tau: standard deviations of the effects of each factor, by axis.
        sigma: standard deviation of single residuals, by axis.
    """

    chains: Int[np.ndarray, " S"]
    basis: Float[np.ndarray, "J J"]
    levels: Mapping[str, Float[np.ndarray, "S _ J"]]
    tau: Mapping[str, Float[np.ndarray, "S J"]]
    sigma: Float[np.ndarray, "S J"]


def count_chains(factors: Mapping[str, Factor], steps: int) -> int:
    """Return how many chains to run."""
    levels = max(factor.count for factor in factors.values())
    return int(np.clip(ROOM // (steps * GRID * levels), *CHAINS))


def find_axes(
    covariance: Float[np.ndarray, "J J"], spread: Float[np.ndarray, " J"], span: Float[Any, " J"]
) -> tuple[Float[np.ndarray, "J J"], Float[np.ndarray, " J"]]:
    """Find axes along which residuals have variance one, and effects are uncorrelated.

    Args:
        covariance: of residuals.
        spread: standard deviation of a label's steps, which those of effects are as.
        span: what each step adds to the value whose range is the unit of scales.

    Returns:
        The axes, in columns, and the scale of effects along each, whose standard deviation in the
        value is its range.
    """
    places = np.arange(len(spread))
    shape = np.outer(spread, spread) * ALIKE ** np.abs(places - places[:, None])
    shape *= np.sum(np.abs(span)) ** 2 / (span @ shape @ span)
    root = np.linalg.cholesky(covariance)
    half = np.linalg.solve(root, shape)
    values, vectors = np.linalg.eigh(np.linalg.solve(root, half.T))
    # Signs are a convention that units must not change.
    basis = root @ vectors
    basis *= np.sign(basis[np.abs(basis).argmax(axis=0), places])
    return basis, np.sqrt(np.maximum(values, 1e-12))


def draw_effects(
    residuals: Float[np.ndarray, "D n J"],
    weights: Float[np.ndarray, " n"],
    factors: Mapping[str, Factor],
    axes: tuple[Float[np.ndarray, "J J"], Float[np.ndarray, " J"]],
    expected: Float[np.ndarray, "J J"],
    rng: np.random.Generator,
) -> Effects:
    """Draw effects, given residuals that differ by draw of what they depend on.

    Args:
        residuals: by draw, text and step; a chain is run for each draw.
        weights: precision of each residual, in units of that of one.
        factors: what residuals are grouped by; of several, the effects add up.
        axes: what `find_axes` returns.
        expected: covariance of single residuals, by step.
        rng: source of random numbers.
    """
    basis, scales = axes
    inverse = np.linalg.inv(basis)
    prior = np.einsum("ij,jk,ik->i", inverse, expected, inverse)[:, None]
    turned = np.swapaxes(residuals @ inverse.T, 1, 2)
    chains, size, n = turned.shape
    # Residuals of one level of each factor are as good as their mean.
    slopes = [np.broadcast_to(factor.slope, n) for factor in factors.values()]
    marks = np.stack([*(f.codes for f in factors.values()), *slopes]).T
    first, home = np.unique(marks, axis=0, return_index=True, return_inverse=True)[1:]
    home = home.ravel()
    mass = np.bincount(home, weights, len(first))
    means = sum_by(home, turned * weights) / mass
    within = np.sum(weights * turned**2, axis=2) - np.sum(mass * means**2, axis=2)
    parts = [
        _Part(factor._replace(codes=factor.codes[first], slope=slope[first]), mass, scales, chains)
        for factor, slope in zip(factors.values(), slopes, strict=True)
    ]
    variance = np.broadcast_to(prior, (chains, size, 1))
    left, kept = means.copy(), []
    for sweep in range(BURN + STATES * THIN):
        for part in parts:
            left += part.fitted()
            part.draw(left, variance, rng)
            left -= part.fitted()
        squares = within + np.sum(mass * left**2, axis=2) + DEGREES * prior[:, 0]
        variance = (squares / rng.chisquare(DEGREES + n, squares.shape))[..., None]
        if sweep >= BURN and (sweep - BURN) % THIN == THIN - 1:
            kept.append(([part.state(rng) for part in parts], np.sqrt(variance[..., 0])))
    states, sigma = zip(*kept, strict=True)
    drawn = [tuple(map(np.concatenate, zip(*of, strict=True))) for of in zip(*states, strict=True)]
    turned = [np.swapaxes(each, 1, 2) @ basis.T for each, _ in drawn]
    levels = dict(zip(factors, turned, strict=True))
    tau = dict(zip(factors, (each for _, each in drawn), strict=True))
    return Effects(np.tile(np.arange(chains), STATES), basis, levels, tau, np.concatenate(sigma))


class _Part:
    """The state of one factor: effects of the levels that have residuals, and tau, by axis."""

    def __init__(self, factor: Factor, mass: np.ndarray, scales: np.ndarray, chains: int):
        shape, slope = (chains, len(scales)), factor.slope
        self.factor, self.scales = factor, factor.scale * scales[:, None]
        self.seen, self.codes = np.unique(factor.codes, return_inverse=True)
        self.slope, self.weight = slope, slope * mass
        self.size = sum_by(self.codes, slope**2 * mass)
        self.alone = np.broadcast_to(factor.alone, factor.count)[self.seen]
        self.effects = np.zeros((*shape, len(self.seen)))
        self.wide = np.where(self.alone, APART, np.ones_like(self.effects))
        self.tau = np.broadcast_to(self.scales / 2, (*shape, 1))

    def fitted(self) -> np.ndarray:
        """Return what the factor adds to each residual."""
        return self.effects[..., self.codes] * self.slope

    def draw(self, left: np.ndarray, variance: np.ndarray, rng: np.random.Generator) -> None:
        """Draw tau, the effects and their tails, given what the other factors leave."""
        step = 4 * self.scales / GRID
        grid = (np.arange(GRID) + 0.5) * step
        logs = np.broadcast_to(-0.5 * (grid / self.scales) ** 2, (*self.tau.shape[:2], GRID))
        size = np.where(self.size > 0, self.size, 1e-9)
        noise = variance / size
        mean = sum_by(self.codes, left * self.weight) / size
        # A level at a time, for which arrays fit the caches; one logarithm for several.
        for levels in itertools.batched(np.flatnonzero(~self.alone), TOGETHER):
            product, squares = 1.0, 0.0
            for level in levels:
                wide, narrow, far = (part[..., level, None] for part in (self.wide, noise, mean))
                spread = wide * grid**2 + narrow
                product, squares = product * spread, squares + far**2 / spread
            logs = logs - 0.5 * (np.log(product) + squares)
        shares = np.exp(logs - logs.max(axis=-1, keepdims=True)).cumsum(axis=-1)
        cut = rng.random(self.tau.shape) * shares[..., -1:]
        chosen = (cut > shares).sum(axis=-1, keepdims=True)
        self.tau = step * (chosen + rng.random(self.tau.shape))
        precision = 1 / (self.wide * self.tau**2) + 1 / noise
        centre = mean / noise / precision
        self.effects = centre + rng.standard_normal(centre.shape) / np.sqrt(precision)
        if self.factor.heavy:
            tails = TAIL + (self.effects / self.tau) ** 2
            tails /= rng.chisquare(TAIL + 1, tails.shape)
            self.wide = np.where(self.alone, APART, tails)

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return effects of all levels, those without residuals from their prior, and tau."""
        shape = (*self.tau.shape[:2], self.factor.count)
        result = self.tau * rng.standard_normal(shape)
        if self.factor.heavy:
            result /= np.sqrt(rng.chisquare(TAIL, shape) / TAIL)
        result[..., self.seen] = self.effects
        return result, self.tau[..., 0]

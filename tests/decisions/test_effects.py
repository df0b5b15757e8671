"""Crossed effects: against quadrature, and what levels do that stand alone or have tails."""

import numpy as np
import pytest
from scipy.stats import norm

from cordial_ppl.decisions.effects import (
    CHAINS,
    DEGREES,
    STATES,
    Factor,
    draw_effects,
    find_axes,
)


def draw(residuals, factors, expected=0.7, weights=None, seed=0):
    """Draw effects on residuals of one step, the same for all chains, with scales as they are."""
    variance = np.array([[expected**2]])
    axes = np.array([[expected]]), np.array([1 / expected])
    under = np.broadcast_to(residuals, (CHAINS[1], len(residuals)))[..., None]
    weights = np.ones(len(residuals)) if weights is None else weights
    return draw_effects(under, weights, factors, axes, variance, np.random.default_rng(seed))


def test_draws_are_those_of_quadrature():
    """Groups, one of them without residuals, crossed with clusters; half-normal tau, weights."""
    rng = np.random.default_rng(3)
    groups, clusters = np.repeat([0, 1, 2], [9, 7, 4]), np.arange(20) % 5
    residuals = np.array([0.6, -0.2, -0.5])[groups] + rng.normal(0.1, 0.5, 20)
    weights = rng.uniform(0.5, 1.5, 20)
    weights *= 20 / weights.sum()
    factors = {"group": Factor(groups, 4, 0.75), "cluster": Factor(clusters, 5, 0.5)}
    found = draw(residuals, factors, weights=weights)
    grid = np.meshgrid(
        (np.arange(40) + 0.5) * 0.075, (np.arange(40) + 0.5) * 0.05, np.geomspace(0.25, 1.6, 40)
    )
    one, other, sigma = (axis.ravel() for axis in grid)
    design = np.column_stack([np.eye(4)[groups], np.eye(5)[clusters]])
    inner = (design.T * weights) @ design / sigma[:, None, None] ** 2
    inner[:, range(4), range(4)] += one[:, None] ** -2.0
    inner[:, range(4, 9), range(4, 9)] += other[:, None] ** -2.0
    covariance, total = np.linalg.inv(inner), (design.T * weights) @ residuals
    means = covariance @ total / sigma[:, None] ** 2
    logs = norm.logpdf(one, 0, 0.75) + norm.logpdf(other, 0, 0.5) - 4 * np.log(one)
    # Of sigma on a geometric grid; its prior is a scaled inverse chi-square of the square.
    logs -= 5 * np.log(other) + (20 + DEGREES) * np.log(sigma)
    squares = weights @ residuals**2 + DEGREES * 0.7**2
    logs -= 0.5 * (squares - means @ total) / sigma**2 + 0.5 * np.linalg.slogdet(inner)[1]
    shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    variances = np.einsum("sgg->sg", covariance)
    drawn = np.concatenate([found.levels[name][..., 0] for name in factors], axis=1)
    scale = found.basis[0, 0]
    expected = {
        "effects": (drawn, means, variances),
        "tau": (found.tau["group"][:, 0] * scale, one, 0.0),
        "tau of clusters": (found.tau["cluster"][:, 0] * scale, other, 0.0),
        "sigma": (found.sigma[:, 0] * scale, sigma, 0.0),
    }
    for name, (draws, of_grid, rest) in expected.items():
        mean = shares @ of_grid
        deviation = np.sqrt(shares @ ((of_grid - mean) ** 2 + rest))
        np.testing.assert_allclose(draws.mean(axis=0), mean, rtol=0, atol=0.04, err_msg=name)
        np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.09, err_msg=name)


def test_a_group_unlike_all_others_keeps_its_effect_with_tails():
    groups = np.repeat(np.arange(8), 6)
    residuals = np.where(groups == 7, 2.0, 0.0) + np.tile([-0.3, 0.3], 24)
    kept = [
        draw(residuals, {"group": Factor(groups, 8, 0.25, heavy)}, 0.4).levels["group"][:, 7].mean()
        for heavy in (False, True)
    ]
    assert kept[0] < kept[1] and kept[1] > 1.85


def test_levels_that_stand_alone_are_hardly_drawn_to_others():
    groups = np.repeat(np.arange(6), 4)
    residuals = np.where(groups == 0, -0.5, 0.0) + np.tile([-0.5, 0.5], 12)
    alone = np.arange(6) == 0
    means = [
        draw(residuals, {"group": Factor(groups, 6, 0.1, alone=marks)}).levels["group"][:, 0].mean()
        for marks in (~alone & alone, alone)
    ]
    assert means[0] > -0.1 and means[1] < -0.25


def test_a_slope_is_a_coefficient():
    """One level, whose effect counts by how far each residual is on one side."""
    slope = np.repeat([-0.5, 0.5], 100)
    residuals = 0.8 * slope + np.tile([-0.2, 0.2], 100)
    found = draw(residuals, {"verdict": Factor(np.zeros(200, int), 1, 1.0, slope=slope)}, 0.2)
    assert found.levels["verdict"].mean() == pytest.approx(0.8, abs=0.02)
    assert found.levels["verdict"].std() == pytest.approx(0.2 / np.sqrt(50), rel=0.1)


def test_without_residuals_effects_are_of_the_prior():
    factors = {
        "corpus": Factor(np.zeros(0, int), 1, 0.5),
        "group": Factor(np.zeros(0, int), 3, 0.2),
    }
    found = draw(np.zeros(0), factors)
    assert found.levels["group"].shape == (CHAINS[1] * STATES, 3, 1)
    # The variance of a normal whose deviation is half-normal.
    assert found.levels["corpus"].std() == pytest.approx(0.5, rel=0.1)
    assert found.levels["group"].std() == pytest.approx(0.2, rel=0.1)


def test_axes_part_residuals_and_effects():
    rng = np.random.default_rng(0)
    half, value = rng.normal(size=(4, 6)), np.array([1.0, 2, 1, 1])
    covariance, spread = half @ half.T, rng.uniform(0.1, 0.5, 4)
    basis, scales = find_axes(covariance, spread, value)
    np.testing.assert_allclose(basis @ basis.T, covariance)
    effects = (basis * scales**2) @ basis.T
    # In the value, the deviation of effects is the range; neighbouring steps are alike.
    assert value @ effects @ value == pytest.approx(25)
    deviations = np.sqrt(effects.diagonal())
    np.testing.assert_allclose(deviations / deviations[0], spread / spread[0])
    assert effects[0, 1] / (deviations[0] * deviations[1]) == pytest.approx(0.7)

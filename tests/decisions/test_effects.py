"""Effects of groups and clusters: quadrature, the dense model, the prior."""

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from cordial_ppl.decisions.estimates.effects import (
    DEGREES,
    TAIL,
    Residuals,
    Spreads,
    draw_cluster_effects,
    draw_effects,
    draw_spreads,
    weigh_by_design,
)


def test_draws_of_group_effects_are_those_of_quadrature():
    """Given the two spreads, the common mean and the effects are jointly normal: by hand."""
    rng = np.random.default_rng(3)
    groups = np.repeat([0, 1, 2, 3], [9, 7, 4, 1])
    residuals = np.array([0.6, -0.2, -0.5, 0.1])[groups] + rng.normal(0.1, 0.5, len(groups))
    spreads = draw_spreads(residuals, groups, 0.75, 0.7, 40_000, rng)
    counts = np.bincount(groups)
    precision = 1 / (spreads.tau[:, None] ** 2 + spreads.sigma[:, None] ** 2 / counts)
    centre = precision @ (np.bincount(groups, residuals) / counts) / precision.sum(axis=1)
    common = centre + rng.standard_normal(40_000) / np.sqrt(precision.sum(axis=1))
    of = Residuals(groups, 5, np.ones(len(groups)))
    effects = draw_effects(residuals - common[:, None], of, spreads, rng, tails=False)
    # Half-normal tau, inverse gamma sigma squared, on a grid twice as fine as that of the draws.
    tau, sigma = np.meshgrid((np.arange(100) + 0.5) * 0.03, np.geomspace(0.2, 2.5, 100))
    tau, sigma = tau.ravel(), sigma.ravel()
    design = np.column_stack([np.ones(len(groups)), np.eye(5)[groups]])
    inner = design.T @ design / sigma[:, None, None] ** 2
    inner[:, range(1, 6), range(1, 6)] += tau[:, None] ** -2.0
    covariance, total = np.linalg.inv(inner), design.T @ residuals
    means = covariance @ total / sigma[:, None] ** 2
    logs = norm.logpdf(tau, 0, 0.75) - (len(groups) + DEGREES) * np.log(sigma) - 5 * np.log(tau)
    logs -= 0.5 * (residuals @ residuals + DEGREES * 0.7**2 - means @ total) / sigma**2
    logs -= 0.5 * np.linalg.slogdet(inner)[1]
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    variances = np.einsum("sgg->sg", covariance)[:, 1:]
    expected = {"tau": (tau, 0.0), "sigma": (sigma, 0.0), "effects": (means[:, 1:], variances)}
    for name, draws in (*spreads._asdict().items(), ("effects", effects)):
        of_grid, rest = expected[name]
        mean = weights @ of_grid
        deviation = np.sqrt(weights @ ((of_grid - mean) ** 2 + rest))
        # Of effects, the worst: .004 and sd .0017, .007 and sd .0035, over 20 seeds.
        np.testing.assert_allclose(draws.mean(axis=0), mean, rtol=0, atol=0.015)
        np.testing.assert_allclose(draws.std(axis=0), deviation, rtol=0.03)


def test_without_residuals_effects_are_those_of_the_prior():
    rng = np.random.default_rng(0)
    none = np.empty(0)
    spreads = draw_spreads(none, none.astype(int), 0.5, 1.0, 40_000, rng)
    of = Residuals(none.astype(int), 2, none)
    effects = draw_effects(np.empty((40_000, 0)), of, spreads, rng, tails=False)
    # Half-normal tau: E tau^2 = scale^2.
    np.testing.assert_allclose(effects.std(axis=0), 0.5, rtol=0.03)


def test_effects_with_tails_are_those_of_quadrature():
    """One group of four residuals, under a Student-t prior, at fixed spreads."""
    rng, draws = np.random.default_rng(0), 40_000
    for mean in (0.1, 1.5):
        residuals = mean + np.array([-0.3, 0.3, 0.1, -0.1])
        spreads = Spreads(np.full(draws, 0.2), np.full(draws, 0.5))
        of = Residuals(np.zeros(4, int), 1, np.ones(4))
        found = draw_effects(residuals[None], of, spreads, rng)[:, 0]
        grid = np.linspace(-3, 4, 4001)
        density = t.pdf(grid / 0.2, TAIL) * norm.pdf(mean, grid, 0.5 / 2)
        expected = grid @ density / density.sum()
        # Nine components have no more than nine variances: the tail is a little lighter.
        assert found.mean() == pytest.approx(expected, abs=0.12)
        # A mean far from the others is drawn to them less than a normal prior would.
        normal = mean * 0.2**2 / (0.2**2 + 0.25**2)
        assert (found.mean() > 1.5 * normal) == (mean > 1)


def test_effects_of_groups_and_clusters_are_those_of_the_dense_model():
    rng, draws = np.random.default_rng(1), 40_000
    groups, clusters = np.array([0, 1, 0, 1, 0, 0, 1]), np.array([0, 0, 1, 1, 1, 2, 2])
    residuals = rng.normal(0, 1, 7)
    tau, shared, sigma = 0.5, 0.6, 0.7
    spreads = Spreads(np.full(draws, shared), np.full(draws, sigma))
    of = Residuals(groups, 2, np.ones(7), clusters, spreads)
    outer = Spreads(np.full(draws, tau), np.full(draws, sigma))
    under = np.broadcast_to(residuals, (draws, 7))
    effects = draw_effects(under, of, outer, rng, tails=False)
    member, unit = np.eye(2)[groups], np.eye(3)[clusters]
    covariance = shared**2 * unit @ unit.T + sigma**2 * np.eye(7)
    precision = member.T @ np.linalg.solve(covariance, member) + np.eye(2) / tau**2
    mean = np.linalg.solve(precision, member.T @ np.linalg.solve(covariance, residuals))
    np.testing.assert_allclose(effects.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(np.cov(effects.T), np.linalg.inv(precision), atol=0.01)
    both = np.hstack([member, unit])
    joint = both.T @ both / sigma**2 + np.diag([*[tau**-2] * 2, *[shared**-2] * 3])
    expected = np.linalg.solve(joint, both.T @ residuals / sigma**2)[2:]
    drawn = draw_cluster_effects(under, of, effects, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.015)
    np.testing.assert_allclose(drawn.var(axis=0), np.diag(np.linalg.inv(joint))[2:], atol=0.015)


def test_weights_of_a_design_are_as_good_as_fewer_labels():
    groups = np.array([0, 0, 0, 1, 1])
    weights = weigh_by_design(np.array([1.0, 1, 4, 2, 2]), groups)
    np.testing.assert_allclose(np.bincount(groups, weights), [6**2 / 18, 2])
    np.testing.assert_allclose(weights[2] / weights[0], 4)


def test_large_residuals_overrule_what_was_expected():
    """With one group and hardly an effect, sigma is a scaled inverse chi."""
    rng = np.random.default_rng(0)
    residuals = rng.normal(0, 2, 200)
    spreads = draw_spreads(residuals, np.zeros(200, int), 1e-3, 0.1, 4000, rng)
    squares = np.sum((residuals - residuals.mean()) ** 2) + 30 * 0.1**2
    expected = np.sqrt(squares / chi2(229).ppf([0.95, 0.5, 0.05]))
    np.testing.assert_allclose(np.quantile(spreads.sigma, [0.05, 0.5, 0.95]), expected, rtol=0.07)

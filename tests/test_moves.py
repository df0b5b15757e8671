"""Moves leave a density unchanged: particles that start as exact draws remain exact draws."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from cordial_ppl.inference.moves import BLOCK, Moments, Particles, distances, moments, move

COUNT, MOVES = 4000, 12
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
TO_ONE = jnp.asarray(1.0)


def run(log_density, points, gaussian, moves=MOVES, temper=TO_ONE, seed=1):
    """Move particles under a density that is all likelihood."""

    def evaluate(points):
        return jnp.zeros(len(points)), jax.vmap(log_density)(points)

    start = Particles(points, *evaluate(points))
    step = jnp.log(jnp.asarray(0.6))
    return jax.jit(partial(move, evaluate))(
        start, gaussian, temper, step, jax.random.key(seed), moves // BLOCK
    )


def assert_quantiles(draws, expected):
    """Empirical shares below known quantiles, within four standard errors."""
    shares = (np.asarray(draws)[:, None] <= expected[None]).mean(axis=0)
    error = np.sqrt(LEVELS * (1 - LEVELS) / len(draws))
    assert np.abs((shares - LEVELS) / error).max() < 4


def test_a_gaussian_is_left_unchanged_whatever_the_preconditioner():
    rng = np.random.default_rng(0)
    factor = np.array([[1.0, 0.0], [0.8, 0.6]])
    points = jnp.asarray(rng.normal(size=(COUNT, 2)) @ factor.T)
    inverse = jnp.linalg.inv(jnp.asarray(factor))
    # A mean and a covariance that are somewhat wrong cost acceptance, not exactness.
    gaussian = Moments(jnp.asarray([0.3, -0.2]), jnp.asarray([[1.3, 0.0], [0.2, 0.9]]))
    moved, log_step, rate = run(lambda x: -0.5 * jnp.sum((inverse @ x) ** 2), points, gaussian)
    assert 0.1 < float(rate) < 0.9
    assert np.abs(np.asarray(moved.points) - np.asarray(points)).mean() > 0.5
    for axis in range(2):
        assert_quantiles(moved.points[:, axis], stats.norm.ppf(LEVELS))
    covariance = np.cov(np.asarray(moved.points).T)
    np.testing.assert_allclose(covariance, factor @ factor.T, rtol=0, atol=0.1)


def test_a_skewed_density_is_left_unchanged():
    """The log of a gamma variable, as posteriors of log scales are skewed."""
    shape = 1.5
    points = np.log(np.random.default_rng(1).gamma(shape, size=(COUNT, 1)))
    gaussian = moments(jnp.asarray(points), jnp.full(COUNT, -np.log(COUNT)))
    moved, _, rate = run(lambda x: jnp.sum(shape * x - jnp.exp(x)), jnp.asarray(points), gaussian)
    assert float(rate) > 0.2
    assert_quantiles(moved.points[:, 0], np.log(stats.gamma.ppf(LEVELS, shape)))
    found = np.asarray(moved.points).mean()
    assert found == pytest.approx(
        np.log(np.random.default_rng(2).gamma(shape, size=10**6)).mean(), abs=0.08
    )


def test_particles_from_elsewhere_arrive():
    points = jnp.asarray(np.random.default_rng(2).normal(3.0, 0.3, (COUNT, 1)))
    gaussian = Moments(jnp.zeros(1), jnp.eye(1))
    moved, _, _ = run(lambda x: -0.5 * jnp.sum(x**2), points, gaussian, moves=100)
    assert_quantiles(moved.points[:, 0], stats.norm.ppf(LEVELS))


def test_a_tempered_target_is_wider():
    """At power 1/4 a unit Gaussian likelihood has standard deviation 2."""
    points = jnp.asarray(np.random.default_rng(3).normal(0.0, 2.0, (COUNT, 1)))
    gaussian = Moments(jnp.zeros(1), 1.7 * jnp.eye(1))
    moved, _, _ = run(lambda x: -0.5 * jnp.sum(x**2), points, gaussian, temper=jnp.asarray(0.25))
    assert_quantiles(moved.points[:, 0], 2 * stats.norm.ppf(LEVELS))


def test_a_gaussian_target_accepts_every_step():
    points = jnp.asarray(np.random.default_rng(4).normal(size=(COUNT, 1)))
    gaussian = Moments(jnp.zeros(1), jnp.eye(1))
    _, log_step, rate = run(lambda x: -0.5 * jnp.sum(x**2), points, gaussian)
    assert float(rate) == pytest.approx(1.0, abs=1e-9)
    assert float(log_step) == 0.0


def test_points_without_density_are_never_entered():
    points = jnp.asarray(np.abs(np.random.default_rng(5).normal(size=(COUNT, 1))))
    gaussian = Moments(jnp.zeros(1), jnp.eye(1))

    def half(x):
        return jnp.where(x[0] > 0, -0.5 * x[0] ** 2, jnp.nan)

    moved, _, _ = run(half, points, gaussian)
    assert (np.asarray(moved.points) > 0).all()
    assert_quantiles(moved.points[:, 0], stats.halfnorm.ppf(LEVELS))


@pytest.mark.float32
def test_moments_and_distances():
    rng = np.random.default_rng(6)
    points, weights = rng.normal(size=(500, 3)), rng.dirichlet(np.ones(500))
    gaussian = moments(jnp.asarray(points), jnp.log(jnp.asarray(weights)))
    mean = weights @ points
    covariance = (points - mean).T @ ((points - mean) * weights[:, None])
    np.testing.assert_allclose(gaussian.mean, mean, rtol=0, atol=1e-5)
    np.testing.assert_allclose(gaussian.factor @ gaussian.factor.T, covariance, atol=1e-4)
    expected = np.einsum("ij,jk,ik->i", points - mean, np.linalg.inv(covariance), points - mean)
    np.testing.assert_allclose(distances(gaussian, jnp.asarray(points)), expected, rtol=1e-2)

"""Moves leave a density unchanged: particles that start as exact draws remain exact draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from cordial_ppl.inference.moves import Gaussian, Particles, decide, gaussian, init_pcn, propose

COUNT, MOVES = 4000, 12
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def unit(points):
    """A standard normal log density."""
    return -0.5 * jnp.sum(points**2, axis=1)


def around(mean, factor):
    mean, factor = np.array(mean), np.array(factor)
    return Gaussian(mean, factor, np.linalg.inv(factor))


def run(log_density, points, around, moves=MOVES, temper=1.0, seed=1):
    """Move particles under a density that is all likelihood."""

    def evaluate(points):
        return Particles(points, jnp.zeros(len(points)), log_density(points))

    @jax.jit
    def step(state, normal, uniform):
        stretched = normal[:, :-1] @ around.factor.T
        standard, proposed = propose(state, jnp.asarray(around.mean), normal, stretched)
        return decide(state, standard, evaluate(proposed), jnp.asarray(temper), uniform)

    rng, (count, size) = np.random.default_rng(seed), points.shape
    state = init_pcn(evaluate(points), around, jnp.log(0.6))
    for _ in range(moves):
        normal, uniform = rng.normal(size=(count, size + 1)), 1 - rng.random(count)
        state = step(state, normal, uniform)
    return jax.device_get((state.particles, state.log_step, state.rate))


def assert_quantiles(draws, expected):
    """Empirical shares below known quantiles, within four standard errors (most 1.4, sd .55)."""
    shares = (np.asarray(draws)[:, None] <= expected[None]).mean(axis=0)
    error = np.sqrt(LEVELS * (1 - LEVELS) / len(draws))
    assert np.abs((shares - LEVELS) / error).max() < 4


def test_a_gaussian_is_left_unchanged_whatever_the_preconditioner():
    rng = np.random.default_rng(0)
    factor = np.array([[1.0, 0.0], [0.8, 0.6]])
    points = rng.normal(size=(COUNT, 2)) @ factor.T
    inverse = np.linalg.inv(factor)
    # A mean and a covariance that are somewhat wrong cost acceptance, not exactness.
    near = around([0.3, -0.2], [[1.3, 0.0], [0.2, 0.9]])
    moved, _, rate = run(lambda x: -0.5 * jnp.sum((x @ inverse.T) ** 2, axis=1), points, near)
    assert 0.1 < rate < 0.9
    assert np.abs(moved.points - points).mean() > 0.5
    for axis in range(2):
        assert_quantiles(moved.points[:, axis], stats.norm.ppf(LEVELS))
    # The largest error is .021, sd .011 over 20 seeds.
    np.testing.assert_allclose(np.cov(moved.points.T), factor @ factor.T, rtol=0, atol=0.1)
    # At power 1/4 a unit Gaussian likelihood has standard deviation 2.
    points = np.random.default_rng(3).normal(0.0, 2.0, (COUNT, 1))
    moved, _, rate = run(unit, points, around([0.0], [[1.7]]), temper=0.25)
    assert rate > 0.5 and np.abs(moved.points - points).mean() > 0.5
    assert_quantiles(moved.points[:, 0], 2 * stats.norm.ppf(LEVELS))
    points = np.random.default_rng(4).normal(size=(COUNT, 1))
    _, log_step, rate = run(unit, points, around([0.0], [[1.0]]))
    assert rate == pytest.approx(1.0, abs=1e-9)
    assert log_step == 0.0


def test_a_skewed_density_and_one_with_an_end_are_left_unchanged():
    """The log of a gamma variable, as posteriors of log scales are skewed."""
    shape = 1.5
    points = np.log(np.random.default_rng(1).gamma(shape, size=(COUNT, 1)))
    own = gaussian(points, np.full(COUNT, -np.log(COUNT)))
    moved, _, rate = run(lambda x: jnp.sum(shape * x - jnp.exp(x), axis=1), points, own)
    assert rate > 0.2
    assert_quantiles(moved.points[:, 0], np.log(stats.gamma.ppf(LEVELS, shape)))
    # The standard deviation of such a mean is .015.
    assert moved.points.mean() == pytest.approx(special.digamma(shape), abs=0.08)
    points = np.abs(np.random.default_rng(5).normal(size=(COUNT, 1)))

    def half(x):
        return jnp.where(x[:, 0] > 0, -0.5 * x[:, 0] ** 2, jnp.nan)

    moved, log_step, rate = run(half, points, around([0.0], [[1.0]]))
    assert (moved.points > 0).all() and np.isfinite(log_step) and 0.1 < rate < 0.9
    assert np.abs(moved.points - points).mean() > 0.3
    assert_quantiles(moved.points[:, 0], stats.halfnorm.ppf(LEVELS))

"""Minimisation of many functions at once: ends, flags, several starts, what is out of reach."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der
from scipy.special import expit

from cordial_ppl.inference.minimise import minimise

SEEDS = st.integers(0, 2**32 - 1)


def each(function):
    """A function of one point as one of many."""
    return lambda points, at: np.array([function(x) for x in points])


def both(value, slope):
    return lambda points, at: (each(value)(points, at), each(slope)(points, at))


ROSENBROCK = both(rosen, rosen_der)


def double_well(points, at):
    """Minima at (+-1, 0), a saddle at the origin."""
    x, y = points.T
    return (x**2 - 1) ** 2 + y**2, np.stack([4 * x * (x**2 - 1), 2 * y], axis=1)


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 0.0, 3.0], [3.0, 3.0, -1.0, 2.0]])
def test_rosenbrock_ends_at_ones_in_about_as_many_evaluations_as_scipy_takes(start):
    found = minimise(ROSENBROCK, np.array([[start]]))
    assert found.converged.all() and found.gradient_norm[0] <= 1e-9
    np.testing.assert_allclose(found.x, 1.0, atol=1e-8)
    theirs = minimize(rosen, start, jac=rosen_der, method="BFGS", options={"gtol": 1e-9})
    assert found.rounds < 1.3 * theirs.nfev


@pytest.mark.parametrize("size", [1, 5, 27])
def test_newton_ends_a_quadratic_in_one_step_and_bfgs_in_more(size):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    matrix, centre = root @ root.T + np.eye(size), rng.normal(size=size)

    def fun(points, at):
        far = points - centre
        return 0.5 * np.vecdot(far, far @ matrix), far @ matrix

    starts = np.zeros((1, 1, size))
    newton = minimise(fun, starts, hessian=lambda x, at: np.tile(matrix, (len(x), 1, 1)))
    assert newton.converged.all() and newton.rounds <= 3
    np.testing.assert_allclose(newton.x[0], centre, atol=1e-9)
    found = minimise(fun, starts)
    assert found.converged.all()
    np.testing.assert_allclose(found.x[0], centre, atol=1e-8)


def test_flags_are_truthful():
    few = minimise(ROSENBROCK, np.array([[[-1.2, 1.0]]]), max_rounds=4)
    assert not few.converged[0] and few.rounds == 4 and few.gradient_norm[0] > 1e-3
    downhill = minimise(
        lambda x, at: (-x[:, 0], -np.ones_like(x)), np.zeros((1, 1, 1)), max_rounds=9
    )
    assert not downhill.converged[0] and downhill.value[0] < 0.0
    constant = minimise(lambda x, at: (3.0 + 0.0 * x[:, 0], 0.0 * x), np.ones((1, 1, 1)))
    assert constant.converged[0] and constant.x[0, 0] == 1.0 and constant.value[0] == 3.0
    noisy = minimise(lambda x, at: (1e8 + 0.0 * x[:, 0], np.full_like(x, 1e-7)), np.ones((1, 1, 1)))
    assert noisy.converged[0] and noisy.rounds < 500


def test_a_start_that_cannot_be_evaluated_is_returned_and_reported():
    def logs(points, at):
        return np.log(points).sum(axis=1), 1.0 / points

    found = minimise(logs, np.array([[[-1.0, 2.0]]]))
    assert not found.converged[0] and np.isinf(found.value[0]) and np.isinf(found.gradient_norm[0])
    np.testing.assert_array_equal(found.x, [[-1.0, 2.0]])


def test_steps_stay_out_of_where_the_function_ends():
    def fun(points, at):
        x, y = points.T
        slopes = [1.0 - 1.0 / x, 3.0 * np.exp(3.0 * y) - 1.0]
        return x - np.log(x) + np.exp(3.0 * y) - y, np.stack(slopes, axis=1)

    found = minimise(fun, np.array([[[1e-3, 8.0]]]))
    assert found.converged.all()
    np.testing.assert_allclose(found.x, [[1.0, -np.log(3.0) / 3.0]], atol=1e-8)


def test_no_step_is_longer_than_the_longest():
    seen = []

    def slope(points, at):
        seen.append(points[0, 0])
        return np.exp(-points[:, 0] / 100.0) * 1e4, np.exp(-points / 100.0) * -100.0

    minimise(slope, np.zeros((1, 1, 1)), max_rounds=20, max_length=2.5)
    assert 2.0 < max(np.diff(seen)) <= 2.5 + 1e-9


@given(SEEDS, st.sampled_from([0.1, 3.0, 50.0]))
@settings(max_examples=40)
def test_newton_and_bfgs_end_at_the_minimum_of_a_convex_loss(seed, scale):
    rng = np.random.default_rng(seed)
    signed = scale * rng.normal(size=(5, 12, 4)) * rng.choice([-1.0, 1.0], (5, 12, 1))

    def loss(points, at):
        margins = (signed[at] @ points[:, :, None])[:, :, 0]
        pulls = -(signed[at] * expit(-margins)[:, :, None]).mean(axis=1)
        value = np.logaddexp(0.0, -margins).mean(axis=1) + 5e-3 * (points**2).sum(axis=1)
        return value, pulls + 1e-2 * points

    def hessian(points, at):
        margins = (signed[at] @ points[:, :, None])[:, :, 0]
        bend = (expit(margins) * expit(-margins))[:, :, None] * signed[at] / 12
        return signed[at].swapaxes(1, 2) @ bend + 1e-2 * np.eye(4)

    starts = 3.0 * rng.normal(size=(5, 1, 4))
    newton, bfgs = minimise(loss, starts, hessian=hessian), minimise(loss, starts)
    for found in (newton, bfgs):
        assert found.converged.all()
        value, slope = loss(found.x, np.arange(5))
        np.testing.assert_allclose(found.value, value, rtol=1e-12)
        np.testing.assert_allclose(found.gradient_norm, np.abs(slope).max(axis=1), atol=1e-15)
    assert newton.rounds < 100
    np.testing.assert_allclose(bfgs.x, newton.x, rtol=0, atol=1e-6)


def test_what_is_done_is_evaluated_no_more():
    sizes = []

    def bowl(points, at):
        sizes.append(len(at))
        bend = np.array([1.0, 1e3, 1.0])[at][:, None] * np.arange(1, 5) ** 3
        return 0.5 * (bend * points**2).sum(axis=1), bend * points

    found = minimise(bowl, np.array([[[0.0] * 4], [[1.0] * 4], [[1e-12] * 4]]))
    assert found.converged.all()
    assert sizes[0] == 3 and set(sizes[1:]) == {1} and len(sizes) == found.rounds


def wells(depths):
    """Two minima in every coordinate, of which the one below zero is deeper by twice the depth."""

    def fun(points, at):
        depth = depths[at][:, None]
        value = ((points**2 - 1.0) ** 2 + depth * points).sum(axis=1)
        return value, 4.0 * points * (points**2 - 1.0) + depth

    return fun


def test_of_several_searches_the_lowest_goes_to_its_end():
    starts = np.array([[[1.0], [2.0], [-1.6], [0.3]]] * 2)
    depths, calls = np.array([0.3, -0.3]), []

    def counted(points, at):
        calls.append(len(at))
        return wells(depths)(points, at)

    found = minimise(counted, starts)
    assert found.converged.all() and (found.x[:, 0] * depths < 0).all()
    np.testing.assert_allclose(found.gradient_norm, 0.0, atol=1e-9)
    together, calls[:] = sum(calls), []
    alone = minimise(counted, starts.reshape(8, 1, 1)[[2]], tolerance=1e-9)
    np.testing.assert_allclose(found.x[0], alone.x[0], atol=1e-9)
    calls.clear()
    for depth in (0, 1):
        minimise(lambda x, at, d=depth: counted(x, at * 0 + d), starts[depth][:, None])
    assert together < sum(calls)

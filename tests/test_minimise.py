"""Newton's method for many functions at once: ends, flags, what is out of reach."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from cordial_ppl.inference.minimise import minimise

SEEDS = st.integers(0, 2**32 - 1)


def bend(points, at):
    return np.tile(np.eye(points.shape[1]), (len(points), 1, 1))


@pytest.mark.parametrize("size", [1, 5, 27])
def test_a_quadratic_ends_in_one_step(size):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    matrix, centre, calls = root @ root.T + np.eye(size), rng.normal(size=size), []

    def fun(points, at):
        calls.append(len(at))
        far = points - centre
        return 0.5 * np.vecdot(far, far @ matrix), far @ matrix

    found = minimise(fun, np.zeros((1, size)), lambda x, at: np.tile(matrix, (len(x), 1, 1)))
    assert found.converged.all() and len(calls) <= 3
    np.testing.assert_allclose(found.x[0], centre, atol=1e-9)


def test_flags_are_truthful():
    def downhill(x, at):
        return -x[:, 0], -np.ones_like(x)

    found = minimise(downhill, np.zeros((1, 1)), bend, max_rounds=9)
    assert not found.converged[0] and found.value[0] < 0.0 and found.gradient_norm[0] == 1.0
    constant = minimise(lambda x, at: (3.0 + 0.0 * x[:, 0], 0.0 * x), np.ones((1, 1)), bend)
    assert constant.converged[0] and constant.x[0, 0] == 1.0 and constant.value[0] == 3.0


def test_a_search_ends_where_rounding_leaves_nothing_to_gain():
    calls = []

    def noisy(x, at):
        calls.append(at)
        return 1e8 + 0.0 * x[:, 0], np.full_like(x, 1e-7)

    assert minimise(noisy, np.ones((1, 1)), bend).converged[0] and len(calls) < 5


def test_a_search_that_finds_no_step_ends_without_an_answer():
    calls = []

    def lone(x, at):
        calls.append(at)
        return np.where(x[:, 0] == 1.0, 0.0, np.inf), np.ones_like(x)

    found = minimise(lone, np.ones((1, 1)), bend)
    assert not found.converged[0] and found.x[0, 0] == 1.0 and len(calls) < 100


def test_a_start_that_cannot_be_evaluated_is_returned_and_reported():
    found = minimise(lambda x, at: (np.log(x).sum(axis=1), 1.0 / x), np.array([[-1.0, 2.0]]), bend)
    assert not found.converged[0] and np.isinf(found.value[0]) and np.isinf(found.gradient_norm[0])
    np.testing.assert_array_equal(found.x, [[-1.0, 2.0]])


def test_steps_stay_out_of_where_the_function_ends():
    def fun(points, at):
        x, y = points.T
        slopes = [1.0 - 1.0 / x, 3.0 * np.exp(3.0 * y) - 1.0]
        return x - np.log(x) + np.exp(3.0 * y) - y, np.stack(slopes, axis=1)

    def hessian(points, at):
        x, y = points.T
        return np.stack([1 / x**2, 9.0 * np.exp(3.0 * y)], axis=1)[:, :, None] * np.eye(2)

    found = minimise(fun, np.array([[5.0, 8.0]]), hessian)
    assert found.converged.all()
    np.testing.assert_allclose(found.x, [[1.0, -np.log(3.0) / 3.0]], atol=1e-8)


def test_no_step_is_longer_than_the_longest():
    seen = []

    def slope(points, at):
        seen.append(points[0, 0])
        return np.exp(-points[:, 0] / 100.0) * 1e4, np.exp(-points / 100.0) * -100.0

    minimise(slope, np.zeros((1, 1)), bend, max_rounds=20)
    assert 9.0 < max(np.diff(seen)) <= 10.0 + 1e-9


@given(SEEDS, st.sampled_from([0.1, 3.0, 50.0]))
@settings(max_examples=40)
def test_it_ends_at_the_minimum_of_convex_losses_together_as_one_by_one(seed, scale):
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
    found = minimise(loss, starts, hessian)
    assert found.converged.all()
    value, slope = loss(found.x, np.arange(5))
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)
    alone = minimise(lambda x, at: loss(x, at + 3), starts[3:4], lambda x, at: hessian(x, at + 3))
    np.testing.assert_allclose(found.x[3], alone.x[0], rtol=0, atol=1e-9)


def test_what_is_done_is_evaluated_no_more():
    sizes = []

    def bowl(points, at):
        sizes.append(len(at))
        return np.cosh(points).sum(axis=1), np.sinh(points)

    def hessian(points, at):
        return np.cosh(points)[:, :, None] * np.eye(4)

    found = minimise(bowl, np.array([[0.0] * 4, [1.0] * 4, [1e-12] * 4]), hessian)
    assert found.converged.all() and sizes[0] == 3 and set(sizes[1:]) == {1}

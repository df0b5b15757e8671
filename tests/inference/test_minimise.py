"""BFGS: where searches end, several starts, what is out of reach."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from cordial_ppl.inference.minimise import search


def bfgs(function, starts, rounds=1000):
    """Minimise a function from several starts."""
    starts = np.asarray(starts, float)
    run = jax.jit(lambda *given: search(jax.value_and_grad(function), *given))
    with jax.enable_x64(True):
        return jax.device_get(run(starts, np.full(len(starts), True), np.int32(rounds)))


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 0.0, 3.0], [3.0, 3.0, -1.0, 2.0]])
def test_rosenbrock_ends_at_ones_in_about_as_many_evaluations_as_scipy_takes(start):
    found = bfgs(rosenbrock, [start])
    assert np.abs(found.gradient).max() <= 1e-9
    np.testing.assert_allclose(found.x, 1.0, atol=1e-8)
    theirs = minimize(rosen, start, jac=rosen_der, method="BFGS", options={"gtol": 1e-9})
    assert found.rounds < 1.3 * theirs.nfev
    few = bfgs(rosenbrock, [start], rounds=4)
    assert few.rounds == 4 and np.abs(few.gradient).max() > 1e-3


def test_what_has_no_minimum_or_no_slope_ends():
    downhill = bfgs(lambda x: -x[0], np.zeros((1, 1)), rounds=9)
    assert downhill.rounds == 9 and downhill.value[0] < 0.0
    constant = bfgs(lambda x: 3.0 + 0.0 * x[0], np.ones((1, 1)))
    assert constant.x[0, 0] == 1.0 and constant.value[0] == 3.0 and constant.rounds == 1
    noisy = bfgs(lambda x: 1e8 + 1e-7 * x[0], np.ones((1, 1)))
    assert noisy.rounds < 500
    nowhere = bfgs(lambda x: jnp.log(x).sum(), [[-1.0, 2.0]])
    assert np.isinf(nowhere.value[0])
    np.testing.assert_array_equal(nowhere.x, [[-1.0, 2.0]])
    # The function ends at x = 0.
    start = np.array([[1e-3, 8.0]])
    found = bfgs(lambda x: x[0] - jnp.log(x[0]) + jnp.exp(3.0 * x[1]) - x[1], start)
    np.testing.assert_allclose(found.x, [[1.0, -np.log(3.0) / 3.0]], atol=1e-8)


@pytest.mark.parametrize("depth", [0.3, -0.3])
def test_of_several_searches_the_lowest_goes_to_its_end(depth):
    starts = np.array([1.0, 2.0, -1.6, 0.3])[:, None]
    ends = bfgs(lambda x: ((x**2 - 1.0) ** 2 + depth * x).sum(), starts)
    found = ends.lowest(4)
    assert found.x[0, 0] * depth < 0
    np.testing.assert_allclose(found.gradient, 0.0, atol=1e-9)
    # The others stop where they cannot be the lowest.
    assert np.abs(ends.gradient).max() > 1e-6

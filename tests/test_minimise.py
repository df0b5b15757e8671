import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl.inference.newton import minimise, minimise_pool

SEEDS = st.integers(0, 2**32 - 1)


def precision(dtype):
    return float(jnp.finfo(dtype).eps) ** 0.6


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def double_well(x):
    """Minima at (+-1, 0), a saddle at the origin."""
    return (x[0] ** 2 - 1.0) ** 2 + x[1] ** 2


def softplus_loss(weights, features, signs):
    return jnp.mean(jax.nn.softplus(-signs * (features @ weights))) + 5e-3 * jnp.sum(weights**2)


@pytest.mark.float32
@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 0.0, 3.0], [3.0, 3.0, -1.0, 2.0]])
def test_rosenbrock_ends_at_ones(start):
    start = jnp.asarray(start)
    found = jax.jit(lambda x: minimise(rosenbrock, x))(start)
    assert found.converged
    np.testing.assert_allclose(found.x, 1.0, atol=100 * precision(start.dtype))


@pytest.mark.float32
@pytest.mark.parametrize("size", [1, 5, 27])
def test_a_quadratic_takes_one_step(size):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    matrix = jnp.asarray(root @ root.T + np.eye(size))
    target = jnp.asarray(rng.normal(size=size))

    def fun(x):
        return 0.5 * (x - target) @ matrix @ (x - target)

    found = minimise(fun, jnp.zeros_like(target), max_length=100.0)
    assert found.converged and found.steps <= (2 if jax.config.jax_enable_x64 else 4)
    np.testing.assert_allclose(found.x, target, atol=1e3 * precision(target.dtype))
    np.testing.assert_allclose(found.hessian, matrix, rtol=1e-4, atol=1e-4)


@pytest.mark.float32
@pytest.mark.parametrize("start", [[0.1, 0.5], [-0.3, 2.0], [1e-3, -1.0]])
def test_an_indefinite_start_leads_to_a_minimum(start):
    found = minimise(double_well, jnp.asarray(start))
    assert found.converged
    sign = np.sign(start[0])
    np.testing.assert_allclose(found.x, [sign, 0.0], atol=10 * precision(found.x.dtype))


def test_flags_are_truthful():
    few = minimise(rosenbrock, jnp.asarray([-1.2, 1.0]), max_steps=3)
    assert not few.converged and few.steps == 3 and few.gradient_norm > 1e-3
    saddle = minimise(double_well, jnp.zeros(2))
    assert not saddle.converged and saddle.gradient_norm == 0.0
    downhill = minimise(lambda x: -x[0], jnp.zeros(1), max_steps=10)
    assert not downhill.converged and downhill.value < 0.0
    constant = minimise(lambda x: 0.0 * x[0] + 3.0, jnp.ones(1))
    assert constant.converged and constant.x[0] == 1.0


@pytest.mark.float32
def test_a_start_that_cannot_be_evaluated_is_returned_and_reported():
    found = minimise(lambda x: jnp.sum(jnp.log(x)), jnp.asarray([-1.0, 2.0]))
    assert not found.converged and np.isinf(found.value) and np.isinf(found.gradient_norm)
    np.testing.assert_array_equal(found.x, [-1.0, 2.0])
    assert np.all(np.isfinite(found.hessian))


@pytest.mark.float32
def test_steps_stay_out_of_where_the_function_ends():
    def fun(x):
        return x[0] - jnp.log(x[0]) + jnp.exp(3.0 * x[1]) - x[1]

    found = minimise(fun, jnp.asarray([1e-3, 8.0]))
    assert found.converged
    tolerance = 100 * precision(found.x.dtype)
    np.testing.assert_allclose(found.x, [1.0, -np.log(3.0) / 3.0], atol=tolerance)


@given(SEEDS, st.sampled_from([0.1, 3.0, 50.0]))
def test_a_convex_loss_ends_where_its_gradient_vanishes(seed, scale):
    rng = np.random.default_rng(seed)
    features = jnp.asarray(scale * rng.normal(size=(12, 4)))
    signs = jnp.asarray(rng.choice([-1.0, 1.0], 12))
    found = LOGISTIC(jnp.asarray(3.0 * rng.normal(size=4)), features, signs)
    gradient = jax.grad(softplus_loss)(found.x, features, signs)
    assert found.converged and found.steps < 40
    assert float(found.gradient_norm) == pytest.approx(float(jnp.abs(gradient).max()), abs=1e-12)
    error = np.linalg.solve(found.hessian, gradient)
    assert np.abs(error).max() <= 1e-9 * (1.0 + np.abs(found.x).max())


LOGISTIC = jax.jit(lambda x, f, s: minimise(lambda w: softplus_loss(w, f, s), x))


@pytest.mark.float32
def test_batched_is_looped():
    starts = jnp.asarray([[-1.2, 1.0], [2.0, 2.0], [0.0, 0.0], [-3.0, -3.0]])
    batched = jax.vmap(lambda x: minimise(rosenbrock, x))(starts)
    for i, start in enumerate(starts):
        alone = minimise(rosenbrock, start)
        np.testing.assert_allclose(batched.x[i], alone.x, atol=100 * precision(start.dtype))
        assert batched.converged[i] == alone.converged


def test_the_value_never_rises_and_is_the_function_at_the_point():
    start = jnp.asarray([-2.0, 3.0, -1.0])
    ends = [minimise(rosenbrock, start, max_steps=steps) for steps in (1, 2, 4, 8)]
    assert float(ends[0].value) == pytest.approx(float(rosenbrock(start)))
    assert np.all(np.diff([float(end.value) for end in ends]) <= 0.0)
    assert float(ends[-1].value) == pytest.approx(float(rosenbrock(ends[-1].x)))
    assert ends[-1].value < ends[0].value


def wells(x, depth):
    """Two minima, of which the one below zero is deeper by about twice the depth."""
    return jnp.sum((x**2 - 1.0) ** 2 + depth * x)


@pytest.mark.float32
@pytest.mark.parametrize("width", [1, 3, 8])
def test_of_several_searches_the_lowest_goes_to_its_end(width):
    starts = jnp.asarray([[1.0], [2.0], [-1.6], [0.3]] * 2)
    depths = jnp.asarray([0.3] * 4 + [-0.3] * 4)
    found = jax.jit(lambda s, d: minimise_pool(wells, s, d, width, group=4))(starts, depths)
    for low in (0, 4):
        best = low + int(jnp.argmin(found.value[low : low + 4]))
        alone = minimise(lambda x, d=depths[best]: wells(x, d), starts[best])
        assert found.converged[best]
        np.testing.assert_allclose(found.x[best], alone.x, atol=10 * precision(starts.dtype))
        assert float(found.x[best, 0] * depths[best]) < 0
    alone = jax.vmap(lambda s, d: minimise(lambda x: wells(x, d), s).steps)(starts, depths)
    assert int(found.steps.sum()) < int(alone.sum())


def test_how_close_searches_are_compared_is_in_the_functions_units():
    """Of a function a thousand times smaller, a thousandth of the tolerance."""
    starts, small = jnp.asarray([[1.0], [-1.6]]), jnp.asarray([3e-4, 3e-4])

    def shallow(x, depth):
        return 1e-3 * jnp.sum((x**2 - 1.0) ** 2) + jnp.sum(depth * x)

    found = minimise_pool(shallow, starts, small, 2, group=2, tolerance=1e-5)
    assert int(jnp.argmin(found.value)) == 1 and found.converged[1]


@pytest.mark.parametrize("group", [1, 2, 4])
def test_a_pool_ends_where_single_searches_do(group):
    starts = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)))
    scales = jnp.linspace(0.5, 2.0, 8)

    def bowl(x, scale):
        return jnp.sum(jnp.cosh(scale * x)) + jnp.sum(x)

    found = minimise_pool(bowl, starts, scales, 3, group=group)
    alone = jax.vmap(lambda s, d: minimise(lambda x: bowl(x, d), s))(starts, scales)
    if group == 1:
        np.testing.assert_allclose(found.x, alone.x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.value, alone.value, rtol=0, atol=0.01)

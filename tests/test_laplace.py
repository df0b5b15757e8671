"""The paper's literal method: golden modes, curvatures, weights and predictions."""

import json
from functools import cache
from pathlib import Path
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference.importance import effective_sample_size, normalise, pareto_smooth
from cordial_ppl.inference.laplace import (
    CURVATURE_FLOOR,
    DRAWS,
    INFLATION,
    find_mode,
    laplace_weights,
    sample_laplace,
    sample_mode,
    starts,
)
from cordial_ppl.inference.problem import Cloud, Problem, predict
from cordial_ppl.inference.target import Target, build_target
from cordial_ppl.readings import Readings

REFERENCE = json.loads((Path(__file__).parent / "reference" / "channels.json").read_text())
READINGS = Readings(jnp.asarray(REFERENCE["logits"]), jnp.asarray(REFERENCE["histogram"]))
LABELS = jnp.asarray(REFERENCE["labels"])
TEST = READINGS._replace(logits=jnp.asarray(REFERENCE["test_logits"]))
NOISE = np.array(REFERENCE["noise"])


@cache
def fitted(name):
    """The problem, its Laplace approximation, and points and weights for the golden noise."""
    target = build_target(CHANNELS[name], 5)
    problem = Problem(target, target.prior, READINGS, LABELS)
    noise = NOISE[: 100 * target.size].reshape(100, target.size)

    def run(noise):
        gaussian = find_mode(problem)
        return gaussian, *laplace_weights(problem, gaussian, noise, INFLATION)

    return problem, *jax.jit(run)(jnp.asarray(noise))


@pytest.mark.parametrize("name", REFERENCE["channels"])
def test_golden_mode_and_curvature(name):
    golden, (problem, gaussian, _, _) = REFERENCE["channels"][name], fitted(name)
    assert gaussian.converged and gaussian.gradient_norm < 1e-6
    np.testing.assert_allclose(problem.colour(gaussian.mean), golden["mode"], rtol=0, atol=1e-6)
    assert float(gaussian.log_density) == pytest.approx(golden["log_density_at_mode"], abs=1e-9)
    spread = problem.prior.scale[:, None] * np.asarray(gaussian.factor)
    hessian = np.linalg.inv(spread @ spread.T)
    np.testing.assert_allclose(hessian, golden["hessian_at_mode"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", REFERENCE["channels"])
def test_golden_importance_weights(name):
    golden = REFERENCE["channels"][name]["importance"]
    problem, _, points, log_weights = fitted(name)
    np.testing.assert_allclose(log_weights, golden["log_weights"], rtol=0, atol=1e-6)
    weights = np.exp(normalise(log_weights))
    np.testing.assert_allclose(weights, golden["weights"], rtol=1e-5)
    ess = float(effective_sample_size(log_weights))
    assert ess == pytest.approx(golden["ess"], rel=1e-6)
    smoothed, khat = pareto_smooth(log_weights)
    assert float(khat) == pytest.approx(golden["khat"], abs=1e-5)
    expected = np.array(golden["smoothed"])
    expected -= np.log(np.exp(expected).sum())
    np.testing.assert_allclose(smoothed, expected, rtol=0, atol=1e-5)
    nothing = jnp.zeros(())
    cloud = Cloud(
        draws=problem.colour(points),
        log_weights=normalise(log_weights),
        khat=nothing,
        ess=nothing,
        acceptance=nothing,
        gradient_norm=nothing,
        repairs=jnp.zeros((), jnp.int32),
    )
    probs = jax.jit(lambda c: predict(cast(Target, problem.target), c, TEST))(cloud)
    np.testing.assert_allclose(probs, golden["probs"], rtol=0, atol=1e-7)


def linear(readings, labels=None):
    """Logistic regression: a concave log density."""
    slope = numpyro.sample("slope", dist.Normal(1.0, 2.0))
    flat = numpyro.sample("flat", dist.Normal(0.0, 3.0))
    observe(jax.nn.log_softmax(slope * readings.logits + 0.0 * flat), labels)


@cache
def toy():
    target = build_target(Channel("linear", linear), 5)
    problem = Problem(target, target.prior, READINGS, LABELS)
    found = jax.jit(lambda key: (sample_laplace(problem, key), find_mode(problem)))
    return problem, *found(jax.random.key(0))


def test_literal_draws_are_three_hundred_of_the_inflated_gaussian():
    problem, cloud, gaussian = toy()
    assert cloud.draws.shape == (DRAWS, 2) == (300, 2)
    white = (
        np.asarray(problem.whiten(cloud.draws) - gaussian.mean[None])
        @ np.linalg.inv(gaussian.factor).T
    )
    np.testing.assert_allclose(np.cov(white.T), 1.5**2 * np.eye(2), rtol=0, atol=0.5)
    log_density = jax.vmap(problem.log_density)(problem.whiten(cloud.draws))
    expected = normalise(log_density + 0.5 * (white**2).sum(axis=1) / 1.5**2)
    np.testing.assert_allclose(cloud.log_weights, expected, rtol=0, atol=1e-6)
    # A posterior that is nearly Gaussian has the efficiency of the inflation alone.
    assert float(cloud.ess) / DRAWS == pytest.approx(1.203**-2, abs=0.1)
    assert np.isnan(cloud.acceptance) and int(cloud.repairs) == 0


def test_a_direction_without_data_is_as_wide_as_the_prior():
    _, _, gaussian = toy()
    covariance = np.asarray(gaussian.factor @ gaussian.factor.T)
    assert covariance[1, 1] == pytest.approx(1.0, rel=1e-6)


def ridge(readings, labels=None):
    """A log density that is flatter than the prior: it bends the other way."""
    a = numpyro.sample("a", dist.Normal(0.0, 1.0))
    tilt = 0.49 * a**2 / readings.logits.shape[0]
    observe(jnp.full(readings.logits.shape, 0.0) + tilt, labels)


def test_curvature_is_floored():
    target = build_target(Channel("ridge", ridge), 5)
    problem = Problem(target, target.prior, READINGS, LABELS)
    gaussian = jax.jit(lambda: find_mode(problem))()
    assert float(gaussian.factor[0, 0]) == pytest.approx(CURVATURE_FLOOR**-0.5, rel=1e-6)


def test_the_search_starts_where_the_paper_does():
    found = {tuple(point) for point in starts(build_target(CHANNELS["mixture"], 5)).tolist()}
    assert found == {
        (0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, -1.0, 0.0, 0.0, 0.0),
        (1.5, 0.0, 0.0, -2.0, 0.0),
    }
    np.testing.assert_array_equal(starts(cast(Target, toy()[0].target)), np.zeros((1, 2)))


def test_the_mode_is_one_draw():
    problem, _, gaussian = toy()
    cloud = jax.jit(lambda key: sample_mode(problem, key))(jax.random.key(0))
    np.testing.assert_allclose(cloud.draws, problem.colour(gaussian.mean[None]), atol=1e-12)
    assert float(cloud.log_weights[0]) == 0.0
    assert cloud.gradient_norm < 1e-6

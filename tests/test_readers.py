"""The location channel over several readers: golden values, and special cases."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import helmert
from three_readers import LABELS, THREE, THREE_TEST

from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.readers import location_readers, reader_weights
from cordial_ppl.inference.fit import fit_lanes
from cordial_ppl.inference.lanes import make_lanes
from cordial_ppl.inference.nuts import sample_nuts
from cordial_ppl.inference.problem import predict
from cordial_ppl.inference.target import build_target
from cordial_ppl.readings import Readings

REFERENCE = json.loads((Path(__file__).parent / "reference" / "readers.json").read_text())
LOGITS = np.array(REFERENCE["logits"]).swapaxes(0, 1)
READINGS = Readings(jnp.asarray(LOGITS), jnp.asarray(REFERENCE["histogram"]))
JOINT = Channel("all readers", location_readers)


def target_of(readers):
    return build_target(JOINT, 5, (), readers)


def log_posterior(flat):
    target = target_of(4)
    labels = jnp.asarray(REFERENCE["labels"])
    prior = target.log_prior(flat, target.prior, READINGS)
    return target.log_likelihood(flat, READINGS, labels) + prior


def test_golden_values():
    target, theta = target_of(4), jnp.asarray(REFERENCE["theta"])
    assert target.size == 2 * 4 + 3 == len(theta) and target.gaussian
    np.testing.assert_allclose(helmert(4).T, REFERENCE["basis"], rtol=0, atol=1e-15)
    value, gradient = jax.jit(jax.value_and_grad(log_posterior))(theta)
    np.testing.assert_allclose(value, REFERENCE["log_posterior"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(gradient, REFERENCE["gradient"], rtol=0, atol=1e-8)
    prior = target.log_prior(theta, target.prior, READINGS)
    np.testing.assert_allclose(prior, REFERENCE["log_prior"], rtol=0, atol=1e-8)
    found = target.probs(theta, READINGS)[:6]
    np.testing.assert_allclose(found, REFERENCE["probs"], rtol=0, atol=1e-8)


def test_golden_mode():
    target = target_of(4)
    lanes = make_lanes(LOGITS, np.array(REFERENCE["labels"]))
    lanes = lanes._replace(histograms=np.asarray(READINGS.histogram)[None])
    cloud = fit_lanes(target, lanes, jax.random.key(0), method="mode").cloud
    np.testing.assert_allclose(cloud.draws[0], REFERENCE["mode"], rtol=0, atol=1e-6)
    best = log_posterior(jnp.asarray(cloud.draws[0]))
    np.testing.assert_allclose(best, REFERENCE["log_posterior_at_mode"], rtol=0, atol=1e-8)


def test_one_reader_is_the_location_channel():
    own, one = build_target(CHANNELS["location"], 5), target_of(1)
    assert one.size == own.size == 5
    flat = jnp.asarray([0.3, -0.4, 0.2, 0.9, 1.5])
    alone = Readings(READINGS.logits[:, 0], READINGS.histogram)
    np.testing.assert_allclose(
        one.probs(flat, READINGS._replace(logits=READINGS.logits[:, :1])),
        own.probs(flat, alone),
        rtol=0,
        atol=1e-14,
    )


def test_the_order_of_readers_changes_nothing():
    order = np.array([2, 0, 3, 1])
    theta = np.array(REFERENCE["theta"])
    weights = np.asarray(reader_weights(theta[4:7]))
    contrast = helmert(4) @ np.log(weights[order])
    np.testing.assert_allclose(reader_weights(contrast), weights[order], rtol=0, atol=1e-14)
    other = np.concatenate([theta[:4][order], contrast, theta[7:]])
    target, moved = target_of(4), READINGS._replace(logits=READINGS.logits[:, order])
    found, expected = (
        target.probs(jnp.asarray(other), moved),
        target.probs(jnp.asarray(theta), READINGS),
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    # The prior is symmetric too: the basis is orthonormal.
    assert np.isclose((contrast**2).sum(), (theta[4:7] ** 2).sum())


def test_a_missing_reading_is_left_out():
    logits = LOGITS.copy()
    logits[:, 2:] = np.nan
    theta = np.array(REFERENCE["theta"])
    weights = np.asarray(reader_weights(theta[4:7]))[:2]
    contrast = helmert(2) @ np.log(weights / weights.sum())
    two = np.concatenate([theta[:2], contrast, theta[7:]])
    found = target_of(4).probs(jnp.asarray(theta), READINGS._replace(logits=jnp.asarray(logits)))
    expected = target_of(2).probs(
        jnp.asarray(two), READINGS._replace(logits=READINGS.logits[:, :2])
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    labels = jnp.asarray(REFERENCE["labels"])
    gappy = READINGS._replace(logits=jnp.asarray(logits))
    slope = jax.grad(target_of(4).log_likelihood)(jnp.asarray(theta), gappy, labels)
    assert np.isfinite(slope).all() and (slope[2:4] == 0).all() and (slope[:2] != 0).all()


def test_the_default_agrees_with_nuts():
    logits = THREE.copy()
    logits[::4, 1] = np.nan
    lanes = make_lanes(logits, LABELS)
    target, histogram = target_of(3), jnp.asarray(lanes.histograms[0])
    problem = lanes.problem(target, target.prior, jnp.asarray(lanes.labels[0]), histogram)
    texts = Readings(jnp.asarray(THREE_TEST), histogram)
    run = jax.jit(lambda cloud: predict(target, cloud, texts))
    default = run(fit_lanes(target, lanes, jax.random.key(1)).cloud)
    error = np.asarray(default - run(sample_nuts(problem, jax.random.key(0), warmup=500)))
    assert np.sqrt(np.mean(error**2)) < 0.015 and np.abs(error).max() < 0.06

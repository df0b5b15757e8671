"""The location channel over several readers: golden values, and special cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from few_labels import LABELS, THREE, THREE_TEST
from golden import read_golden
from scipy.linalg import helmert

import cordial_ppl as cp
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.forms import location_readers, reader_weights
from cordial_ppl.inference.target import build_target

REFERENCE = read_golden("readers")
LOGITS = np.array(REFERENCE["logits"]).swapaxes(0, 1)


def readings_of_four():
    return cp.Readings(jnp.asarray(LOGITS), jnp.asarray(REFERENCE["histogram"]))


JOINT = cp.channels.Channel("all readers", location_readers)


def target_of(readers):
    return build_target(JOINT, 5, (), readers)


def log_posterior(flat):
    target = target_of(4)
    labels = jnp.asarray(REFERENCE["labels"])
    prior = target.log_prior(flat, target.prior, readings_of_four())
    return target.log_likelihood(flat, readings_of_four(), labels) + prior, prior


def test_golden_values():
    target, theta = target_of(4), jnp.asarray(REFERENCE["theta"])
    assert target.size == 2 * 4 + 3 == len(theta) and target.gaussian
    np.testing.assert_allclose(helmert(4).T, REFERENCE["basis"], rtol=0, atol=1e-12)
    slopes = jax.jit(jax.value_and_grad(log_posterior, has_aux=True))
    (value, prior), gradient = slopes(theta)
    np.testing.assert_allclose(value, REFERENCE["log_posterior"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(gradient, REFERENCE["gradient"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(prior, REFERENCE["log_prior"], rtol=0, atol=1e-8)
    found = probs_of(theta, LOGITS, 4)[:6]
    np.testing.assert_allclose(found, REFERENCE["probs"], rtol=0, atol=1e-8)


def probs_of(theta, logits, readers):
    readings = readings_of_four()._replace(logits=jnp.asarray(logits))
    return jax.jit(target_of(readers).probs)(jnp.asarray(theta), readings)


def test_one_reader_is_the_location_channel():
    own, flat = build_target(CHANNELS["location"], 5), np.array([0.3, -0.4, 0.2, 0.9, 1.5])
    assert target_of(1).size == own.size == 5
    alone = cp.Readings(readings_of_four().logits[:, 0], readings_of_four().histogram)
    expected = jax.jit(own.probs)(jnp.asarray(flat), alone)
    np.testing.assert_allclose(probs_of(flat, LOGITS[:, :1], 1), expected, rtol=0, atol=1e-12)
    logits, theta = LOGITS.copy(), np.array(REFERENCE["theta"])
    logits[:, 2:] = np.nan
    weights = np.asarray(reader_weights(theta[4:7]))[:2]
    contrast = helmert(2) @ np.log(weights / weights.sum())
    two = np.concatenate([theta[:2], contrast, theta[7:]])
    expected = probs_of(two, LOGITS[:, :2], 2)
    np.testing.assert_allclose(probs_of(theta, logits, 4), expected, rtol=0, atol=1e-12)
    gappy = readings_of_four()._replace(logits=jnp.asarray(logits))
    labels = jnp.asarray(REFERENCE["labels"])
    slope = jax.jit(jax.grad(target_of(4).log_likelihood))(jnp.asarray(theta), gappy, labels)
    assert np.isfinite(slope).all() and (slope[2:4] == 0).all() and (slope[:2] != 0).all()


def gappy(logits):
    """Not every reader has read every text."""
    texts = np.arange(len(logits))[:, None, None]
    return np.where(texts % 4 == np.arange(3)[:, None], np.nan, logits)


@pytest.mark.nightly
@pytest.mark.literal
def test_the_public_functions_take_several_readers():
    logits, texts = gappy(THREE), gappy(THREE_TEST)
    default = cp.fit_channel("location-readers", logits, LABELS)
    reference = cp.fit_nuts("location-readers", logits, LABELS, draws=250, warmup=400)
    assert default.data.readers == 3 and default.diagnostics.trusted
    error = default.predict_proba(texts) - reference.predict_proba(texts)
    assert np.sqrt(np.mean(error**2)) < 0.015 and np.abs(error).max() < 0.06
    tree = reference.to_datatree()
    assert dict(tree["posterior"]["temperature"].sizes) == {"chain": 4, "draw": 250, "reader": 3}
    # Logits are centred, reader by reader.
    moved = logits + np.array([3.0, -1.0, 0.5])[None, :, None]
    first, again = (cp.fit_laplace("location-readers", own, LABELS) for own in (logits, moved))
    np.testing.assert_allclose(again.draws, first.draws, rtol=0, atol=1e-6)


def test_what_several_readers_are_refused():
    for channel, logits, message in (
        ("location-readers", THREE[:, 0], r"shape \[n, R, K\]; found \[20, 5\].*logits\[:, None\]"),
        ("location", THREE, r"shape \[n, K\] .*; found \[20, 3, 5\]"),
        (
            "location-readers",
            np.where(np.arange(20)[:, None, None] == 7, np.nan, THREE),
            "no judge rated row 7",
        ),
    ):
        with pytest.raises(cp.InputError, match=message):
            cp.fit_channel(channel, logits, LABELS)
    with pytest.raises(cp.ChannelError, match="'location-readers' models several judges"):
        cp.ChannelCalibrator("location-readers").fit(THREE[:, 0], LABELS)
    posterior = cp.fit_channel("location-readers", THREE, LABELS, method="mode")
    with pytest.raises(cp.InputError, match="cover 3 judges.* found 2"):
        posterior.predict_proba(THREE[:, :2])

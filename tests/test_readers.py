"""The location channel over several readers: golden values, and special cases."""

import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import helmert
from three_readers import LABELS, THREE, THREE_TEST

import cordial_ppl as cp
from cordial_ppl.channel import Channel
from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.readers import location_readers, reader_weights
from cordial_ppl.checks import check_channel, run
from cordial_ppl.inference import fit
from cordial_ppl.inference.data import Labelled
from cordial_ppl.inference.fit import Case, fit_cases
from cordial_ppl.inference.nuts import sample_nuts
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
    texts = Labelled(LOGITS, np.array(REFERENCE["labels"]), {})
    case = Case(texts, histogram=np.array(REFERENCE["histogram"]))
    found = fit_cases(target_of(4), [case], method="mode")[0].fitted.draws[0]
    np.testing.assert_allclose(found, REFERENCE["mode"], rtol=0, atol=1e-6)
    best = log_posterior(jnp.asarray(found))
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


def gappy(logits):
    """Not every reader has read every text."""
    return np.where(
        np.arange(len(logits))[:, None, None] % 4 == np.arange(3)[:, None], np.nan, logits
    )


def test_the_public_functions_take_several_readers(monkeypatch):
    monkeypatch.setattr(fit, "sample_nuts", partial(sample_nuts, draws=1000, warmup=400))
    logits = gappy(THREE)
    default = cp.fit_channel("location-readers", logits, LABELS)
    reference = cp.fit_nuts("location-readers", logits, LABELS)
    assert default.readers == 3 and default.diagnostics.trusted
    texts = gappy(THREE_TEST)
    error = default.predict_proba(texts) - reference.predict_proba(texts)
    assert np.sqrt(np.mean(error**2)) < 0.015 and np.abs(error).max() < 0.06
    tree = reference.to_datatree()
    assert dict(tree["posterior"]["temperature"].sizes) == {"chain": 4, "draw": 250, "reader": 3}
    # Logits are centred, reader by reader.
    moved = logits + np.array([3.0, -1.0, 0.5])[None, :, None]
    again = cp.fit_laplace("location-readers", moved, LABELS)
    first = cp.fit_laplace("location-readers", logits, LABELS)
    np.testing.assert_allclose(again.draws, first.draws, rtol=0, atol=1e-6)


def test_what_several_readers_are_refused():
    with pytest.raises(
        cp.InputError, match=r"shape \[n, R, K\]; found \[20, 5\].*logits\[:, None\]"
    ):
        cp.fit_channel("location-readers", THREE[:, 0], LABELS)
    with pytest.raises(cp.InputError, match=r"shape \[n, K\]; found \[20, 3, 5\]"):
        cp.fit_channel("location", THREE, LABELS)
    nobody = THREE.copy()
    nobody[7] = np.nan
    with pytest.raises(cp.InputError, match="no reader has read row 7"):
        cp.fit_channel("location-readers", nobody, LABELS)
    with pytest.raises(cp.ChannelError, match="'location-readers' is of several readers"):
        cp.ChannelCalibrator("location-readers").fit(THREE[:, 0], LABELS)
    posterior = cp.fit_channel("location-readers", THREE, LABELS, method="mode")
    with pytest.raises(cp.InputError, match="each of 3 readers.* found 2 readers"):
        posterior.predict_proba(THREE[:, :2])


def test_the_readers_channel_passes_its_checks(monkeypatch):
    # Without NUTS, which the test above compares with.
    monkeypatch.setattr(run, "check_posteriors", lambda *own: iter(()))
    report = check_channel("location-readers")
    assert report.status == "pass", report.text
    assert {finding.name for finding in report.findings} >= {"contract", "finite density", "time"}
    given = check_channel("location-readers", THREE, LABELS)
    assert given.status != "fail", given.text

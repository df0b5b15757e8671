"""The paper's channels: golden values, what must not change them, and the ends of their range."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden import read_golden
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.kernel import kernel, reading
from cordial_ppl.channels.kernel import softmax as quick_softmax
from cordial_ppl.data.labelled import Labelled, pad
from cordial_ppl.data.readings import Readings, label_histogram
from cordial_ppl.inference.programs import density
from cordial_ppl.inference.target import Prior, build_target
from cordial_ppl.runtime.compilation import compiled

REFERENCE = read_golden("channels")
READINGS = Readings(np.array(REFERENCE["logits"]), np.array(REFERENCE["histogram"]))
LABELS = np.array(REFERENCE["labels"])
TEST = READINGS._replace(logits=np.array(REFERENCE["test_logits"]))
ROWS = len(LABELS)
GOLDEN = tuple(REFERENCE["channels"])


@cache
def probs_of(name, size):
    return jax.jit(build_target(CHANNELS[name], size).probs)


@cache
def likelihood_of(name, size):
    """Log likelihood with its gradient, and the probabilities behind it."""
    target = build_target(CHANNELS[name], size)
    slopes = jax.value_and_grad(target.log_likelihood)
    return jax.jit(lambda flat, *given: (*slopes(flat, *given), target.probs(flat, given[0])))


EACH = [
    pytest.param(name, marks=() if name in ("mixture", "bridge") else pytest.mark.nightly)
    for name in CHANNELS
]
"""The channels; two of them stand for the others by day."""


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_probabilities(name):
    golden = REFERENCE["channels"][name]
    for theta, expected in (("theta", "probs"), ("mode", "probs_at_mode")):
        found = probs_of(name, 5)(np.array(golden[theta]), TEST)
        np.testing.assert_allclose(found, golden[expected], rtol=0, atol=1e-8)


def test_golden_reading_and_kernel():
    found = jax.jit(reading)(jnp.asarray(READINGS.logits), jnp.asarray(2.0))
    np.testing.assert_allclose(
        np.asarray(found).T, REFERENCE["reading_at_temperature_2"], rtol=0, atol=1e-12
    )
    golden = REFERENCE["kernel"]
    centres = jnp.asarray(golden["centres"])
    expected = np.exp(golden["log_kernel"])
    run = jax.jit(kernel, static_argnums=2)
    for column, concentration in enumerate(golden["concentrations"]):
        found = run(centres, jnp.asarray(concentration), 5)
        np.testing.assert_allclose(
            np.asarray(found).T, expected[:, column], rtol=1e-10, atol=1e-300
        )


def somewhere(name):
    """Parameters of a channel that are nowhere special."""
    if name in GOLDEN:
        return np.array(REFERENCE["channels"][name]["theta"])
    return np.random.default_rng(3).normal(size=build_target(CHANNELS[name], 5).size)


@pytest.mark.parametrize("name", EACH)
def test_padding_and_order_change_nothing(name):
    """All in one shape, which is compiled once: what padding holds makes no difference."""
    flat, run = somewhere(name), likelihood_of(name, 5)
    known = np.arange(ROWS) < ROWS - 3
    labels = np.where(known, LABELS, -1)
    value, slope, _ = run(flat, READINGS, labels)
    order = np.random.default_rng(0).permutation(ROWS)
    other = np.where(known[:, None], READINGS.logits, 0.0)
    for logits, own in ((READINGS.logits[order], labels[order]), (other, labels)):
        again, turned, _ = run(flat, READINGS._replace(logits=logits), own)
        assert float(again) == pytest.approx(float(value), rel=1e-11)
        np.testing.assert_allclose(turned, slope, rtol=1e-9, atol=1e-10)
    assert float(run(flat, READINGS, LABELS)[0]) < float(value)


@pytest.mark.parametrize("name", ["mixture", "mixture-vector"])
def test_the_scalar_channel_is_a_limit_of_the_mixture(name):
    """A concentration without end, no offset and unit gain trust or distrust the reader only."""
    scalar = name.replace("mixture", "scalar")
    log_temperature, strength = 0.4, 1.3
    flat = np.zeros(build_target(CHANNELS[name], 5).size)
    flat[:5] = [log_temperature, 0.0, 0.0, np.log(400.0), strength]
    vector = np.random.default_rng(0).normal(size=10) if "vector" in name else np.zeros(0)
    own = np.concatenate([flat[[0, 4]], vector])
    limit = probs_of(name, 5)(np.concatenate([flat[:5], vector]), TEST)
    np.testing.assert_allclose(limit, probs_of(scalar, 5)(own, TEST), rtol=0, atol=1e-12)
    rho = 1 / (1 + np.exp(-strength))
    stated = softmax(TEST.logits / np.exp(log_temperature), axis=1)
    expected = rho * stated + (1 - rho) * TEST.histogram
    np.testing.assert_allclose(probs_of(name, 5)(flat, TEST), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("form", "name"), [(40.0, "mixture"), (-40.0, "location")])
@pytest.mark.parametrize("size", [3, 5])
def test_the_bridge_ends_at_both_forms(form, name, size):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(12, size))
    readings = Readings(logits - logits.mean(axis=1, keepdims=True), np.full(size, 1 / size))
    flat, vector = np.array([0.3, 0.4, -0.2, 0.5, 1.0]), rng.normal(size=2 * size)
    expected = probs_of(f"{name}-vector", size)(np.concatenate([flat, vector]), readings)
    # An even histogram tilts nothing.
    between = np.concatenate([flat, [form, 0.7], vector])
    target = build_target(CHANNELS["bridge"], size)
    assert [*target.coordinates[5:7]] == ["form_log_odds", "tilt_log_odds"]
    assert target.size == len(between)
    found = probs_of("bridge", size)(between, readings)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", [-40.0, 0.3, 40.0])
@pytest.mark.parametrize("tilt", [-40.0, 0.0, 40.0])
def test_a_tilted_kernel_is_bayes_rule(form, tilt):
    """Of a Gaussian measurement, where the tilt is all: each point that is moved by itself."""
    size, histogram = 5, np.array([0.05, 0.1, 0.2, 0.25, 0.4])
    logits = np.random.default_rng(0).normal(size=(12, size))
    readings = Readings(logits - logits.mean(axis=1, keepdims=True), histogram)
    temperature, offset, gain, concentration = 0.3, 0.4, -0.2, -1.0
    share, power = 1 / (1 + np.exp(-np.array([form, tilt])))
    stated, options = softmax(readings.logits / np.exp(temperature), axis=1), np.arange(size)
    expected = np.zeros((12, size))
    for option in options:
        point = share * option + (1 - share) * stated @ options
        gaps = options - (np.exp(gain) * point + offset)[:, None]
        density = histogram**power * np.exp(-np.exp(concentration) * gaps**2)
        expected += stated[:, [option]] * density / density.sum(axis=1, keepdims=True)
    flat = [temperature, offset, gain, concentration, 40.0, form, tilt, *np.zeros(2 * size)]
    found = probs_of("bridge", size)(np.array(flat), readings)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@st.composite
def extremes(draw):
    size = draw(st.sampled_from([2, 5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = draw(st.sampled_from([0.0, 1.0, 60.0])) * rng.choice([-1.0, 0.3, 1.0], (ROWS, size))
    logits -= logits.mean(axis=1, keepdims=True)
    labels = rng.integers(-1, size, ROWS)
    flat = [
        draw(st.floats(-4, 4)),
        draw(st.floats(-12, 12)),
        draw(st.floats(-2, 2)),
        draw(st.floats(-8, 12)),
        draw(st.floats(-28, 28)),
    ]
    vector = rng.normal(size=2 * size) * draw(st.sampled_from([0.0, 1.0, 3.0]))
    return size, Readings(logits, label_histogram(labels, size)), labels, np.array(flat), vector


@pytest.mark.parametrize("name", EACH)
@settings(max_examples=60)
@given(extremes())
def test_nothing_overflows_at_the_ends(name, drawn):
    size, readings, labels, flat, vector = drawn
    few = flat[[0, 4]] if "scalar" in name else flat
    point = np.resize(np.append(few, vector), build_target(CHANNELS[name], size).size)
    value, slope, probs = likelihood_of(name, size)(point, readings, labels)
    assert np.isfinite(value) and np.isfinite(slope).all()
    assert (np.asarray(probs) > 0).all()
    np.testing.assert_allclose(np.sum(probs, axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [5, 17])
def test_scores_far_beyond_what_32_bits_resolve(size):
    """Scores of 1e10, such as a steep profile has, are rounded to the nearest thousand."""
    rng = np.random.default_rng(0)
    options = np.arange(size, dtype=np.float32)[:, None]

    @compiled
    @jax.vmap
    def profile(steep, skew, centres):
        distance = options - centres[None]
        side = jnp.exp(jnp.where(distance > 0, -skew, skew))
        return quick_softmax(-(steep * side * distance**2))

    steep, skew = np.exp(rng.uniform(0.0, 15.0, 512)), rng.uniform(-4.0, 4.0, 512)
    centres = np.tile(rng.uniform(-80.0, 80.0, (512, 1)), (1, 8))
    found = profile(*(np.asarray(part, np.float32) for part in (steep, skew, centres)))
    np.testing.assert_allclose(np.sum(found, axis=1), 1.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["bridge", "mixture-vector"])
def test_sums_over_many_options(name):
    """Beyond sixteen options sums are reductions: they say what those written out say."""
    size, few = 17, 5
    own, other = (build_target(CHANNELS[name], count).size - 2 * count for count in (size, few))
    flat = np.random.default_rng(0).normal(size=own)
    flat[3] = 8.0  # the profiles do not reach the options that are never read
    far = np.full((12, size - few), -600.0)
    logits = np.random.default_rng(1).normal(size=(12, few))
    wide = Readings(np.hstack([logits, far]), np.r_[np.full(few, 0.2), np.full(size - few, 1e-14)])
    narrow = Readings(logits, np.full(few, 0.2))
    flat[1:3] = 0.0
    assert own == other
    found = probs_of(name, size)(np.r_[flat, np.zeros(2 * size)], wide)
    expected = probs_of(name, few)(np.r_[flat, np.zeros(2 * few)], narrow)
    np.testing.assert_allclose(found[:, :few], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.sum(found, axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", EACH)
def test_huge_logits_keep_particles_finite(name):
    target, logits = build_target(CHANNELS[name], 5), 1e8 * np.array(REFERENCE["logits"])
    prior = Prior(*(part.astype(np.float32) for part in target.prior))
    data = pad(Labelled(logits, LABELS, {}), READINGS.histogram, np.float32)
    own, likelihood = density(target, prior, data, np.zeros((1, target.size), np.float32))
    assert np.isfinite(own) and np.isfinite(likelihood)

"""Proposition 1: ordered readings give ordered predictions, in both forms, and averaged."""

from functools import cache

import jax
import numpy as np
import pytest
from few_labels import LABELS, LOGITS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import cordial_ppl as cp
from cordial_ppl.channels import AFFINE_CHANNELS, CHANNELS
from cordial_ppl.evaluation.checks.density import violation
from cordial_ppl.inference.target import build_target

SIZE, ROUNDING = 5, 1e-12
FORMS = ("mixture", "location", "bridge")
SHARES = arrays(np.float64, SIZE, elements=st.floats(1e-6, 1.0))
WHITENED = arrays(np.float64, SIZE + 2, elements=st.floats(-4.0, 4.0))


@cache
def target_of(form):
    target = build_target(CHANNELS[form], SIZE)
    return target, jax.jit(target.probs)


def normalised(weights):
    return weights / weights.sum()


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60)
@given(SHARES, arrays(np.float64, SIZE - 1, elements=st.floats(0.0, 1.0)), SHARES, WHITENED)
def test_every_form_keeps_first_order_stochastic_order(name, shares, moved, histogram, whitened):
    target, probs_of = target_of(name)
    lower = normalised(shares)
    # A share of each option's mass moves one option up, the last first: stochastically larger.
    higher = lower.copy()
    for option in range(SIZE - 2, -1, -1):
        higher[option + 1] += moved[option] * lower[option]
        higher[option] -= moved[option] * lower[option]
    higher = np.maximum(higher, 1e-12) / np.maximum(higher, 1e-12).sum()
    assert violation(lower, higher) <= 1e-11
    # Any form and tilt of the bridge, and no options with factors or biases of their own.
    flat, shared = target.prior.loc.copy(), sum(not site.shape for site in target.sites)
    flat[:shared] += target.prior.scale[:shared] * whitened[:shared]
    temperature = np.exp(flat[target.coordinates.index("temperature")])
    # The readings are ordered at the temperature that the channel has.
    logits = temperature * np.log(np.stack([lower, higher]))
    logits -= logits.mean(axis=1, keepdims=True)
    probs = np.asarray(probs_of(flat, cp.Readings(logits, normalised(histogram))))
    assert violation(*probs) <= 1e-9


@pytest.mark.literal
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "mixture" else pytest.mark.nightly)
        for name in AFFINE_CHANNELS
    ],
)
@pytest.mark.filterwarnings("ignore:labels fall as")
def test_the_posterior_predictive_keeps_the_order_of_saturated_readings(name):
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, SIZE, len(LABELS))
        judge = cp.ChannelCalibrator(name, inference="laplace").fit(LOGITS, labels)
        probs = judge.predict_proba(990 * np.eye(SIZE))
        assert violation(probs[:-1], probs[1:]).max() <= ROUNDING

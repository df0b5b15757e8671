"""Single calibrators as estimators."""

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, assert_probabilities

import cordial_ppl as cp
from cordial_ppl.errors import InputError, NotFittedError

SINGLES = [
    cp.TemperatureScaling,
    cp.VectorScaling,
    cp.ProportionalOdds,
    lambda o: cp.ChannelCalibrator("mixture", o),
]


@pytest.mark.parametrize("make", SINGLES, ids=["temperature", "vector", "odds", "channel"])
def test_single_calibrators(make):
    estimator = make(STARS)
    with pytest.raises(NotFittedError, match="is not fitted"):
        estimator.predict_proba(TEST)
    assert estimator.fit(LOGITS, LABELS + 1) is estimator
    probs = estimator.predict_proba(TEST)
    assert_probabilities(probs, 40, 5)
    assert list(estimator.predict(TEST)) == [STARS[k] for k in probs.argmax(axis=1)]
    np.testing.assert_allclose(estimator.predict_mean(TEST), probs @ np.arange(1.0, 6.0))
    with pytest.raises(InputError, match="5"):
        estimator.predict_proba(np.zeros((3, 4)))


def test_single_calibrators_are_the_members(stack):
    lone = cp.TemperatureScaling().fit(LOGITS, LABELS)
    member = stack.fits_["temperature"]
    np.testing.assert_allclose(lone.params_.temperature, member.params.temperature)
    channel = cp.ChannelCalibrator("mixture").fit(LOGITS, LABELS)
    found = channel.predict_proba(TEST)
    expected = stack.posteriors_["mixture"].predict_proba(TEST)
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.02


def test_a_channel_by_itself_is_a_stack_of_one():
    channel = cp.ChannelCalibrator("mixture", inference="mode").fit(LOGITS, LABELS)
    assert channel.weights_ == {"mixture": 1.0} and channel.posterior_.channel.name == "mixture"
    assert "from mixture" in channel.summary() and "folds" not in channel.summary()
    low, high = channel.predict_interval(TEST)
    mean = channel.predict_mean(TEST)
    np.testing.assert_allclose((low, high), (mean, mean), atol=1e-5)  # A mode has one answer.
    assert not hasattr(cp.ChannelCalibrator("full").fit(LOGITS, LABELS), "posterior_")

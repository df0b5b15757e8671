"""Single calibrators as estimators."""

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import InputError, NotFittedError
from cordial_ppl.synthetic import reviews

TEXTS = reviews(300, seed=1)
LOGITS, LABELS = TEXTS.logits[:20], TEXTS.labels[:20]
TEST, TRUTH = TEXTS.logits[100:140], TEXTS.labels[100:140]
STARS = ("1", "2", "3", "4", "5")


def small(options=None, seed=0, **settings):
    """A stack that has every kind of member and few of each."""
    calibrators = ("temperature", "odds")
    return Stack(options, channels=("mixture",), calibrators=calibrators, seed=seed, **settings)


@pytest.fixture(scope="module")
def stack():
    return small().fit(LOGITS, LABELS)


def assert_probabilities(probs, rows, size):
    assert probs.shape == (rows, size) and probs.dtype == np.float64
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=0, atol=1e-12)


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
    member = stack._fits["temperature"]
    np.testing.assert_allclose(lone.params_.temperature, member.params.temperature)
    channel = cp.ChannelCalibrator("mixture").fit(LOGITS, LABELS)
    found = channel.predict_proba(TEST)
    expected = stack.posteriors_["mixture"].predict_proba(TEST)
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.02

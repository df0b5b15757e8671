"""The estimators: what any user may hand in, and what must come back."""

import jax.numpy as jnp
import numpy as np
import pandas
import polars
import pytest
from few_labels import (
    LABELS,
    LOGITS,
    STARS,
    TEST,
    WEIGHTS,
    assert_probabilities,
    lengthy,
    small,
)

import cordial_ppl as cp
from cordial_ppl.channel import Channel
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import ChannelError, CordialWarning, InputError, NotFittedError
from cordial_ppl.synthetic import reviews

WORDS = ("schlecht", "坏", "so là là", "good", "ausgezeichnet ★")


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (None, LABELS.tolist()),
        (None, LABELS.astype(float)),
        (None, jnp.asarray(LABELS)),
        (STARS, LABELS + 1),
        (STARS, [f"{k + 1}.0" for k in LABELS]),
        (WORDS, [WORDS[k] for k in LABELS]),
        (WORDS, pandas.Series([WORDS[k] for k in LABELS], index=range(7, 27))),
        (WORDS, polars.Series([WORDS[k] for k in LABELS])),
    ],
    ids=["list", "float", "jax", "stars", "strings", "words", "pandas", "polars"],
)
def test_labels_of_every_kind(stack, options, labels):
    found = small(options).fit(LOGITS, labels)
    np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))
    if options is WORDS:
        assert set(found.predict(TEST)) <= set(WORDS)


@pytest.mark.parametrize(
    "frame",
    [np.ndarray.tolist, jnp.asarray, pandas.DataFrame, polars.DataFrame],
    ids=["list", "jax", "pandas", "polars"],
)
def test_readings_of_every_kind(stack, frame):
    found = small().fit(frame(LOGITS), LABELS)
    np.testing.assert_array_equal(found.predict_proba(frame(TEST)), stack.predict_proba(TEST))


def test_a_constant_of_a_text_says_nothing(stack):
    shift = np.random.default_rng(0).normal(size=(40, 1)) * 10
    found = stack.predict_proba(TEST + shift)
    np.testing.assert_allclose(found, stack.predict_proba(TEST), rtol=0, atol=1e-5)


def test_one_label():
    found = small().fit(LOGITS[:1], LABELS[:1])
    assert_probabilities(found.predict_proba(TEST), 40, 5)
    np.testing.assert_allclose(list(found.weights_.values()), WEIGHTS, rtol=1e-12)
    assert np.isnan(found.expected_.cordial) and np.isnan(found.expected_.histogram)
    assert found.expected_.labels == 1 and np.isfinite(found.expected_.raw)
    assert found.summary()


@pytest.mark.parametrize("labels", [np.full(20, 4), np.tile([1, 3], 10)], ids=["one", "two"])
def test_classes_that_are_never_seen(labels):
    found = small().fit(LOGITS, labels)
    probs = found.predict_proba(TEST)
    assert_probabilities(probs, 40, 5)
    assert (probs > 0).all()
    assert probs[:, np.unique(labels)].sum() > 0.5 * probs.sum()


def test_readings_that_are_all_alike():
    found = small().fit(np.tile(LOGITS[:1], (20, 1)), LABELS)
    probs = found.predict_proba(np.tile(LOGITS[:1], (40, 1)))
    assert_probabilities(probs, 40, 5)
    shares = np.bincount(LABELS, minlength=5) / 20
    np.testing.assert_allclose(probs[0], shares, rtol=0, atol=0.2)


def test_readings_that_say_nothing():
    found = small().fit(np.zeros((20, 5)), LABELS)
    assert_probabilities(found.predict_proba(TEST), 40, 5)


def test_options_that_were_not_read():
    masked = np.where(np.random.default_rng(0).random((20, 5)) < 0.2, -np.inf, LOGITS)
    masked[:, 4] = LOGITS[:, 4]
    with pytest.warns(CordialWarning, match="have no reading"):
        found = small().fit(masked, LABELS)
    assert_probabilities(found.predict_proba(TEST), 40, 5)


@pytest.mark.filterwarnings("ignore:the posterior of channel:cordial_ppl.errors.CordialWarning")
@pytest.mark.parametrize("size", [2, 11])
def test_short_and_long_scales(size):
    texts = reviews(52, seed=2, options=size)
    found = Stack(texts.options, channels=("mixture-vector",), calibrators=("odds",))
    found.fit(texts.logits[:12], texts.labels[:12] + 1)
    assert_probabilities(found.predict_proba(texts.logits[12:]), 40, size)
    low, high = found.predict_interval(texts.logits[12:])
    assert (low >= 1).all() and (high <= size).all()


def test_covariates():
    rng = np.random.default_rng(0)
    length, other = rng.normal(size=20), rng.normal(size=40)
    found = cp.ChannelCalibrator(Channel("lengthy", lengthy))
    found.fit(LOGITS, LABELS, {"length": length})
    assert_probabilities(found.predict_proba(TEST, {"length": other}), 40, 5)
    with pytest.raises(InputError, match="covariate 'length': give it here too"):
        found.predict_proba(TEST)
    with pytest.raises(InputError, match=r"shape \(20,\); got shape \(3,\)"):
        found.fit(LOGITS, LABELS, {"length": length[:3]})
    with pytest.raises(InputError, match="'length' is nan in row 4"):
        found.fit(LOGITS, LABELS, {"length": np.where(np.arange(20) == 4, np.nan, length)})
    with pytest.raises(InputError, match="uses the covariate 'length'.* not given"):
        cp.ChannelCalibrator(Channel("lengthy", lengthy)).fit(LOGITS, LABELS)


def test_what_cannot_be_used(stack):
    with pytest.raises(NotFittedError, match=r"Cordial is not fitted: call fit\(logits, labels\)"):
        cp.Cordial().predict_proba(TEST)
    with pytest.raises(NotFittedError):
        cp.Cordial().predict_interval(TEST)
    with pytest.raises(InputError, match="20 rows came with 19 labels"):
        small().fit(LOGITS, LABELS[:19])
    with pytest.raises(InputError, match="5"):
        stack.predict_proba(np.zeros((3, 4)))
    with pytest.raises(InputError, match="one of default, laplace, mode, nuts"):
        cp.Cordial(inference="exact")
    with pytest.raises(InputError, match="two members of the stack are called 'mixture'"):
        cp.Cordial(channels=("mixture",))
    with pytest.raises(ChannelError, match="no channel is called"):
        cp.Cordial(channels=("mixed",))
    with pytest.raises(InputError, match="penalty"):
        cp.ProportionalOdds(penalty="none")
    with pytest.raises(InputError):
        cp.Cordial(("a", "b")).fit(LOGITS, LABELS)


def test_a_failed_fit_leaves_an_estimator_unfitted():
    estimator = small()
    with pytest.raises(InputError):
        estimator.fit(LOGITS, LABELS + 1)
    with pytest.raises(NotFittedError):
        estimator.predict_proba(TEST)

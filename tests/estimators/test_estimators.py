"""The estimators: what any user may hand in, and what must come back."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, WEIGHTS, assert_probabilities, lengthy, small
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

import cordial_ppl as cp
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.synthetic import reviews

WORDS = ("schlecht", "坏", "so là là", "good", "ausgezeichnet ★")


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (STARS, LABELS + 1),
        (STARS, [f"{k + 1}.0" for k in LABELS]),
        (WORDS, [WORDS[k] for k in LABELS]),
        (WORDS, pandas.Series([WORDS[k] for k in LABELS], index=range(7, 27))),
    ],
    ids=["stars", "strings", "words", "pandas"],
)
def test_labels_of_every_kind(stack, options, labels):
    found = small(options).fit(LOGITS, labels)
    np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))
    if options is WORDS:
        assert set(found.predict(TEST)) <= set(WORDS)


def test_one_label_and_what_cannot_be_used(stack):
    found = small().fit(LOGITS[:1], LABELS[:1])
    assert_probabilities(found.predict_proba(TEST), 40, 5)
    np.testing.assert_allclose(list(found.weights_.values()), WEIGHTS, rtol=1e-12)
    assert np.isnan(found.fit_.expected.cordial) and np.isnan(found.fit_.expected.histogram)
    assert found.fit_.expected.labels == 1 and np.isfinite(found.fit_.expected.raw)
    assert found.summary()
    with pytest.raises(cp.InputError, match="5 columns; found 4"):
        stack.predict_proba(np.zeros((3, 4)))


@pytest.mark.parametrize("labels", [np.full(20, 4), np.tile([1, 3], 10)], ids=["one", "two"])
def test_classes_that_are_never_seen(labels):
    found = small().fit(LOGITS, labels)
    probs = found.predict_proba(TEST)
    assert_probabilities(probs, 40, 5)
    assert (probs > 0).all()
    assert probs[:, np.unique(labels)].sum() > 0.5 * probs.sum()


@pytest.mark.filterwarnings("ignore:the posterior of channel:cordial_ppl.errors.CordialWarning")
@pytest.mark.parametrize("size", [2, pytest.param(11, marks=pytest.mark.nightly)])
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
    found = cp.ChannelCalibrator(cp.channels.Channel("lengthy", lengthy))
    found.fit(LOGITS, LABELS, {"length": length})
    assert_probabilities(found.predict_proba(TEST, {"length": other}), 40, 5)
    with pytest.raises(cp.InputError, match="covariate 'length'"):
        found.predict_proba(TEST)
    with pytest.raises(cp.InputError, match=r"20 texts; got shape \[3\]"):
        found.fit(LOGITS, LABELS, {"length": length[:3]})
    with pytest.raises(cp.InputError, match="'length' .* nan in row 4"):
        found.fit(LOGITS, LABELS, {"length": np.where(np.arange(20) == 4, np.nan, length)})
    with pytest.raises(cp.InputError, match="needs the covariate 'length'"):
        cp.ChannelCalibrator(cp.channels.Channel("lengthy", lengthy)).fit(LOGITS, LABELS)


def with_covariates(look_up):
    def model(readings, labels=None):
        slope = numpyro.sample("slope", dist.Normal(0.0, 0.1))
        tau = jnp.exp(slope * look_up(readings.covariates))
        cp.observe(jax.nn.log_softmax(readings.logits / tau[:, None], axis=1), labels)

    return cp.ChannelCalibrator(cp.channels.Channel("own", model), inference="mode")


@pytest.mark.parametrize(
    ("calibrator", "facts"),
    [
        (cp.TemperatureScaling(), "2 covariates: 'length', 'lenght'. No channel"),
        (cp.LogitStack(), "2 covariates: 'length', 'lenght'. No channel"),
        (with_covariates(lambda given: given["length"]), "1 covariate: 'lenght'.* only 'length'"),
        (with_covariates(lambda given: given["lenght"].sum(axis=1)), "1 .*: 'length'.* 'lenght'"),
    ],
)
def test_covariates_without_effect_are_named_and_not_asked_for_again(calibrator, facts):
    covariates = {"length": np.linspace(-1, 1, 20), "lenght": np.ones((20, 2))}
    with pytest.warns(cp.CordialWarning, match=facts):
        calibrator.fit(LOGITS, LABELS, covariates)
    kept = {name.partition("[")[0] for name in calibrator.fit_.covariates}
    used = {name: column for name, column in covariates.items() if name in kept}
    assert_probabilities(calibrator.predict_proba(LOGITS, used), 20, 5)


@pytest.mark.parametrize(
    "look_up",
    [
        lambda given: sum(given[name] for name in given),
        lambda given: sum(given.values()),
        lambda given: given["other"] if "other" in given else given["length"] + given["width"],
        lambda given: given.get("other", 0.0) + given["length"] * given["width"],
    ],
)
def test_covariates_that_are_looked_up_in_any_way_are_used(look_up):
    covariates = {"length": np.linspace(-1, 1, 20), "width": np.ones(20)}
    fitted = with_covariates(look_up).fit(LOGITS, LABELS, covariates)
    assert {*fitted.fit_.covariates} == {*covariates}


def test_entries_of_a_long_vector_keep_their_order():
    vectors = np.random.default_rng(0).normal(size=(20, 12))
    whole = with_covariates(lambda given: given["vector"][:, 2])
    alone = with_covariates(lambda given: given["entry"])
    predicted = whole.fit(LOGITS, LABELS, {"vector": vectors}).predict_proba(
        LOGITS, {"vector": vectors}
    )
    entry = {"entry": vectors[:, 2]}
    expected = alone.fit(LOGITS, LABELS, entry).predict_proba(LOGITS, entry)
    np.testing.assert_allclose(predicted, expected, atol=1e-5)


def mixture(**settings):
    return Stack(channels=("mixture",), **settings)


PRIOR = cp.priors.Prior(np.zeros(5), np.ones(5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cp.Cordial(inference="exact"), "default, laplace, mode, nuts"),
        (lambda: cp.Cordial(channels=("mixture",)), "two stack members .* 'mixture'"),
        (lambda: mixture(calibrators=("foo",)), "accepts only temperature, vector"),
        (lambda: mixture(prior={"location": PRIOR}), "got 'location'"),
        (lambda: mixture(weight_counts={"odd": 1.0}), "accepts only mixture, .*, odds; got 'odd'"),
        (lambda: mixture(weight_counts={"odds": -1}), "'odds' must be .* got -1"),
        (lambda: cp.LogitStack(seed=-1), r"seed .* from 0 to 4294967295; got -1"),
        (lambda: mixture().set_params(effort=64), "an Effort; got 64"),
        (lambda: cp.LogitStack(calibrators=()), "at least one channel or calibrator"),
        (lambda: mixture(effort=cp.Effort(particles=1)), "effort.particles .* 64"),
        (lambda: mixture(effort=cp.Effort(least_ess=np.nan)), "effort.least_ess .* nan"),
        (lambda: cp.ProportionalOdds(penalty="none"), "accepts only fixed, cv"),
        (
            lambda: cp.ChannelCalibrator("full", inference="nuts"),
            "does not accept `inference` or `prior`",
        ),
        (lambda: cp.ScalarStack(weight_counts={"mixture": 1.0}), "weight_counts accepts"),
    ],
)
def test_settings_are_validated_by_fit(make, message):
    estimator = make()
    with pytest.raises(cp.InputError, match=message):
        estimator.fit(LOGITS, LABELS)
    assert not hasattr(estimator, "fit_")


@pytest.mark.parametrize(
    "estimator",
    [
        cp.TemperatureScaling(STARS),
        cp.VectorScaling(STARS),
        cp.ProportionalOdds(STARS, penalty="cv"),
        cp.DirichletCalibration(STARS),
        cp.calibrators.LabelHistogram(STARS),
        cp.RawReading(STARS),
        cp.BatchCalibration(STARS),
        cp.ChannelCalibrator("full", STARS),
        cp.ChannelCalibrator("mixture", STARS, inference="mode"),
        cp.LogitStack(STARS),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_have_one_interface(estimator):
    assert not hasattr(estimator, "classes_") and not hasattr(estimator, "n_features_in_")
    with pytest.raises(cp.NotFittedError, match="is not fitted"):
        estimator.predict_proba(TEST)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(estimator)
    assert is_classifier(estimator) and estimator.fit(LOGITS, LABELS + 1) is estimator
    check_is_fitted(estimator)
    assert estimator.classes_.tolist() == list(STARS) and estimator.n_features_in_ == 5
    named = [STARS[k] for k in LABELS]
    assert estimator.score(LOGITS, LABELS + 1) == estimator.score(LOGITS, named)
    probs, mean = estimator.predict_proba(TEST), estimator.predict_mean(TEST)
    assert_probabilities(probs, 40, 5)
    assert list(estimator.predict(TEST)) == [STARS[k] for k in probs.argmax(axis=1)]
    np.testing.assert_allclose(mean, probs @ np.arange(1.0, 6.0))
    low, high = estimator.predict_interval(TEST)
    assert (low <= mean).all() and (mean <= high).all()
    assert sum(estimator.fit_.weights.values()) == pytest.approx(1.0)
    if not isinstance(estimator, cp.RawReading | cp.BatchCalibration):
        assert estimator.fit_.expected.labels == 20 and estimator.fit_.expected.raw > 0
        assert estimator.fit_.labelled.labels.tolist() == LABELS.tolist()
    assert "Weights of the members" in estimator.summary()


def test_label_free_calibrators_need_no_labels():
    raw = cp.RawReading().fit(LOGITS)
    stated = softmax(TEST, axis=1)
    np.testing.assert_allclose(raw.predict_proba(TEST), stated, rtol=1e-9)
    batch = cp.BatchCalibration(STARS)
    alone = batch.fit(LOGITS).predict_proba(TEST)
    np.testing.assert_array_equal(batch.fit(LOGITS, [None] * 20).predict_proba(TEST), alone)
    with pytest.raises(cp.InputError, match="4 columns but 5 options"):
        batch.fit(LOGITS[:, :4])
    # A text counts once, however many labels it has.
    rows = np.repeat(np.arange(20), np.arange(20) % 3 + 1)
    several = cp.BatchCalibration(STARS).fit(LOGITS[rows], texts=rows)
    np.testing.assert_allclose(several.predict_proba(TEST), alone, rtol=1e-6)
    np.testing.assert_array_equal(several.fit_.sketch, batch.fit(LOGITS).fit_.sketch)

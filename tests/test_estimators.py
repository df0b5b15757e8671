"""The estimators: what any user may hand in, and what must come back."""

import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas
import polars
import pytest

import cordial_ppl as cp
from cordial_ppl.calibrators import CALIBRATORS
from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import CHANNELS
from cordial_ppl.cordial.settings import check_seed
from cordial_ppl.cordial.stack import Stack
from cordial_ppl.errors import ChannelError, CordialWarning, InputError, NotFittedError
from cordial_ppl.inference.target import Prior
from cordial_ppl.scores import log_loss
from cordial_ppl.synthetic import reviews

TEXTS = reviews(300, seed=1)
LOGITS, LABELS = TEXTS.logits[:20], TEXTS.labels[:20]
TEST, TRUTH = TEXTS.logits[100:140], TEXTS.labels[100:140]
STARS = ("1", "2", "3", "4", "5")
WORDS = ("schlecht", "坏", "so là là", "good", "ausgezeichnet ★")
MEMBERS = [
    "mixture",
    "mixture-vector",
    "location",
    "location-vector",
    "temperature",
    "vector",
    "odds",
]


@pytest.fixture(scope="module")
def judge():
    return cp.Cordial(STARS).fit(LOGITS, np.array(STARS)[LABELS])


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


def test_the_stack_of_seven(judge):
    probs = judge.predict_proba(TEST)
    assert_probabilities(probs, 40, 5)
    assert list(judge.weights_) == MEMBERS
    assert sum(judge.weights_.values()) == pytest.approx(1.0, abs=1e-9)
    assert min(judge.weights_.values()) > 0
    assert list(judge.posteriors_) == MEMBERS[:4]
    assert all(p.diagnostics.trusted for p in judge.posteriors_.values())
    assert judge.scale_.options == STARS
    expected = judge.expected_
    assert expected.labels == 20 and 0 < expected.cordial < expected.raw
    assert "mixture" in judge.summary()


def test_it_beats_the_raw_reading(judge):
    raw = np.asarray(jax.nn.softmax(TEST))
    assert log_loss(judge.predict_proba(TEST), TRUTH) < 0.8 * log_loss(raw, TRUTH)


def test_predictions_are_the_weighted_members(judge):
    parts = [
        judge.weights_[name] * judge._fits[name].predict_centred(TEST - TEST.mean(1)[:, None], {})
        for name in MEMBERS
    ]
    np.testing.assert_allclose(judge.predict_proba(TEST), sum(parts), rtol=0, atol=1e-6)


def test_options_and_means_in_the_users_terms(judge, stack):
    probs = judge.predict_proba(TEST)
    assert list(judge.predict(TEST)) == [STARS[k] for k in probs.argmax(axis=1)]
    np.testing.assert_allclose(judge.predict_mean(TEST), probs @ np.arange(1.0, 6.0), rtol=1e-12)
    probs = stack.predict_proba(TEST)
    np.testing.assert_array_equal(stack.predict(TEST), probs.argmax(axis=1))
    np.testing.assert_allclose(stack.predict_mean(TEST), probs @ np.arange(5.0), rtol=1e-12)


def test_intervals(judge):
    low, high = judge.predict_interval(TEST)
    mean = judge.predict_mean(TEST)
    assert (low <= high).all() and (low >= 1).all() and (high <= 5).all()
    assert ((low <= mean) & (mean <= high)).mean() > 0.95
    inner, outer = judge.predict_interval(TEST, level=0.5), judge.predict_interval(TEST, level=0.99)
    assert (inner[0] >= low).all() and (inner[1] <= high).all()
    assert (outer[0] <= low).all() and (outer[1] >= high).all()


def test_intervals_narrow_with_labels(stack, eight):
    widths = [np.mean(np.subtract(*fit.predict_interval(TEST)[::-1])) for fit in (eight, stack)]
    assert 0 < widths[1] < 0.9 * widths[0]


def test_seeds(judge, stack):
    again = cp.Cordial(STARS).fit(LOGITS, np.array(STARS)[LABELS])
    np.testing.assert_array_equal(again.predict_proba(TEST), judge.predict_proba(TEST))
    assert again.weights_ == judge.weights_
    other = small(seed=1).fit(LOGITS, LABELS)
    difference = np.abs(other.predict_proba(TEST) - stack.predict_proba(TEST)).max()
    assert 0 < difference < 0.3


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
    np.testing.assert_allclose(list(found.weights_.values()), 1 / 3, rtol=1e-12)
    assert np.isnan(found.expected_.cordial) and np.isnan(found.expected_.histogram)
    assert found.expected_.labels == 1 and np.isfinite(found.expected_.raw)
    assert found.summary()


@pytest.fixture(scope="module")
def eight():
    return small().fit(LOGITS[:8], LABELS[:8])


def test_weights_are_equal_below_eight_labels(eight):
    seven = small().fit(LOGITS[:7], LABELS[:7])
    np.testing.assert_allclose(list(seven.weights_.values()), 1 / 3, rtol=1e-12)
    assert np.ptp(list(eight.weights_.values())) > 1e-3


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
    with pytest.warns(CordialWarning, match="-inf"):
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


def test_the_stack_without_channels():
    found = cp.LogitStack().fit(LOGITS, LABELS)
    assert list(found.weights_) == ["temperature", "vector", "odds"]
    assert found.posteriors_ == {}
    assert_probabilities(found.predict_proba(TEST), 40, 5)
    low, high = found.predict_interval(TEST)
    assert (low <= high).all()


def test_a_prior_by_channel_name():
    loc, scale = np.array([0.5, 1.0, 0.0, 1.0, 3.0]), np.full(5, 1e-3)
    found = small(prior={"mixture": Prior(loc, scale)}).fit(LOGITS, LABELS)
    np.testing.assert_allclose(found.posteriors_["mixture"].draws.mean(axis=0), loc, atol=1e-3)


def test_the_paper_presets():
    flat, counted = cp.Cordial.paper(), cp.Cordial.paper(weights="one-count")
    assert (flat.inference, counted.inference) == ("laplace", "laplace")
    assert set(flat.weight_counts.values()) == {0.0}
    assert set(counted.weight_counts.values()) == {1.0}
    assert set(counted.weight_counts) == set(flat.members) == set(MEMBERS)
    with pytest.raises(InputError, match="'flat' or 'one-count'"):
        cp.Cordial.paper(weights="two")


def lengthy(readings, labels=None):
    slope = numpyro.sample("slope", dist.Normal(1.0, 1.0))
    tilt = numpyro.sample("tilt", dist.Normal(0.0, 1.0))
    extra = tilt * readings.covariates["length"][:, None] * jnp.linspace(-1.0, 1.0, 5)[None]
    observe(jax.nn.log_softmax(slope * readings.logits + extra), labels)


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
    with pytest.raises(ChannelError, match="length"):
        cp.ChannelCalibrator(Channel("lengthy", lengthy)).fit(LOGITS, LABELS)


def rugged(readings, labels=None):
    """A density that no number of particles can sample."""
    place = numpyro.sample("place", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    depth = 5.0 * jnp.sum(1 + jnp.sin(1e5 * place))
    observe(jnp.zeros_like(readings.logits) - depth, labels)


def test_a_posterior_that_is_not_reliable_is_warned_of():
    doubtful = Stack(channels=(Channel("rugged", rugged),), calibrators=("temperature",))
    with pytest.warns(CordialWarning, match="channel 'rugged' is not reliable.*nuts"):
        doubtful.fit(LOGITS, LABELS)
    assert not doubtful.posteriors_["rugged"].diagnostics.trusted


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
        cp.ProportionalOdds(penalty="cv")
    with pytest.raises(InputError):
        cp.Cordial(("a", "b")).fit(LOGITS, LABELS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"calibrators": ("foo",)}, "calibrators may name one of temperature, vector, odds"),
        ({"prior": {"location": Prior(np.zeros(5), np.ones(5))}}, "one of mixture; got 'location'"),
        ({"weight_counts": {"odd": 1.0}}, "one of mixture, temperature, vector, odds; got 'odd'"),
        ({"weight_counts": {"odds": -1}}, "0 or more; got -1 for 'odds'"),
        ({"weight_counts": {"odds": np.nan}}, "0 or more; got nan for 'odds'"),
        ({"seed": -1}, r"whole number 0\.\.4294967295; got -1"),
    ],
)
def test_settings_that_mean_nothing(settings, message):
    with pytest.raises(InputError, match=message):
        Stack(channels=("mixture",), **settings)
    if "seed" in settings:
        for make in (lambda **s: cp.ChannelCalibrator("mixture", **s), cp.LogitStack):
            with pytest.raises(InputError, match=message):
                make(**settings)


@pytest.mark.parametrize("seed", [0.5, "1", None, 2**32])
def test_seeds_that_are_none(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        check_seed(seed)
    assert check_seed(np.int64(3)) == 3


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, np.nan])
def test_levels_that_are_no_probability(stack, level):
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        stack.predict_interval(TEST, level=level)


def test_what_is_registered_later_is_no_member(monkeypatch):
    monkeypatch.setitem(CHANNELS, "lengthy", Channel("lengthy", lengthy))
    monkeypatch.setitem(CALIBRATORS, "more", CALIBRATORS["odds"])
    for judge in (cp.Cordial(), cp.Cordial.paper()):
        assert list(judge.members) == MEMBERS
    assert cp.LogitStack().members == ("temperature", "vector", "odds")
    assert cp.Cordial(channels=("lengthy",)).members[4] == "lengthy"


def test_a_failed_fit_leaves_an_estimator_unfitted():
    estimator = small()
    with pytest.raises(InputError):
        estimator.fit(LOGITS, LABELS + 1)
    with pytest.raises(NotFittedError):
        estimator.predict_proba(TEST)


SCRIPT = """
import jax, numpy as np, sys
import cordial_ppl as cp
from cordial_ppl.synthetic import reviews
texts = reviews(300, seed=1)
labels = np.array(("1", "2", "3", "4", "5"))[texts.labels[:20]]
judge = cp.Cordial(("1", "2", "3", "4", "5")).fit(texts.logits[:20], labels)
probs = judge.predict_proba(texts.logits[100:140])
low, high = judge.predict_interval(texts.logits[100:140])
assert not jax.config.jax_enable_x64
np.savez(sys.argv[1], probs=probs, low=low, high=high, raw=judge.expected_.raw)
"""


@pytest.mark.x64
def test_the_users_precision_is_left_alone(judge, tmp_path):
    """A process with JAX's default settings gets the same numbers and keeps its settings."""
    out = tmp_path / "found.npz"
    environment = {k: v for k, v in os.environ.items() if k != "JAX_ENABLE_X64"}
    environment["JAX_COMPILATION_CACHE_DIR"] = str(jax.config.jax_compilation_cache_dir)
    subprocess.run([sys.executable, "-c", SCRIPT, str(out)], check=True, env=environment)
    with np.load(out) as found:
        np.testing.assert_array_equal(found["probs"], judge.predict_proba(TEST))
        np.testing.assert_array_equal([found["low"], found["high"]], judge.predict_interval(TEST))
        assert float(found["raw"]) == judge.expected_.raw
    assert jax.config.jax_enable_x64


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small().fit(LOGITS, LABELS).predict_interval(TEST)


def test_a_member_with_constants_of_another_precision():
    stack = Stack(channels=(Channel("lengthy", lengthy),), calibrators=("temperature",))
    length = np.linspace(-1, 1, 20)
    stack.fit(LOGITS, LABELS, {"length": length})
    other = np.linspace(-1, 1, 40)
    assert_probabilities(stack.predict_proba(TEST, {"length": other}), 40, 5)
    low, high = stack.predict_interval(TEST, covariates={"length": other})
    assert (low <= high).all()

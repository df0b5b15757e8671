"""Sixteen plain NumPyro channels: each fits as bare NUTS does, or is refused with true words."""

import warnings

import common_channels as common
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from few_labels import LABELS, LOGITS, TEST

import cordial_ppl as cp
from cordial_ppl.channels import Channel
from cordial_ppl.channels.forms import scalar
from cordial_ppl.channels.likelihood import as_ordinal
from cordial_ppl.data.readings import as_logits, label_histogram
from cordial_ppl.evaluation.checks import check_channel, exactness
from cordial_ppl.evaluation.checks.density import check_finite
from cordial_ppl.evaluation.checks.trial import take_trial
from cordial_ppl.inference import programs

dist = common.dist
SEEN, UNSEEN = common.make_covariates(len(LABELS), 1), common.make_covariates(len(TEST), 2)
FITTED = [name for name in common.CHANNELS if name != "second_site"]
pytestmark = pytest.mark.filterwarnings("ignore:ignored . covariate")  # Some use none of them.


@pytest.fixture(autouse=True)
def as_users_have_it():
    """Plain models add rows to matrices."""
    with jax.numpy_rank_promotion("allow"):
        yield


def channel(name):
    return Channel(name, common.CHANNELS[name], levels=tuple(common.LEVELS.items()))


def fit(name, method="default"):
    return cp.fit_channel(channel(name), LOGITS, LABELS, method=method, covariates=SEEN)


@pytest.mark.nightly
@pytest.mark.parametrize("name", FITTED)
def test_the_default_predicts_as_bare_nuts_does(name):
    fitted = fit(name)
    histogram = label_histogram(LABELS, 5)
    first = cp.Readings(as_logits(LOGITS), histogram, SEEN)
    last = cp.Readings(as_logits(TEST), histogram, UNSEEN)
    expected, rhat, _ = common.sample_by_numpyro(name, first, LABELS, last)
    assert rhat < 1.1 and fitted.diagnostics.trusted
    apart = fitted.predict_proba(TEST, UNSEEN) - expected
    assert np.sqrt(np.mean(apart**2)) < 0.02


def test_what_is_observed_beside_the_labels_is_refused_as_that():
    with pytest.raises(cp.ChannelError, match="second observed site 'stated'.*Remove the site"):
        fit("second_site")

    def votes(readings, labels=None):
        slope = numpyro.sample("slope", dist.HalfNormal(1.0))
        logits = slope * readings.logits
        with numpyro.plate("texts", len(logits)):
            numpyro.sample("label", dist.Categorical(logits=logits), obs=labels)
            counted = jnp.ones(logits.shape, int)
            numpyro.sample("votes", dist.Multinomial(5, logits=logits), obs=counted)

    with pytest.raises(cp.ChannelError, match="second observed site 'votes'"):
        cp.fit_channel(Channel("votes", votes), LOGITS, LABELS)

    def measured(readings, labels=None):
        place = common.stated(readings)
        with numpyro.plate("texts", len(place)):
            numpyro.sample("label", dist.Normal(place, 1.0), obs=labels)

    with pytest.raises(cp.ChannelError, match="a density for its labels, but labels are options"):
        cp.fit_channel(Channel("measured", measured), LOGITS, LABELS)


@pytest.mark.parametrize(
    "method",
    ["mode", *(pytest.param(own, marks=pytest.mark.nightly) for own in ("laplace", "nuts"))],
)
def test_a_gradient_that_is_not_finite_is_named(method):
    with pytest.raises(cp.InputError, match="its gradient for spread is not"):
        fit("censored_ends", method)
    finding = check_finite(take_trial(channel("censored_ends"), LOGITS, LABELS, SEEN))
    assert "finite, but the gradient is not" in finding.words
    # What the message says to do.
    mended = Channel("mended", common.censored(1e6))
    assert np.isfinite(cp.fit_channel(mended, LOGITS, LABELS, method="mode").draws).all()


@pytest.mark.nightly
def test_the_default_needs_no_gradient():
    assert fit("censored_ends").diagnostics.trusted


@pytest.mark.parametrize(
    "fn",
    [
        lambda base: base,
        lambda base: dist.ZeroInflatedDistribution(base, gate=jnp.array([0.3, 0.1])),
        lambda base: dist.ZeroInflatedDistribution(base, gate_logits=jnp.array([0.3, -2.0])),
        lambda base: dist.MixtureGeneral(
            dist.Categorical(logits=jnp.array([0.5, -0.2])),
            [base, dist.Binomial(200, probs=jnp.array([0.1, 0.7]))],
            support=dist.constraints.integer_interval(0, 200),
        ),
    ],
    ids=["itself", "zero-inflated", "by log odds", "mixed"],
)
def test_likelihoods_of_gamma_functions_are_those_of_numpyro(fn):
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):

        @jax.jit
        def both(labels):
            base = dist.BetaBinomial(jnp.array([0.01, 20.0]), jnp.array([3.0, 0.5]), 200)
            return as_ordinal(fn(base), 201).log_prob(labels), fn(base).log_prob(labels)

        # The beta functions of NumPyro are right to 2e-8.
        for option in (0, 1, 7, 199, 200):
            np.testing.assert_allclose(*both(jnp.full(2, option)), rtol=1e-7)


def halving(readings, labels=None):
    """Invert a function by halving an interval, as who knows no closed form."""
    place = common.stated(readings)
    slope = numpyro.sample("slope", dist.HalfNormal(1.0))

    def halve(_, ends):
        middle = ends.mean(axis=0)
        below = middle + jnp.tanh(middle) < slope * place
        return jnp.where(below, jnp.stack([middle, ends[1]]), jnp.stack([ends[0], middle]))

    ends = jnp.stack([jnp.zeros(len(place)), slope * place])
    centre = jax.lax.fori_loop(0, 300, halve, ends).mean(axis=0)
    logits = -((centre[:, None] - jnp.arange(5.0)) ** 2)
    with numpyro.plate("texts", len(place)):
        numpyro.sample("label", dist.Categorical(logits=logits), obs=labels)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["beta_binomial", "zero_inflated"])
def test_likelihoods_of_gamma_functions_are_not_slow(name):
    report = exactness.check_speed(take_trial(channel(name), LOGITS, LABELS, SEEN))
    # Twice and seven times; two beta functions an option took 3,000 times as long.
    assert report and report.figures["ratio"] < 40


def test_a_slow_channel_is_warned_of(monkeypatch):
    slow = Channel("halving", halving)
    monkeypatch.setattr(programs, "PATIENCE", 0.01)
    with pytest.warns(cp.CordialWarning, match="'halving' takes .* ns per text and option"):
        finding = exactness.check_speed(take_trial(slow, LOGITS, LABELS, None))
    # Three hundred times.
    assert finding and finding.status == "warn" and finding.figures["ratio"] > 50
    assert "e+" not in finding.words


def test_a_channel_of_the_package_is_not_called_slow_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(programs, "PATIENCE", 0.0)
    monkeypatch.setattr(programs, "PACE", 1e-15)
    texts = cp.synthetic.reviews(20, options=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cp.ChannelCalibrator("bridge").fit(texts.logits, texts.labels)


def test_the_speed_of_a_fit_without_moves_is_left_out():
    easy, checks = Channel("easy", scalar), (exactness.check_speed, exactness.check_diagnostics)
    report = check_channel(easy, LOGITS, LABELS[:1], checks=checks)
    assert "inf times" not in report.text and report["diagnostics"].status == "pass"

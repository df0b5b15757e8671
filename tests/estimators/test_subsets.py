"""Fits of many subsets at once are the fits of each subset alone."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.estimators.subsets import BatchFit, fit_subsets
from cordial_ppl.evaluation.synthetic import reviews

TEXTS = reviews(160, seed=4)
LOGITS = as_logits(TEXTS.logits)
POOL = Labelled(LOGITS[:100], TEXTS.labels[:100])
REPORT = without_labels(LOGITS[100:], {})
SEEDS = (3, 0, 8)
MODES = ("laplace", "mode")


def tempered(readings, labels=None):
    temperature = numpyro.sample("temperature", dist.Normal(1.0, 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    lean = offset * jnp.arange(readings.logits.shape[1], dtype=readings.logits.dtype)[None]
    cp.observe(jax.nn.log_softmax(readings.logits / jnp.exp(temperature) + lean), labels)


CHANNEL = cp.channels.Channel("tempered", tempered)


def draw(n):
    rng = np.random.default_rng(n)
    return np.stack([rng.permutation(100)[:n] for _ in SEEDS])


def make(name, seed):
    stack = {"channels": (CHANNEL,), "calibrators": ("temperature", "odds")}
    return {
        "temperature": lambda: cp.TemperatureScaling(),
        "histogram": lambda: cp.calibrators.LabelHistogram(),
        "logit-stack": lambda: cp.LogitStack(seed=seed),
        "laplace": lambda: Stack(**stack, inference="laplace", seed=seed),
        "mode": lambda: cp.ChannelCalibrator(CHANNEL, inference="mode", seed=seed),
        "default": lambda: Stack(**stack, seed=seed),
        # In units of the readings' spread, which differs by subset.
        "learned": lambda: Stack(
            channels=("mixture",), calibrators=(), prior=cp.priors.shipped_prior(), inference="mode"
        ),
    }[name]()


def fit(estimators, n=20, **settings):
    """The fits, none of which may have failed."""
    found = fit_subsets(estimators, POOL, draw(n), SEEDS, REPORT, **settings)
    assert all(isinstance(own, BatchFit) for own in found.values()), found
    return {name: own for name, own in found.items() if isinstance(own, BatchFit)}


@pytest.fixture(scope="module")
def fits():
    names = ("temperature", "histogram", "logit-stack", "default", "learned")
    few = {name: make(name, 0) for name in names}
    return {6: fit(few, 6), 20: fit(few | {name: make(name, 0) for name in MODES})}


@pytest.mark.x64
@pytest.mark.parametrize("n", [6, 20])
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("temperature", 1e-9),
        ("histogram", 1e-12),
        ("logit-stack", 1e-9),
        ("default", 1e-6),
        ("learned", 1e-5),
    ],
)
def test_a_subset_is_fitted_as_it_would_be_alone(fits, n, name, tolerance):
    found = fits[n][name]
    for place, (rows, seed) in enumerate(zip(draw(n), SEEDS, strict=True)):
        alone = make(name, seed).fit(POOL.logits[rows], POOL.labels[rows])
        expected = alone.predict_proba(REPORT.logits)
        np.testing.assert_allclose(found.probs[place], expected, atol=tolerance)
        if isinstance(alone, Stack):
            weights = list(alone.weights_.values())
            np.testing.assert_allclose(found.weights[place], weights, atol=max(tolerance, 1e-6))
            posteriors = alone.posteriors_.values()
            expected = [posterior.diagnostics.method for posterior in posteriors]
            assert [own[place].method for own in found.diagnostics] == expected


@pytest.mark.parametrize("n", [6, 20])
def test_a_calibrator_is_fitted_as_if_no_other_were(n):
    """A stack's folds do not reach one that is validated by folds of its own."""
    estimators = {
        "odds": cp.ProportionalOdds(penalty="cv"),
        "stack": Stack(calibrators=["odds-cv"]),
    }
    rows = draw(n)
    found = fit(estimators, n)
    for name, alone in estimators.items():
        for place, (own, seed) in enumerate(zip(rows, SEEDS, strict=True)):
            if name == "stack":
                alone.set_params(seed=seed)
            expected = alone.fit(POOL.logits[own], POOL.labels[own]).predict_proba(REPORT.logits)
            np.testing.assert_allclose(found[name].probs[place], expected, rtol=0, atol=1e-6)


def test_a_member_that_fails_takes_no_other_with_it(monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("no such luck")

    monkeypatch.setattr("cordial_ppl.stack.members.fit_cases", fail)
    estimators = {"bad": Stack(channels=(CHANNEL,)), "good": cp.DirichletCalibration()}
    found = fit_subsets(estimators, POOL, draw(20), SEEDS, REPORT)
    assert str(found["bad"]) == "no such luck" and isinstance(found["bad"], FloatingPointError)
    good = found["good"]
    assert isinstance(good, BatchFit) and np.isfinite(good.probs).all()

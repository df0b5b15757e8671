"""NUTS samples the NumPyro model itself; our own density and the default posterior must agree."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.readings import Readings, as_logits, label_histogram
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.nuts import Nuts, sample_nuts
from cordial_ppl.inference.target import Prior, Target, build_target

TEXTS = reviews(60, seed=3)
LOGITS = as_logits(TEXTS.logits)
LABELS = TEXTS.labels[:20]
SEEN = Labelled(LOGITS[:20], LABELS), label_histogram(LABELS, 5)
READINGS = Readings(LOGITS[:20], SEEN[1])
TRACED = []


def powered(readings, labels=None):
    """One parameter, whose prior and likelihood are scaled."""
    with handlers.scale(scale=0.5):
        slope = numpyro.sample("slope", dist.HalfNormal(2.0))
        cp.observe(jax.nn.log_softmax(slope * readings.logits, axis=1), labels)


def steep(readings, labels=None):
    """One parameter, whose prior can be replaced."""
    TRACED.append(None)
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    cp.observe(jax.nn.log_softmax(slope * readings.logits, axis=1), labels)


def cut(readings, labels=None):
    """The likelihood is zero for half of the prior."""
    slope = numpyro.sample("slope", dist.Normal(0.0, 3.0))
    allowed = jnp.where(jnp.asarray(slope) > 0, 0.0, -jnp.inf)
    cp.observe(jax.nn.log_softmax(slope * readings.logits, axis=1) + allowed, labels)


@partial(jax.jit, static_argnums=0)
def log_densities(target, points, prior, weights):
    return jax.vmap(lambda u: target.log_density(u, prior, READINGS, LABELS, weights))(points)


def exact(target, prior, weights=None):
    """Mean and standard deviation of the one parameter by a sum over our own density."""
    grid, weights = np.linspace(-6, 3, 4001), np.ones(20) if weights is None else weights
    logs = np.asarray(log_densities(target, grid[:, None], prior, weights))
    weights = np.exp(logs - logs.max())
    mean = np.average(grid, weights=weights)
    return mean, np.sqrt(np.average((grid - mean) ** 2, weights=weights))


def check(found, mean, spread):
    ess = found.diagnostics.ess
    assert ess > 200  # 501, sd 77 over 20 seeds
    assert found.draws.mean() == pytest.approx(mean, abs=4 * spread / np.sqrt(ess))
    assert found.draws.std() == pytest.approx(spread, rel=4 / np.sqrt(ess))


@pytest.mark.nightly
def test_it_is_compiled_once_for_other_labels_priors_and_seeds():
    target = build_target(cp.channels.Channel("steep", steep), 5)
    own = Prior(*map(np.array, target.prior))
    priors = [Prior(np.array([m]), np.array([s])) for m, s in ((-1.0, 0.3), (1.0, 0.1))]
    few = Labelled(LOGITS[20:37], TEXTS.labels[20:37])
    first = sample_nuts(target, priors[0], few, label_histogram(few.labels, 5), jax.random.key(1))
    TRACED.clear()
    second = sample_nuts(target, priors[1], *SEEN, jax.random.key(2))
    assert not TRACED
    check(second, *exact(target, priors[1]))
    assert first.draws.mean() < second.draws.mean() - 0.5  # -1.81, sd .30 over 20 seeds
    # Labels that the readings hit weigh more, which makes the slope steeper.
    weights = np.where(LOGITS[:20].argmax(axis=1) == LABELS, 3.0, 0.1)
    case = Case(Labelled(LOGITS[:20], LABELS, {}, weights), prior=own)
    (found,) = fit_cases(target, [case], method="nuts")
    mean, spread = exact(target, own, weights)
    check(found.fitted, mean, spread)
    assert mean - exact(target, own)[0] > spread  # 3.6, sd .6 over 20 seeds


@pytest.mark.nightly
def test_it_does_not_share_our_own_density(monkeypatch):
    """Or the cross-check could not see what is wrong with it."""
    target = build_target(cp.channels.Channel("steep again", steep), 5)
    mean, _ = exact(target, target.prior)
    for name in ("_trace", "log_likelihood", "log_prior_terms", "log_density", "sample_prior"):
        monkeypatch.setattr(Target, name, None)
    found = sample_nuts(target, target.prior, *SEEN, jax.random.key(0), Nuts(100))
    assert found.draws.mean() == pytest.approx(mean, abs=0.2)  # error .005, sd .024 over 20 seeds


@pytest.mark.nightly
def test_the_default_counts_scales_and_chains_begin_apart():
    target = build_target(cp.channels.Channel("cut", cut), 5)
    few = sample_nuts(target, target.prior, *SEEN, jax.random.key(0), Nuts(4, warmup=0))
    begin = few.draws.reshape(4, 4, target.size)[:, 0]
    assert (begin.std(axis=0) > 0.02).all() and (begin > 0).all()
    assert few.diagnostics.ess == 0, "chains that have not met are not believed"
    channel = cp.channels.Channel("powered too", powered)
    found = cp.fit_channel(channel, LOGITS[:20], LABELS)
    mean, spread = exact(found.target, found.target.prior)
    # The errors are -.006, sd .032 over 20 seeds, and .011, sd .034.
    assert found.weights @ found.draws[:, 0] == pytest.approx(mean, abs=0.15 * spread)
    assert found.draws.std() == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("scalar", 2),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (("mixture", 5), ("location-vector", 15))
        ),
    ],
)
def test_the_default_agrees_with_nuts(name, size):
    default = cp.fit_channel(name, LOGITS[:20], LABELS, seed=1)
    assert default.target.size == size
    cloud = sample_nuts(default.target, default.target.prior, *SEEN, jax.random.key(0))
    judged = cloud.diagnostics
    others = {"draws": cloud.draws, "weights": cloud.weights}
    reference = replace(default, diagnostics=judged, **others)
    error = default.predict_proba(LOGITS[20:]) - reference.predict_proba(LOGITS[20:])
    assert np.sqrt(np.mean(error**2)) < 0.02  # .0047, sd .0025 over 20 seeds
    assert cloud.draws.shape == (2000, size)
    # 502, sd 146 over 20 seeds, .98, sd .006, and .9, sd 1.1 divergences.
    assert judged.method == "nuts" and judged.ess > 60 and judged.acceptance > 0.8
    assert np.isnan(judged.khat) and judged.repairs == 0
    figures = cloud.transitions
    assert judged.divergences == int(figures["diverging"].sum()) < 20
    assert set(figures) == {"diverging", "acceptance_rate", "energy", "n_steps"}
    assert {np.shape(own) for own in figures.values()} == {(2000,)}


@pytest.mark.nightly
def test_nuts_samples_where_arviz_was_imported_first():
    program = """
import arviz, cordial_ppl as cp
texts = cp.synthetic.reviews(20)
cp.ChannelCalibrator("location", inference="mode").fit(texts.logits, texts.labels)
found = cp.fit_nuts("location", texts.logits, texts.labels, draws=5, warmup=5, chains=1)
assert found.draws.shape[0] == 5
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""The default posterior: exact where the answer is known, calibrated, and honest where it fails."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from few_draws import LABELS, LOGITS, ROWS, fitted, predictor, readings, solver
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cordial_ppl.channel import Channel, observe
from cordial_ppl.channels import CHANNELS
from cordial_ppl.inference import tempering
from cordial_ppl.inference.choice import next_temper
from cordial_ppl.inference.importance import effective_sample_size
from cordial_ppl.inference.posterior import diagnose
from cordial_ppl.inference.problem import Problem, problem_in_precision
from cordial_ppl.inference.sampler import Effort, Phase, from_prior
from cordial_ppl.inference.target import build_target
from cordial_ppl.inference.tempering import sample_tempered
from cordial_ppl.readings import Readings

NEXT = jax.jit(partial(next_temper, least_ess=128.0))


def rms(found, expected):
    return float(np.sqrt(np.mean((np.asarray(found) - np.asarray(expected)) ** 2)))


def coin(readings, labels=None):
    """Labels that know nothing of the text; a model that fails for shares below a bound."""
    share = numpyro.sample("share", dist.Beta(2.0, 1.0))
    probs = jnp.stack([1 - share, share])[None] + 0.0 * readings.logits
    allowed = jnp.asarray(share) > readings.covariates["bound"][:, None]
    observe(None, labels, probs=jnp.where(allowed, probs, jnp.nan))


COIN = Channel("coin", coin)


@pytest.mark.parametrize(("bound", "ones"), [(0.0, 6), (0.75, 15)], ids=["none", "most"])
def test_a_conjugate_posterior_above_a_bound(bound, ones):
    """Exact without a bound, and where the likelihood is no number at most draws of the prior."""
    labels = jnp.where(jnp.arange(ROWS) < 20, jnp.where(jnp.arange(ROWS) < ones, 1, 0), -1)
    given = {"bound": jnp.full(ROWS, bound)}
    flat = Readings(jnp.zeros((ROWS, 2)), jnp.full(2, 0.5), given)
    cloud = solver(COIN, 2, covariates=("bound",))(flat, labels, 0)
    share = 1 / (1 + np.exp(-np.asarray(cloud.draws)[:, 0]))
    exact = stats.beta(2 + ones, 1 + 20 - ones)
    below = exact.cdf(bound)
    assert share.min() >= bound
    for level in (0.1, 0.5, 0.9):
        found = (share <= exact.ppf(below + level * (1 - below))).mean()
        assert found == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 512))
    if not bound:
        assert share.mean() == pytest.approx(exact.mean(), abs=4 * exact.std() / np.sqrt(512))
    assert diagnose("default", cloud).trusted and int(cloud.repairs) <= 1


def mirrored(readings, labels=None):
    """Only the size of the slope is identified: two modes."""
    slope = numpyro.sample("slope", dist.Normal(0.0, 2.0))
    observe(jax.nn.log_softmax(jnp.abs(slope) * readings.logits), labels)


def test_both_modes_are_found():
    cloud = solver(Channel("mirrored", mirrored))(readings(LABELS), jnp.asarray(LABELS), 0)
    slope = np.asarray(cloud.draws)[:, 0]
    assert (slope > 0).mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / 512))
    # Each side is the same posterior.
    assert np.asarray(stats.ks_2samp(slope[slope > 0], -slope[slope < 0]))[1] > 1e-3


def folded(readings, labels=None):
    """Every sign of six numbers fits as well as any other: 64 narrow modes."""
    place = numpyro.sample("place", dist.Normal(0.0, 1.0).expand([6]).to_event(1))
    depth = 3.0 * jnp.sum((jnp.asarray(place) ** 2 - 1) ** 2)
    observe(jnp.zeros_like(readings.logits) - depth, labels)


def test_draws_that_fell_into_one_of_many_modes_are_not_trusted():
    cloud = solver(Channel("folded", folded))(readings(LABELS), jnp.asarray(LABELS), 0)
    positive = (np.asarray(cloud.draws) > 0).mean(axis=0)
    spread = (np.abs(positive - 0.5) < 0.2).all()
    assert spread or not diagnose("default", cloud).trusted


def nested(readings, labels=None):
    """A scale that another parameter's prior depends on."""
    scale = numpyro.sample("scale", dist.Normal(0.0, 2.0))
    bias = numpyro.sample("bias", dist.Normal(0.0, jnp.exp(scale)))
    observe(jax.nn.log_softmax(readings.logits + 0.0 * bias), labels)


def test_a_prior_that_is_no_gaussian_is_where_particles_start():
    target = build_target(Channel("nested", nested), 5)
    problem = problem_in_precision(
        Problem(target, target.prior, readings(LABELS), jnp.full(ROWS, -1))
    )
    start = from_prior(problem, Effort(moves=0))
    state = jax.jit(lambda key: tempering._stage(problem, start, key, Effort()))(jax.random.key(0))
    assert not target.gaussian and int(state.phase) == Phase.WEIGH
    scale, bias = np.asarray(problem.colour(state.particles.points)).T
    assert stats.kstest(scale, stats.norm(0, 2).cdf).pvalue > 1e-3
    assert stats.kstest(bias / np.exp(scale), stats.norm.cdf).pvalue > 1e-3


def rugged(readings, labels=None):
    """A density with more needles than any number of particles can visit."""
    place = numpyro.sample("place", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    depth = 5.0 * jnp.sum(1 + jnp.sin(1e5 * place))
    observe(jnp.zeros_like(readings.logits) - depth, labels)


def test_a_posterior_that_cannot_be_sampled_is_not_trusted():
    effort = Effort(particles=128, repairs=2)
    run = solver(Channel("rugged", rugged), 5, effort)
    cloud = run(readings(LABELS), jnp.asarray(LABELS), 0)
    found = diagnose("default", cloud)
    assert not found.trusted
    assert found.repairs == 2
    assert np.isfinite(cloud.draws).all()


@pytest.mark.parametrize("name", ["mixture", "location-vector"])
def test_draws_are_repeatable_and_agree_between_seeds(name):
    predicted = [
        predictor(name)(fitted(name, seed), readings(LABELS, slice(ROWS, None))) for seed in (0, 1)
    ]
    assert 0 < rms(*predicted) < 0.02
    again = solver(CHANNELS[name])(readings(LABELS), jnp.asarray(LABELS), 0)
    np.testing.assert_array_equal(again.draws, fitted(name, 0).draws)
    found = diagnose("default", fitted(name, 0))
    assert found.trusted and found.ess > 100
    np.testing.assert_allclose(np.exp(fitted(name, 0).log_weights).sum(), 1.0, rtol=1e-12)


def test_posteriors_are_calibrated():
    """Ranks of true parameters among draws are uniform (Talts et al. 2018)."""
    sets, draws, bins = 60, 127, 8
    target = build_target(CHANNELS["location"], 5)
    texts = Readings(jnp.asarray(LOGITS[:ROWS]), jnp.asarray([0.1, 0.15, 0.2, 0.25, 0.3]))
    effort = Effort(particles=draws, proposals=16, last_moves=3)

    def simulate(key):
        truth_key, label_key, fit_key = jax.random.split(key, 3)
        truth = target.sample_prior(truth_key, target.prior, texts, 1)[0]
        drawn = jax.random.categorical(label_key, jnp.log(target.probs(truth, texts)))
        labels = jnp.where(jnp.arange(ROWS) < 20, drawn, -1)
        problem = Problem(target, target.prior, texts, labels)
        cloud = sample_tempered(problem, fit_key, effort)
        return jnp.sum(cloud.draws < truth[None], axis=0)

    ranks = np.asarray(jax.jit(jax.vmap(simulate))(jax.random.split(jax.random.key(0), sets)))
    assert ranks.shape == (sets, 5)
    for column in ranks.T:
        counts = np.bincount(column * bins // (draws + 1), minlength=bins)
        assert stats.chisquare(counts).pvalue > 1e-3


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 200), st.floats(0, 0.9))
def test_the_next_temper_keeps_the_effective_sample_size(seed, spread, temper):
    log_likelihood = jnp.asarray(spread * np.random.default_rng(seed).normal(size=256))
    found = float(NEXT(jnp.asarray(temper), jnp.zeros(256), log_likelihood))
    assert temper < found <= 1.0
    kept = float(effective_sample_size((found - temper) * log_likelihood))
    if found < 1.0:
        assert kept == pytest.approx(128, abs=1.5) or found - temper < 1.1e-5
    else:
        assert kept >= 127


def test_the_next_temper_leaves_out_points_without_a_density():
    log_likelihood = jnp.where(jnp.arange(256) < 64, -jnp.inf, -jnp.arange(256.0))
    found = float(
        jax.jit(partial(next_temper, least_ess=100.0))(0.0, jnp.zeros(256), log_likelihood)
    )
    kept = float(effective_sample_size(found * log_likelihood))
    assert 0 < found < 1 and kept == pytest.approx(100, abs=1.5)

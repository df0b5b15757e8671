"""The default posterior: exact where the answer is known, calibrated, and honest where it fails."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from cordial_ppl.inference.batch import PRECISION, Batch, DeviceBatch, Problem, make_batch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cordial_ppl.channels import CHANNELS
from cordial_ppl.channels.channel import Channel, observe
from cordial_ppl.data.labelled import Labelled, pad
from cordial_ppl.data.readings import Readings, as_logits, label_histogram
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference import sampler
from cordial_ppl.inference.importance import effective_sample_size, khat_limit
from cordial_ppl.inference.moves import Particles
from cordial_ppl.inference.programs import density, predict
from cordial_ppl.inference.sampler import (
    DEFAULT_EFFORT,
    Effort,
    begin,
    carry,
    climb,
    next_temper,
    sample,
    settle,
    weigh,
)
from cordial_ppl.inference.target import Prior, build_target

TEXTS = reviews(64, seed=3)
LOGITS, LABELS = as_logits(TEXTS.logits), TEXTS.labels[:24]
KEPT = np.where(np.arange(24) % 4 == 0, -1, LABELS)
"""The labels without one fold."""

EVEN = np.full(5, 0.2)
LEVELS = np.array([0.1, 0.5, 0.9])


def rms(first, second):
    return float(np.sqrt(np.mean((first - second) ** 2)))


def single(prior):
    return Prior(*(np.asarray(part, PRECISION) for part in prior))


def data_of(logits, labels, histogram=None, **covariates):
    own = label_histogram(labels, logits.shape[1]) if histogram is None else histogram
    return pad(Labelled(logits, labels, covariates), labels, np.asarray(own), PRECISION)


def problem_of(channel, labels):
    target = build_target(CHANNELS[channel] if isinstance(channel, str) else channel, 5)
    return Problem(target, single(target.prior), data_of(LOGITS[:24], labels))


def run(problem, seed, effort=DEFAULT_EFFORT):
    return sample(Batch([problem], [(seed,)]), effort)[0]


def good(state, effort=DEFAULT_EFFORT):
    """Whether the last importance weights are to be trusted."""
    limit = khat_limit(effort.proposals * effort.particles)
    return state.khat <= limit and state.ess >= effort.least_ess


@cache
def fitted(name, without_fold, seed):
    return run(problem_of(name, KEPT if without_fold else LABELS), seed)


def predicted(problem, state):
    """Probabilities of the texts that have no label."""
    loc, scale = problem.prior
    readings = Readings(LOGITS[24:].astype(PRECISION), np.asarray(problem.data.histogram))
    weights = np.exp(state.log_weights)
    draws = loc + scale * state.particles.points
    return predict(problem.target, draws, weights / weights.sum(), readings)[0]


def assert_quantiles(draws, exact):
    """Shares below known quantiles; draws that were moved count as half as many."""
    found = (draws[:, None] <= exact.ppf(LEVELS)).mean(axis=0)
    error = np.sqrt(LEVELS * (1 - LEVELS) / (len(draws) / 2))
    assert np.abs((found - LEVELS) / error).max() < 4


def toy(name, log_likelihood, size):
    """One label, whose log likelihood is given; under a standard normal prior."""

    def model(readings, labels=None):
        place = numpyro.sample("place", dist.Normal(0.0, 1.0).expand([size]).to_event(1))
        observe(jnp.zeros_like(readings.logits) + log_likelihood(place), labels)

    target = build_target(Channel(name, model), 2)
    return Problem(target, single(target.prior), data_of(np.zeros((1, 2)), np.zeros(1, int)))


FACTOR = np.array([[0.3, 0.0, 0.0], [0.4, 0.2, 0.0], [-0.2, 0.1, 0.5]])
CENTRE = np.array([1.0, -1.0, 0.5])
PRECISE = np.linalg.inv(FACTOR @ FACTOR.T)


def quadratic(place):
    off = jnp.asarray(place) - CENTRE
    return -0.5 * off @ jnp.asarray(PRECISE) @ off


GAUSSIAN = toy("gaussian", quadratic, 3)


def assert_gaussian(points):
    """Draws are those of the product of the prior and the Gaussian likelihood."""
    covariance = np.linalg.inv(PRECISE + np.eye(3))
    mean = covariance @ PRECISE @ CENTRE
    whitened = (points - mean) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    for column in whitened.T:
        assert_quantiles(column, stats.norm)
    np.testing.assert_allclose(np.cov(whitened.T), np.eye(3), rtol=0, atol=0.2)


def test_a_gaussian_posterior():
    state = run(GAUSSIAN, 0)
    assert good(state) and state.rounds == 1
    np.testing.assert_allclose(np.exp(state.log_weights).sum(), 1.0, rtol=1e-5)
    assert_gaussian(state.particles.points)


def test_two_modes_have_the_weight_that_is_theirs():
    def two(place):
        up, down = (-0.5 * ((jnp.asarray(place)[0] - at) / 0.3) ** 2 for at in (2.0, -2.0))
        return jnp.logaddexp(jnp.log(0.3) + up, jnp.log(0.7) + down)

    state = run(toy("two", two, 1), 0)
    points = state.particles.points[:, 0]
    assert good(state)
    assert (points > 0).mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 512))
    for sign in (1, -1):
        exact = stats.norm(2 / 1.09, np.sqrt(0.09 / 1.09))
        assert_quantiles(sign * points[sign * points > 0], exact)


def coin(readings, labels=None):
    """Labels that know nothing of the text; a model that fails for shares below a bound."""
    share = numpyro.sample("share", dist.Beta(2.0, 1.0))
    probs = jnp.stack([1 - share, share])[None] + 0.0 * readings.logits
    allowed = jnp.asarray(share) > readings.covariates["bound"][:, None]
    observe(None, labels, probs=jnp.where(allowed, probs, jnp.nan))


@pytest.mark.parametrize(("bound", "ones"), [(0.0, 6), (0.75, 15)], ids=["none", "most"])
def test_a_conjugate_posterior_above_a_bound(bound, ones):
    """Exact without a bound, and where the likelihood is no number at most draws of the prior."""
    labels = np.where(np.arange(20) < ones, 1, 0)
    target = build_target(Channel("coin", coin), 2, ("bound",))
    data = data_of(np.zeros((20, 2)), labels, bound=np.full(20, bound))
    state = run(Problem(target, single(target.prior), data), 0)
    loc, scale = target.prior
    share = 1 / (1 + np.exp(-(loc + scale * state.particles.points)[:, 0]))
    exact = stats.beta(2 + ones, 1 + 20 - ones)
    below = exact.cdf(bound)
    assert share.min() >= bound
    for level in LEVELS:
        found = (share <= exact.ppf(below + level * (1 - below))).mean()
        assert found == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 512))
    assert good(state) and state.rounds <= 2


def nested(readings, labels=None):
    """A scale that another parameter's prior depends on."""
    scale = numpyro.sample("scale", dist.Normal(0.0, 2.0))
    bias = numpyro.sample("bias", dist.Normal(0.0, jnp.exp(scale)))
    observe(jax.nn.log_softmax(readings.logits + 0.0 * bias), labels)


def test_a_prior_that_is_no_gaussian_is_where_particles_start():
    target = build_target(Channel("nested", nested), 5)
    nothing = data_of(LOGITS[:24], np.full(24, -1))
    problem = Problem(target, single(target.prior), nothing)
    state = begin(problem, DEFAULT_EFFORT, np.random.default_rng(0))
    assert not target.gaussian and state.temper == 1
    loc, spread = target.prior
    scale, bias = (loc + spread * state.particles.points).T
    assert stats.kstest(scale, stats.norm(0, 2).cdf).pvalue > 1e-3
    assert stats.kstest(bias / np.exp(scale), stats.norm.cdf).pvalue > 1e-3


def test_particles_from_elsewhere_are_repaired():
    """The first proposals are poor and say so; moved and proposed again, they are right."""
    rng = np.random.default_rng(0)
    covariance = np.linalg.inv(PRECISE + np.eye(3))
    # Three standard deviations off in every direction, and half as wide.
    off = 3 + 0.5 * rng.normal(size=(1024, 3))
    points = covariance @ PRECISE @ CENTRE + off @ np.linalg.cholesky(covariance).T
    points = points.astype(PRECISION)
    state = settle(Particles(points, *GAUSSIAN.evaluate(points, len(points))))
    state = weigh(GAUSSIAN, DEFAULT_EFFORT, rng, state)
    assert not good(state, DEFAULT_EFFORT)
    for _ in range(DEFAULT_EFFORT.repairs):
        if good(state):
            break
        state = weigh(GAUSSIAN, DEFAULT_EFFORT, rng, state)
    assert good(state)
    assert_gaussian(state.particles.points)


def test_weights_that_are_never_good_enough_leave_draws_that_are_moved():
    effort = Effort(least_ess=np.inf, repairs=3)
    state = run(GAUSSIAN, 0, effort)
    assert not good(state, effort) and state.rounds == 4
    assert_gaussian(state.particles.points)


def test_draws_that_fell_into_one_of_many_modes_are_not_trusted():
    """Every sign of six numbers fits as well as any other: 64 narrow modes."""
    folded = toy("folded", lambda x: -60.0 * jnp.sum((jnp.asarray(x) ** 2 - 1) ** 2), 6)
    state = run(folded, 0)
    positive = (state.particles.points > 0).mean(axis=0)
    assert (np.abs(positive - 0.5) < 0.2).all() or not good(state)


@pytest.mark.parametrize("name", ["mixture", "location-vector"])
def test_draws_are_repeatable_and_agree_between_seeds(name):
    problem = problem_of(name, LABELS)
    assert 0 < rms(*(predicted(problem, fitted(name, False, seed)) for seed in (0, 1))) < 0.02
    again = run(problem, 0)
    np.testing.assert_array_equal(again.particles.points, fitted(name, False, 0).particles.points)
    assert good(again, DEFAULT_EFFORT)


def test_posteriors_are_calibrated():
    """Ranks of true parameters among draws are uniform (Talts et al. 2018)."""
    sets, draws, bins = 60, 127, 8
    target = build_target(CHANNELS["location"], 5)
    histogram, rng = np.array([0.1, 0.15, 0.2, 0.25, 0.3]), np.random.default_rng(0)
    texts = Readings(LOGITS[:20], histogram)
    truth = target.prior.loc + target.prior.scale * rng.normal(size=(sets, target.size))
    probs = np.asarray(jax.jit(jax.vmap(target.probs, (0, None)))(truth, texts))
    labels = (rng.random((sets, 20, 1)) > probs.cumsum(axis=2)[:, :, :-1]).sum(axis=2)
    effort, ranks = Effort(particles=draws, proposals=16, last_moves=3), []
    data = [data_of(LOGITS[:20], own, histogram) for own in labels]
    batch = Batch(
        [Problem(target, single(target.prior), own) for own in data], [(i,) for i in range(sets)]
    )
    for own, state in zip(truth, sample(batch, effort), strict=True):
        found = target.prior.loc + target.prior.scale * state.particles.points
        ranks.append((found < own).sum(axis=0))
    for column in np.array(ranks).T:
        counts = np.bincount(column * bins // (draws + 1), minlength=bins)
        assert stats.chisquare(counts).pvalue > 1e-3


def test_problems_on_an_accelerator_are_sampled_and_carried_as_alone(monkeypatch):
    """Compiled, each stage draws other numbers from the same distribution; priors differ."""
    loc, scale = build_target(CHANNELS["location"], 5).prior
    priors = single((loc, scale)), single((loc + 0.5, 0.5 * scale))
    both = [(own, own[::-1].copy()) for own in (LABELS, KEPT)]

    def make(channel, labels):
        return [
            problem_of(channel, own)._replace(prior=prior)
            for own, prior in zip(labels, priors, strict=True)
        ]

    alone = [make(CHANNELS["location"], labels) for labels in both]
    expected = [[run(own, place) for place, own in enumerate(problems)] for problems in alone]
    for room in ("data", "programs", "batch"):
        monkeypatch.setattr(f"cordial_ppl.inference.{room}.on_cpu", lambda: False)
    # Programs are remembered by target: those of an accelerator are for one of its own.
    there = Channel("location there", CHANNELS["location"].model)
    batches = [make_batch(make(there, labels), [(0,), (1,)]) for labels in both]
    assert all(isinstance(batch, DeviceBatch) for batch in batches)
    states = sample(batches[0], DEFAULT_EFFORT)
    carried = carry(batches[1], states, DEFAULT_EFFORT)
    returned = sample(batches[0], DEFAULT_EFFORT, carried)
    cases = zip(
        (alone[0], alone[1], alone[0]),
        (expected[0], expected[1], expected[0]),
        (batches[0], batches[1], batches[0]),
        (states, carried, returned),
        (0.15, 0.3, 0.3),
        strict=True,
    )
    # Those that are carried are weighed: fewer than they look.
    for problems, theirs, batch, found, limit in cases:
        for problem, other, own in zip(problems, theirs, batch.apart(found), strict=True):
            assert rms(predicted(problem, own), predicted(problem, other)) < 0.015
            weights = np.exp(own.log_weights)
            assert weights.sum() == pytest.approx(1, abs=1e-4)
            points = other.particles.points
            gap = (weights @ own.particles.points - points.mean(axis=0)) / points.std(axis=0)
            assert np.abs(gap).max() < limit
    assert all(map(good, batches[0].apart(states)))


def test_what_problems_share_does_not_change_their_densities():
    """Two folds of the same texts, with one state or two, and a fold of others."""
    here, there = problem_of("mixture", KEPT), problem_of("mixture", LABELS)
    shifted = here.data._replace(labels=np.roll(here.data.labels, 1), histogram=EVEN)
    folds = [here, here._replace(data=shifted)]
    first, second = fitted("mixture", False, 0), fitted("mixture", False, 1)
    problems = [*folds, there, *folds]
    states = [first, first, first, first, second]
    batch = Batch(problems, [(0,)] * 5)
    found = zip(*batch.evaluate(states, 1024), strict=True)
    for problem, state, own in zip(problems, states, found, strict=True):
        expected = problem.evaluate(state.particles.points, 1024)
        np.testing.assert_allclose(own, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["mixture", "location-vector"])
@pytest.mark.parametrize("limit", [-1.0, np.inf], ids=["moved", "weighed"])
def test_a_fold_agrees_with_a_fit_of_its_own(name, limit, monkeypatch):
    """On texts that have no label: `test_fit` looks for a lean to a text's own."""
    whole, alone, problem = fitted(name, False, 0), fitted(name, True, 2), problem_of(name, KEPT)
    monkeypatch.setattr(sampler, "khat_limit", lambda draws: limit)
    (carried,) = carry(Batch([problem], [(1,)]), [whole], DEFAULT_EFFORT)
    kept = (carried.particles.points == whole.particles.points).all()
    assert kept == (limit > 0) and carried.khat < 2
    # Those that are resampled are copies until they are moved.
    assert len(np.unique(carried.particles.points[:, 0])) > 0.9 * DEFAULT_EFFORT.particles
    found, expected, unchanged = (predicted(problem, each) for each in (carried, alone, whole))
    # Both sides carry Monte Carlo error; weights alone, of a few draws, more of it.
    assert rms(found, expected) < (0.03 if limit > 0 else 0.015)
    assert rms(found, expected) < rms(unchanged, expected)


@pytest.mark.parametrize("name", ["mixture", "location-vector"])
@pytest.mark.parametrize("share", [0.0, 1.0], ids=["weighed", "proposed"])
def test_draws_of_fewer_labels_are_taken_to_all(name, share, monkeypatch):
    monkeypatch.setattr(sampler, "LEAST_SHARE", share)
    fewer, alone = fitted(name, True, 2), fitted(name, False, 0)
    problem = problem_of(name, LABELS)
    known = fewer._replace(rounds=np.zeros((), np.int32))
    (state,) = sample(Batch([problem], [(5,)]), DEFAULT_EFFORT, [known])
    kept = (state.particles.points == fewer.particles.points).all()
    assert kept == (state.rounds == 0) and (share == 0 or not kept)
    found, expected, unchanged = (predicted(problem, each) for each in (state, alone, fewer))
    assert rms(found, expected) < min(0.03 if kept else 0.015, rms(unchanged, expected))


def test_draws_that_say_nothing_of_the_labels_are_not_used():
    problem, alone = problem_of("mixture", LABELS), fitted("mixture", False, 0)
    particles = alone.particles
    far = particles._replace(points=particles.points + 30)
    (state,) = sample(Batch([problem], [(0,)]), DEFAULT_EFFORT, [alone._replace(particles=far)])
    again = run(problem, 0)
    np.testing.assert_array_equal(state.particles.points, again.particles.points)


def test_particles_are_moved_at_each_temperature():
    batch = Batch([problem_of("mixture", LABELS)], [(0,)])
    begun = batch.run(begin, DEFAULT_EFFORT)
    assert begun[0].temper < 1 and np.isnan(begun[0].acceptance)
    (climbed,) = batch.run(climb, DEFAULT_EFFORT, begun)
    stayed = np.isin(climbed.particles.points[:, 0], begun[0].particles.points[:, 0])
    assert climbed.acceptance > 0.2 and stayed.mean() < 0.2


def test_without_last_moves_draws_are_believed():
    effort = Effort(last_moves=0)
    (state,) = sample(Batch([problem_of("location", LABELS)], [(0,)]), effort)
    assert np.isnan(state.acceptance) and state.khat < 0.7


def test_moves_keep_the_log_density_of_where_particles_are():
    particles = fitted("mixture", False, 0).particles
    log_prior, log_likelihood = density(*problem_of("mixture", LABELS), particles.points)
    np.testing.assert_allclose(particles.log_prior, log_prior, rtol=1e-5)
    np.testing.assert_allclose(particles.log_likelihood, log_likelihood, rtol=1e-5)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 200), st.floats(0, 0.9))
def test_the_next_temper_keeps_the_effective_sample_size(seed, spread, temper):
    log_likelihood = spread * np.random.default_rng(seed).normal(size=256)
    found = float(next_temper(np.float64(temper), np.zeros(256), log_likelihood, 128.0))
    assert temper < found <= 1.0
    kept = float(effective_sample_size((found - temper) * log_likelihood))
    if found < 1.0:
        assert kept == pytest.approx(128, abs=1.5) or found - temper < 1.1e-5
    else:
        assert kept >= 127


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
def test_the_next_temper_leaves_out_points_without_a_density(kind):
    log_likelihood = np.where(np.arange(256) < 64, -np.inf, -np.arange(256.0))
    run = next_temper if kind is np.asarray else jax.jit(next_temper, static_argnums=3)
    found = float(run(kind(0.0), kind(np.zeros(256)), kind(log_likelihood), 100.0))
    kept = float(effective_sample_size(found * log_likelihood))
    assert 0 < found < 1 and kept == pytest.approx(100, abs=0.6)

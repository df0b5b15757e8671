"""The compiled programs of a channel: they say what its target says, and are traced once."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from cordial_ppl.channels.channel import Channel, observe
from cordial_ppl.data.labelled import Labelled, pad
from cordial_ppl.data.readings import Readings, as_logits
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.fit import Case, fit_cases
from cordial_ppl.inference.laplace import search_modes, weigh_and_predict
from cordial_ppl.inference.programs import density, predict, predict_folds
from cordial_ppl.inference.sampler import Effort
from cordial_ppl.inference.target import Prior, build_target

TEXTS = reviews(2100, seed=5)
LOGITS = as_logits(TEXTS.logits)
LENGTHS = np.random.default_rng(0).lognormal(0, 1, 2100)
HISTOGRAM = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
PROBLEMS = 3
TRACES = []


def lengthy(readings, labels=None):
    """A channel that uses everything that there is: readings, histogram and a covariate."""
    TRACES.append(readings.logits.shape)
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    tilt = numpyro.sample("tilt", dist.Normal(0.0, 0.5))
    share = numpyro.sample("share", dist.Beta(2.0, 5.0))
    extra = (
        tilt * jnp.log(readings.covariates["length"])[:, None] * jnp.linspace(-1.0, 1.0, 5)[None]
    )
    stated = jax.nn.softmax(slope * readings.logits + extra, axis=1)
    observe(None, labels, probs=(1 - share) * stated + share * readings.histogram[None])


TARGET = build_target(Channel("lengthy", lengthy), 5, ("length",))


def texts_of(count, first=0):
    rows = slice(first, first + count)
    return Labelled(LOGITS[rows], TEXTS.labels[rows], {"length": LENGTHS[rows]})


def data_of(texts, labels=None):
    return pad(texts, texts.labels if labels is None else labels, HISTOGRAM, np.float64)


def points_of(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, TARGET.size))


@jax.jit
def exact(prior, logits, labels, lengths, points):
    """Log prior and log likelihood of whitened points, texts all at once, and their gradient."""

    def one(point):
        own = Readings(logits, jnp.asarray(HISTOGRAM), {"length": lengths})
        flat = prior.loc + prior.scale * point
        return TARGET.log_prior(flat, prior, own), TARGET.log_likelihood(flat, own, labels)

    return jax.vmap(one)(points), jax.vmap(jax.grad(lambda point: sum(one(point))))(points)


@pytest.mark.x64
@pytest.mark.parametrize("count", [1, 32, 33, 2100])
def test_the_density_of_any_number_of_texts(count):
    texts, points = texts_of(count), points_of(5)
    hidden = np.where(np.arange(count) % 3 == 1, -1, texts.labels)
    prior = Prior(TARGET.prior.loc + 0.3, TARGET.prior.scale * 1.2)
    found = density(TARGET, prior, data_of(texts, hidden), points)
    parts, _ = exact(prior, texts.logits, hidden, texts.covariates["length"], points)
    for own, expected in zip(found, parts, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10)


@pytest.mark.x64
def test_any_number_of_points_is_taken():
    data, points = data_of(texts_of(40)), points_of(2500)
    whole = density(TARGET, TARGET.prior, data, points)
    for some in (slice(3), slice(1020, 1030), slice(2499, None)):
        found = density(TARGET, TARGET.prior, data, points[some])
        for own, expected in zip(found, whole, strict=True):
            np.testing.assert_allclose(own, expected[some], rtol=1e-12)


@pytest.mark.x64
@pytest.mark.parametrize(("sets", "points"), [(5, 40), (11, 3), (3, 1500)])
def test_several_sets_of_labels_are_as_each_alone(sets, points):
    texts, rng = texts_of(50), np.random.default_rng(4)
    given = points_of(points)
    hidden = [np.where(rng.random(50) < 0.3, -1, texts.labels) for _ in range(sets)]
    shares = rng.dirichlet(np.ones(5), sets)
    each = [pad(texts, own, share, np.float64) for own, share in zip(hidden, shares, strict=True)]
    labels = np.stack([data.labels for data in each])
    whole = density(TARGET, TARGET.prior, each[0]._replace(labels=labels, histogram=shares), given)
    for place, data in enumerate(each):
        for own, expected in zip(whole, density(TARGET, TARGET.prior, data, given), strict=True):
            np.testing.assert_allclose(own[place], expected, rtol=1e-12)


@pytest.mark.x64
def test_gradients_of_several_data_sets():
    rng, sets = np.random.default_rng(1), [texts_of(50, 50 * place) for place in range(PROBLEMS)]
    each = [data_of(texts) for texts in sets]
    data = jax.tree.map(lambda *leaves: np.stack(leaves), *each)._replace(tiles=each[0].tiles)
    loc = TARGET.prior.loc + rng.normal(size=(PROBLEMS, TARGET.size))
    priors = Prior(loc, np.exp(rng.normal(size=loc.shape)))
    points, index = points_of(45), rng.integers(0, PROBLEMS, 45)
    ends = search_modes(TARGET, priors, data, points, index, 1)
    np.testing.assert_array_equal(ends.x, points)
    values, slopes = -ends.value, -ends.gradient
    for place, texts in enumerate(sets):
        own, rows = Prior(priors.loc[place], priors.scale[place]), index == place
        given = texts.logits, texts.labels, texts.covariates["length"]
        parts, expected = exact(own, *given, points)
        np.testing.assert_allclose(values[rows], np.sum(parts, axis=0)[rows], rtol=1e-10)
        np.testing.assert_allclose(slopes[rows], expected[rows], rtol=1e-9, atol=1e-9)


@pytest.mark.x64
@pytest.mark.parametrize("count", [20, 70])
def test_weights_and_what_they_predict_are_those_of_density_and_prediction(count):
    rng, sets = np.random.default_rng(3), [texts_of(count, 100 * place) for place in range(2)]
    each = [data_of(own, np.where(np.arange(count) % 4 == 1, -1, own.labels)) for own in sets]
    data = jax.tree.map(lambda *leaves: np.stack(leaves), *each)._replace(tiles=each[0].tiles)
    loc = TARGET.prior.loc + rng.normal(size=(2, TARGET.size))
    priors, points = Prior(loc, np.exp(0.1 * loc)), rng.normal(size=(2, 30, TARGET.size))
    proposed = rng.normal(size=(2, 30))
    found, probs = weigh_and_predict(TARGET, priors, data, points, proposed)
    for place, texts in enumerate(sets):
        own = Prior(priors.loc[place], priors.scale[place])
        expected = np.sum(density(TARGET, own, each[place], points[place]), axis=0)
        np.testing.assert_allclose(found[place], expected - proposed[place], rtol=1e-10)
        weights = np.exp(found[place] - found[place].max())
        readings = Readings(texts.logits, HISTOGRAM, dict(texts.covariates))
        flat = own.loc + own.scale * points[place]
        said, _ = predict(TARGET, flat, weights / weights.sum(), readings)
        np.testing.assert_allclose(probs[place, :count], said, rtol=1e-9)


@pytest.mark.x64
@pytest.mark.parametrize(("draws", "count"), [(1, 3), (128, 512), (300, 700)])
def test_predictions_of_any_number_of_texts_and_draws(draws, count):
    texts, rng = texts_of(count), np.random.default_rng(2)
    readings = Readings(texts.logits, HISTOGRAM, dict(texts.covariates))
    flat, weights = rng.normal(size=(draws, TARGET.size)), rng.dirichlet(np.ones(draws))
    values = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    probs, means = predict(TARGET, flat, weights, readings, values)
    each = np.asarray(jax.jit(jax.vmap(TARGET.probs, (0, None)))(flat, readings))
    np.testing.assert_allclose(probs, np.tensordot(weights, each, axes=1), rtol=1e-10)
    assert means is not None
    np.testing.assert_allclose(means, each @ values, rtol=1e-10)
    alone, none = predict(TARGET, flat, weights, readings)
    np.testing.assert_array_equal(alone, probs)
    assert none is None


@pytest.mark.x64
@pytest.mark.parametrize(("draws", "count"), [(1, 9), (128, 9), (128, 700)])
def test_predictions_of_folds_are_as_of_each_alone(draws, count):
    texts, rng = texts_of(count), np.random.default_rng(5)
    folds, shares = rng.integers(0, 4, count), rng.dirichlet(np.ones(5), 4)
    flat = rng.normal(size=(4, draws, TARGET.size))
    readings = Readings(texts.logits, HISTOGRAM, dict(texts.covariates))
    probs = predict_folds(TARGET, flat, shares, readings, folds)
    for fold in range(4):
        rows = np.flatnonzero(folds == fold)
        extra = {name: column[rows] for name, column in texts.covariates.items()}
        alone = Readings(texts.logits[rows], shares[fold], extra)
        said, _ = predict(TARGET, flat[fold], np.full(draws, 1 / draws), alone)
        np.testing.assert_allclose(probs[rows], said, rtol=1e-10)


def test_programs_are_traced_once():
    """Other numbers of labels, of texts to predict, folds, seeds and priors trace nothing more."""
    target = build_target(Channel("counted", lengthy), 5, ("length",))

    def fit(count, method, seed, prior=None, first=0):
        folds = np.arange(count) % 4
        case = Case(texts_of(count, first), folds, (seed,), prior)
        fits = fit_cases(target, [case], method=method, effort=Effort(particles=64, proposals=4))
        texts = texts_of(50 + count)
        fits[0].fitted.predict(texts.logits, texts.covariates)

    for method in ("default", "laplace"):
        fit(20, method, 0)
        traced = len(TRACES)
        for seed, count in enumerate((5, 24, 100, 2000) if method == "default" else (5, 33)):
            fit(count, method, seed)
        prior = Prior(target.prior.loc + [0.5, 0.2, 0.0], target.prior.scale * [0.5, 2.0, 1.0])
        fit(20, method, 9, prior, first=7)
        assert len(TRACES) == traced


@pytest.mark.x64
def test_a_weight_is_so_many_labels_in_every_program():
    """The default's density, the search for modes and the literal draws; weight 0 is no label."""
    texts, times = texts_of(40), np.random.default_rng(2).integers(0, 4, 40)
    weighed = replace(texts, weights=times.astype(float))
    copies = texts.take(np.repeat(np.arange(40), times))
    points = points_of(7)
    left, right = (density(TARGET, TARGET.prior, data_of(own), points) for own in (weighed, copies))
    for own, expected in zip(left, right, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12)
    # Two data sets side by side, as the literal method takes them, and each alone in the other.
    prior = Prior(*(np.stack([part, part]) for part in TARGET.prior))
    both = [pad(own, own.labels, HISTOGRAM, np.float64) for own in (weighed, copies)]
    data = jax.tree.map(lambda *leaves: np.stack(leaves), *both)
    data = data._replace(tiles=data.tiles.max())
    ends = search_modes(TARGET, prior, data, np.repeat(points, 2, axis=0), np.tile([0, 1], 7), 1)
    np.testing.assert_allclose(ends.value[::2], ends.value[1::2], rtol=1e-12)
    np.testing.assert_allclose(ends.gradient[::2], ends.gradient[1::2], rtol=1e-9, atol=1e-9)
    logs, _ = weigh_and_predict(TARGET, prior, data, np.stack([points] * 2), np.zeros((2, 7)))
    np.testing.assert_allclose(logs[0], logs[1], rtol=1e-12)

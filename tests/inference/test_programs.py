"""The compiled programs of a channel say what its target says."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled, pad
from cordial_ppl.data.readings import Readings, as_logits
from cordial_ppl.evaluation.synthetic import reviews
from cordial_ppl.inference.predictions import predict
from cordial_ppl.inference.programs import density
from cordial_ppl.inference.target import Prior, build_target

TEXTS = reviews(2100, seed=5)
LOGITS = as_logits(TEXTS.logits)
LENGTHS = np.random.default_rng(0).lognormal(0, 1, 2100)
HISTOGRAM = np.array([0.1, 0.2, 0.3, 0.25, 0.15])


def lengthy(readings, labels=None):
    """A channel that uses everything that there is: readings, histogram and a covariate."""
    slope = numpyro.sample("slope", dist.LogNormal(0.0, 1.0))
    tilt = numpyro.sample("tilt", dist.Normal(0.0, 0.5))
    share = numpyro.sample("share", dist.Kumaraswamy(2.0, 5.0))
    extra = (
        tilt * jnp.log(readings.covariates["length"])[:, None] * jnp.linspace(-1.0, 1.0, 5)[None]
    )
    stated = jax.nn.softmax(slope * readings.logits + extra, axis=1)
    cp.observe(None, labels, probs=(1 - share) * stated + share * readings.histogram[None])


@cache
def target():
    return build_target(cp.channels.Channel("lengthy", lengthy), 5, ("length",))


def texts_of(count, first=0):
    rows = slice(first, first + count)
    return Labelled(LOGITS[rows], TEXTS.labels[rows], {"length": LENGTHS[rows]})


def data_of(texts, labels=None):
    texts = texts if labels is None else replace(texts, labels=labels)
    return pad(texts, HISTOGRAM, np.float64)


def points_of(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, target().size))


@jax.jit
def exact(prior, logits, labels, lengths, points, histogram=HISTOGRAM):
    """Log prior and log likelihood of whitened points, texts all at once."""

    def one(point):
        own = Readings(logits, jnp.asarray(histogram), {"length": lengths})
        flat = prior.loc + prior.scale * point
        return target().log_prior(flat, prior, own), target().log_likelihood(flat, own, labels)

    return jax.vmap(one)(points)


@pytest.mark.x64
@pytest.mark.parametrize("count", [1, 32, 33, 2100])
def test_the_density_of_any_number_of_texts(count):
    texts, points = texts_of(count), points_of(5)
    hidden = np.where(np.arange(count) % 3 == 1, -1, texts.labels)
    prior = Prior(target().prior.loc + 0.3, target().prior.scale * 1.2)
    found = density(target(), prior, data_of(texts, hidden), points)
    parts = exact(prior, texts.logits, hidden, texts.covariates["length"], points)
    for own, expected in zip(found, parts, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10)


@pytest.mark.x64
@pytest.mark.parametrize(("draws", "count"), [(1, 3), (128, 1024), (300, 1300)])
def test_predictions_of_any_number_of_texts_and_draws(draws, count):
    texts, rng = texts_of(count), np.random.default_rng(2)
    readings = Readings(texts.logits, HISTOGRAM, dict(texts.covariates))
    flat, weights = rng.normal(size=(draws, target().size)), rng.dirichlet(np.ones(draws))
    values = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    probs, means = predict(target(), flat, weights, readings, values)
    each = np.asarray(jax.jit(jax.vmap(target().probs, (0, None)))(flat, readings))
    np.testing.assert_allclose(probs, np.tensordot(weights, each, axes=1), rtol=1e-10)
    assert means is not None
    np.testing.assert_allclose(means, each @ values, rtol=1e-10)
    alone, none = predict(target(), flat, weights, readings)
    np.testing.assert_array_equal(alone, probs)
    assert none is None

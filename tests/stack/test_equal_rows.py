"""Texts with equal readings, labels and covariates are fitted and predicted as one."""

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.data.labelled import find_equal
from cordial_ppl.estimators.stack import Stack
from cordial_ppl.evaluation.synthetic import reviews

TEXTS = reviews()
RATINGS = cp.readings_from_ratings(TEXTS.logits.argmax(axis=1) + 1, [1, 2, 3, 4, 5])
LABELS, COUNT = TEXTS.labels, 240
APART = RATINGS + np.random.default_rng(0).normal(0, 1e-9, RATINGS.shape)


def growing(readings, labels=None):
    """A channel whose temperature depends on a covariate."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    growth = numpyro.sample("growth", dist.Normal(0.0, 1.0))
    tau = jnp.exp(growth * readings.covariates["length"])
    cp.observe(jax.nn.log_softmax(readings.logits / tau[:, None], axis=1), labels)


@pytest.mark.parametrize(
    "make",
    [
        cp.LogitStack,
        pytest.param(cp.FullChannelStack, marks=pytest.mark.nightly),
        lambda: Stack(channels=["mixture"], calibrators=["odds-cv"], inference="mode"),
        cp.DirichletCalibration,
    ],
)
def test_ratings_are_fitted_as_if_no_two_were_equal(make):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, COUNT)
    fits = [
        make().fit(each[:COUNT], LABELS[:COUNT], sample_weight=weights) for each in (RATINGS, APART)
    ]
    one, other = (fit.predict_proba(RATINGS) for fit in fits)
    np.testing.assert_allclose(one, other, atol=2e-6)
    if fits[0].fit_.out_of_fold is not None:
        out_of_fold = (fit.fit_.out_of_fold for fit in fits)
        np.testing.assert_allclose(*out_of_fold, atol=2e-6)
        assert fits[0].weights_ == pytest.approx(fits[1].weights_, abs=1e-4)
        assert len(fits[0].fit_.labelled.labels) == COUNT


def test_texts_with_other_covariates_are_others():
    length = np.random.default_rng(2).integers(-1, 2, COUNT).astype(float)
    channel = cp.channels.Channel("growing", growing)
    fits = [
        cp.ChannelCalibrator(channel, inference="mode").fit(
            each[:COUNT], LABELS[:COUNT], covariates={"length": length}
        )
        for each in (RATINGS, APART)
    ]
    one, other = (fit.predict_proba(RATINGS[:COUNT], {"length": length}) for fit in fits)
    np.testing.assert_allclose(one, other, atol=2e-6)
    assert len(np.unique(one.round(9), axis=0)) == len(find_equal(RATINGS[:COUNT], length)[0])


@pytest.mark.filterwarnings("ignore:the posterior of channel 'bridge'")  # One seed in five.
def test_intervals_of_ratings_are_those_of_each():
    fit = cp.Cordial(seed=1).fit(RATINGS[:COUNT], LABELS[:COUNT])
    means, each = (fit.predict_interval(RATINGS[rows]) for rows in (slice(300), slice(3)))
    np.testing.assert_allclose(np.asarray(means)[:, :3], np.asarray(each), rtol=1e-6)


def test_rows_are_numbered_by_their_columns_where_half_are_equal():
    first, number = np.array([0.0, 1, 0, 1, 0, np.nan, np.nan, 0]), np.arange(8) // 4
    rows, numbers = find_equal(first[:, None], number)
    assert len(rows) == 4
    np.testing.assert_array_equal(first[rows][numbers], first)
    np.testing.assert_array_equal(number[rows][numbers], number)
    unequal = find_equal(first, np.arange(8))
    np.testing.assert_array_equal(unequal, [np.arange(8)] * 2)
    rows, numbers = find_equal(first)
    np.testing.assert_array_equal(first[rows][numbers], first)
    assert len(rows) == 3

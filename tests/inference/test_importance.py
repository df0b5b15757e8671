"""Importance weights: ArviZ agrees on the smoothing, and resampling keeps the shares."""

import numpy as np
import pytest
from arviz_stats.base.array import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st

from cordial_ppl.inference.importance import (
    effective_sample_size,
    khat_limit,
    normalise,
    pareto_smooth,
    resample,
)

SEEDS = st.integers(0, 2**32 - 1)
SIZES = [40, 100, 400, 2500]
"""Where 3 sqrt(S) is whole: ArviZ rounds the length of the tail down, the paper up."""


def tail(seed, size, spread, freedom):
    return spread * np.random.default_rng(seed).standard_t(freedom, size)


@settings(max_examples=60)
@given(SEEDS, st.sampled_from(SIZES), st.floats(0.1, 3), st.floats(5, 50))
def test_smoothing_agrees_with_arviz(seed, size, spread, freedom):
    log_weights = tail(seed, size, spread, freedom)
    # ArviZ takes log ratios of the other sign, and its weights sum to one.
    with np.errstate(over="ignore"):
        expected, shape = array_stats.psislw(-log_weights)
    found, khat = pareto_smooth(log_weights)
    assert float(khat) == pytest.approx(float(shape), abs=1e-6)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_weights_that_are_equal_none_or_one():
    found, khat = pareto_smooth(np.full(300, -3.0))
    np.testing.assert_allclose(found, -np.log(300), rtol=0, atol=1e-12)
    assert float(khat) == 0.0
    log_weights = tail(0, 300, 1.0, 8.0)
    log_weights[:200] = -np.inf
    found, khat = pareto_smooth(log_weights)
    assert np.isfinite(khat)
    assert float(np.exp(found[:200]).sum()) < 1e-12
    assert float(np.exp(found).sum()) == pytest.approx(1.0, abs=1e-12)
    log_weights = np.where(np.arange(300) == 7, 800.0, 0.0)
    found, khat = pareto_smooth(log_weights)
    assert np.isinf(khat)
    assert np.isfinite(np.asarray(found)[7])
    assert float(effective_sample_size(log_weights)) == pytest.approx(1.0, abs=1e-9)


@given(SEEDS, st.sampled_from([20, 64]), st.floats(0, 1, exclude_max=True))
def test_each_draw_appears_as_often_as_its_weight_says(seed, draws, start):
    log_weights = tail(seed, 50, 2.0, 4.0)
    index = resample(np.float64(start), log_weights, draws)
    assert index.shape == (draws,) and (np.diff(index) >= 0).all()
    counts = np.bincount(index, minlength=50)
    expected = draws * np.exp(normalise(log_weights))
    assert np.abs(counts - expected).max() < 1 + 1e-9


@pytest.mark.parametrize("broken", [[np.nan] + [0.0] * 99, [-np.inf] * 100])
def test_weights_that_are_no_numbers_are_not_believed(broken):
    _, khat = pareto_smooth(np.asarray(broken))
    assert khat == np.inf


def test_the_limit_of_khat_rises_with_the_number_of_weights():
    assert [khat_limit(draws) for draws in (100, 1000)] == pytest.approx([0.5, 2 / 3])
    assert khat_limit(2200) == 0.7 == khat_limit(10**6)

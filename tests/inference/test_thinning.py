"""Few draws that predict what all of them predict."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from cordial_ppl.errors import InputError
from cordial_ppl.inference import thinning
from cordial_ppl.inference.thinning import MOST, PROBES, make_probes, thin


def cloud(seed: int, count: int, width: int, weighted: bool):
    """Draws of a skewed distribution, and weights."""
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(count, width)) @ rng.normal(size=(width, width))
    draws[:, 0] = np.exp(draws[:, 0] / 2)
    weights = rng.exponential(size=count) if weighted else np.ones(count)
    return draws, weights / weights.sum()


def curves(draws, places):
    """Probabilities that depend on the draws, as predictions do."""
    return 0.5 + 0.5 * np.tanh(draws @ places / 2)


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 300),
    width=st.integers(1, 40),
    size=st.integers(1, 130),
    weighted=st.booleans(),
    ties=st.booleans(),
)
def test_what_comes_back_are_draws_with_weights(seed, count, width, size, weighted, ties):
    features, weights = cloud(seed, count, width, weighted)
    if ties:
        features = np.round(features)
    rows, own = thin(features, weights, size)
    assert len(rows) == len(own) <= size
    assert len(set(rows)) == len(rows) and set(rows) <= set(range(count))
    assert (own > 0).all()
    np.testing.assert_allclose(own.sum(), 1, rtol=1e-6)
    # The mean is as near as that of one draw, and of many much nearer.
    spread = np.sqrt(weights @ (features - weights @ features) ** 2).max()
    off = np.abs(own @ features[rows] - weights @ features).max()
    # The most over 6000 examples is .36 of this.
    assert off <= 3 * spread * min(1.0, 4 / len(rows)) + 1e-6


def test_few_draws_those_without_weight_and_none():
    features, weights = cloud(0, 64, 5, weighted=True)
    for size in (64, 65, 1000):
        rows, own = thin(features, weights, size)
        np.testing.assert_array_equal(rows, np.arange(64))
        assert own is weights
    features, weights = cloud(1, 200, 5, weighted=True)
    weights[::2] = 0
    rows, own = thin(features, weights, 150)
    np.testing.assert_array_equal(rows, np.arange(1, 200, 2))
    np.testing.assert_allclose(own, weights[1::2] / weights.sum())
    rows, _ = thin(features, weights, 50)
    assert (rows % 2 == 1).all()
    for size in (0, -1):
        with pytest.raises(InputError, match=f"must be at least 1; got {size}"):
            thin(np.zeros((3, 2)), np.full(3, 1 / 3), size)


def test_of_very_many_draws_some_are_compared_on_one_core(monkeypatch):
    """The rest are resampled, which costs about as much as a sample of so many does."""
    rng = np.random.default_rng(0)
    draws, weights = cloud(0, 2 * MOST, 16, weighted=True)
    weights[::3] = 0
    weights /= weights.sum()
    features = curves(draws, rng.normal(size=(16, 40)) / 8)
    rows, own = thin(features, weights, 128)
    assert len(rows) <= 128 and (rows % 3 > 0).all()
    mean = weights @ features
    spread = np.sqrt(weights @ (features - mean) ** 2)
    # The largest is 1.5, sd .33 over 20 seeds.
    assert (np.abs(own @ features[rows] - mean) < 3 * spread / np.sqrt(MOST)).all()
    # More threads of BLAS round otherwise, so that other draws might be chosen.
    seen, resample = [], thinning.resample

    def spy(*args):
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        seen.extend(pool["num_threads"] for pool in pools)
        return resample(*args)

    monkeypatch.setattr(thinning, "resample", spy)
    monkeypatch.setattr(thinning, "MOST", 64)
    with threadpool_limits(2, user_api="blas"):
        thin(*cloud(0, 100, 5, weighted=True), 32)
    assert set(seen) == {1}


@pytest.mark.parametrize("weighted", [False, True])
def test_each_draw_takes_the_mean_of_the_kernel_nearest_to_that_of_all(weighted):
    """The kernel as it is documented, whose bandwidth intervals rest on, and every step by itself.

    Single precision chooses otherwise only among draws as good as each other.
    """
    features, weights = cloud(4, 90, 6, weighted)
    centred = features - weights @ features
    variance = weights @ (centred**2).sum(axis=1)
    apart = ((centred[:, None] - centred[None]) ** 2).sum(axis=2)
    kernel = centred @ centred.T + variance * np.exp(-apart / (2 * variance))
    rows, own = thin(features, weights, 24)
    counts = np.zeros(90)
    for _ in range(24):
        after = counts + np.eye(90)
        after /= after.sum(axis=1, keepdims=True)
        off = after - weights
        discrepancy = np.einsum("as,st,at->a", off, kernel, off)
        counts[np.argmin(discrepancy)] += 1
    np.testing.assert_array_equal(rows, np.flatnonzero(counts))
    np.testing.assert_allclose(own, counts[rows] / 24)


@settings(max_examples=30)
@given(
    count=st.integers(1, 40),
    size=st.integers(2, 12),
    readers=st.sampled_from([None, 3]),
    flat=st.booleans(),
)
def test_probes_are_centred_readings(count, size, readers, flat):
    rng = np.random.default_rng(count)
    shape = (count, size) if readers is None else (count, readers, size)
    logits = np.zeros(shape) if flat else rng.normal(size=shape)
    logits -= logits.mean(axis=-1, keepdims=True)
    probes = make_probes(logits)
    assert probes.logits.shape == (PROBES, *shape[1:])
    assert np.isfinite(probes.logits).all()
    np.testing.assert_allclose(probes.logits.sum(axis=-1), 0, atol=1e-9)
    assert probes.rows.min() >= 0 and probes.rows.max() < count
    assert set(probes.options) == set(range(size))
    # The first are labelled readings as they are; among the others, each option has its peak.
    plain = PROBES // 6
    np.testing.assert_array_equal(probes.logits[:plain], logits[probes.rows[:plain]])
    peaks = probes.logits[PROBES // 2 :].argmax(axis=-1)
    assert set(peaks.ravel()) == set(range(size))

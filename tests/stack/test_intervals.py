"""Credible intervals of the expected position on the scale."""

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST, small
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.errors import InputError
from cordial_ppl.stack.interval import HALVINGS, label_range, quantiles


def test_intervals(judge, stack):
    for found in (judge, stack, small(inference="mode").fit(LOGITS, LABELS)):
        low = high = mean = found.predict_mean(TEST)
        for level in (0.05, 0.5, 0.9, 0.99):
            inner = low, high
            low, high = found.predict_interval(TEST, level=level)
            assert ((low <= mean) & (mean <= high)).all()
            assert (low <= inner[0]).all() and (inner[1] <= high).all()
        values = found.fit_.scale.values
        assert (low >= values[0]).all() and (high <= values[-1]).all()


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, np.nan])
def test_levels_that_are_no_probability(stack, level):
    with pytest.raises(InputError, match="level must be between 0 and 1"):
        stack.predict_interval(TEST, level=level)


DENSE = np.linspace(-3, 3, 60_001)


@given(
    seed=st.integers(0, 2**32 - 1),
    places=st.sampled_from([(-1.0, 0.0, 1.0), (2.5,), (1.0, 2.0, 1000.0), DENSE]),
    shares=st.sampled_from([(1.0, 0.0, 0.0), (0.25, 0.5, 0.25), None]),
    equal=st.booleans(),
    texts=st.sampled_from([1, 24, 129, 600]),
    level=st.sampled_from([0.1, 0.5, 0.9, 0.99]),
)
def test_quantiles_are_as_they_are_defined(seed, places, shares, equal, texts, level):
    """Of draws that are alike or of either sign, with shares of their own or the same for all."""
    rng, counts = np.random.default_rng(seed), (12, 1, 30)
    means = [rng.choice(places, (count, texts)).astype(np.float32) for count in counts]
    weights = [np.full(c, 1 / c) if equal else rng.dirichlet(np.ones(c)) for c in counts]
    own = rng.dirichlet(np.ones(3), texts) if shares is None else np.array([shares])
    found = quantiles(means, weights, own, level)
    draws = np.concatenate(means)
    mass = np.concatenate([w[:, None] * one for w, one in zip(weights, own.T, strict=True)])
    mass = np.broadcast_to(mass, draws.shape)
    slack = np.ptp(draws, axis=0) * 2.0**-HALVINGS + 1e-6
    for tail, end in zip(((1 - level) / 2, (1 + level) / 2), found, strict=True):
        assert ((draws == end) & (mass > 0)).any(axis=0).all()
        assert (np.where(draws <= end, mass, 0).sum(axis=0) >= tail - 1e-6).all()
        assert (np.where(draws < end - slack, mass, 0).sum(axis=0) <= tail + 1e-6).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(2, 12),
    spread=st.sampled_from([0.05, 0.5, 5.0]),
    level=st.sampled_from([0.1, 0.5, 0.9, 0.99]),
)
def test_label_ranges_are_as_they_are_defined(seed, size, spread, level):
    """Enough lies inside; no shorter run holds it, and none as long holds more."""
    probs = np.random.default_rng(seed).dirichlet(np.full(size, spread), 20)
    for p, low, high in zip(probs, *label_range(probs, level), strict=True):
        length, inside = high - low + 1, p[low : high + 1].sum()
        assert length >= 1 and inside >= level - 1e-9
        shorter = [p[start : start + length - 1].sum() for start in range(size - length + 2)]
        assert max(shorter) < level or length == 1
        others = [p[start : start + length].sum() for start in range(size - length + 1)]
        assert inside >= max(others) - 1e-9


def test_label_intervals_hold_labels(judge):
    """As options, in the terms of the labels; wider where more is asked for."""
    probs = judge.predict_proba(TEST)
    low, high = judge.predict_label_interval(TEST)
    assert {*low, *high} <= {*judge.classes_}
    first, last = (np.searchsorted(judge.classes_, end)[:, None] for end in (low, high))
    inside = (first <= np.arange(5)) & (np.arange(5) <= last)
    assert (np.sum(probs * inside, axis=1) >= 0.9 - 1e-9).all()
    wide = judge.predict_label_interval(TEST, level=0.99)
    ends = [np.searchsorted(judge.classes_, end) for end in wide]
    assert (ends[1] - ends[0] >= (last - first)[:, 0]).all()


def test_label_intervals_rise_where_the_numbers_of_a_scale_fall():
    logits, labels = LOGITS[:12], LABELS[:12]
    up = cp.TemperatureScaling([1, 2, 3, 4, 5]).fit(logits, labels + 1)
    down = cp.TemperatureScaling([5, 4, 3, 2, 1]).fit(logits, 5 - labels)
    low, high = up.predict_label_interval(TEST)
    assert (low <= high).all()
    np.testing.assert_array_equal(down.predict_label_interval(TEST), (6 - high, 6 - low))

"""Credible intervals of the expected position on the scale."""

import jax
import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST, small
from hypothesis import given, settings
from hypothesis import strategies as st

from cordial_ppl.cordial import interval
from cordial_ppl.cordial.interval import _quantiles
from cordial_ppl.errors import InputError


def test_intervals(judge):
    low, high = judge.predict_interval(TEST)
    mean = judge.predict_mean(TEST)
    assert (low <= high).all() and (low >= 1).all() and (high <= 5).all()
    assert ((low <= mean) & (mean <= high)).mean() > 0.95
    inner, outer = judge.predict_interval(TEST, level=0.5), judge.predict_interval(TEST, level=0.99)
    assert (inner[0] >= low).all() and (inner[1] <= high).all()
    assert (outer[0] <= low).all() and (outer[1] >= high).all()


def test_intervals_narrow_with_labels(stack, eight):
    widths = [np.mean(np.subtract(*fit.predict_interval(TEST)[::-1])) for fit in (eight, stack)]
    assert 0 < widths[1] < 0.9 * widths[0]


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, np.nan])
def test_levels_that_are_no_probability(stack, level):
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        stack.predict_interval(TEST, level=level)


def test_intervals_contain_the_mean(stack):
    mode = small(inference="mode").fit(LOGITS, LABELS)
    for level in (0.05, 0.5, 0.9):
        for found in (mode, stack):
            low, high = found.predict_interval(TEST, level=level)
            mean = found.predict_mean(TEST)
            assert ((low <= mean) & (mean <= high)).all()


def test_a_mean_that_is_known_is_not_computed_again(stack):
    whole = stack.predict_interval(TEST)
    mean = stack.predict_mean(TEST)
    np.testing.assert_array_equal(stack.predict_interval(TEST, mean=mean), whole)
    assert (stack.predict_interval(TEST, mean=mean + 10)[1] == mean + 10).all()
    with pytest.raises(InputError, match="mean must have one number"):
        stack.predict_interval(TEST, mean=mean[:-1])


COUNTS = 12, 1, 30
"""Draws of three members: the shapes that the search is compiled for."""


def sorted_quantiles(means, each, ends):
    draws, weights = np.concatenate(means), np.repeat(each, [len(m) for m in means], axis=1).T
    order = np.argsort(draws, axis=0)
    total = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    first = [np.argmax(total >= end - 1e-9, axis=0) for end in ends]
    return np.take_along_axis(np.take_along_axis(draws, order, axis=0), np.stack(first), axis=0)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    places=st.sampled_from([(-1.0, 0.0, 1.0), (0.0,), (1e-30, 1.0, 1e30), np.linspace(-3, 3, 999)]),
    shares=st.sampled_from([(1.0, 0.0, 0.0), (0.25, 0.5, 0.25), None]),
    level=st.sampled_from([0.1, 0.5, 0.9, 0.99]),
)
def test_quantiles_are_those_of_a_sort(seed, places, shares, level):
    """Of draws that are alike or of either sign, with shares of their own or the same for all."""
    rng = np.random.default_rng(seed)
    means = tuple(rng.choice(places, (count, 24)).astype(np.float32) for count in COUNTS)
    own = rng.dirichlet(np.ones(3), 24) if shares is None else np.tile(shares, (24, 1))
    given = means, own / COUNTS, np.array([(1 - level) / 2, (1 + level) / 2])
    with jax.enable_x64(True):
        np.testing.assert_array_equal(_quantiles(*given), sorted_quantiles(*given))


def test_an_accelerator_searches_all_texts_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    # Of a shape of its own: nothing that is compiled for a core is found again.
    means = tuple(rng.normal(size=(count, 40)).astype(np.float32) for count in COUNTS)
    given = means, rng.dirichlet(np.ones(3), 40) / COUNTS, np.array([0.05, 0.95])
    monkeypatch.setattr(interval, "_on_cpu", lambda: False)
    with jax.enable_x64(True):
        found = interval._quantiles(*given)
    np.testing.assert_array_equal(found, sorted_quantiles(*given))

"""Credible intervals of the expected position on the scale."""

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST, small

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

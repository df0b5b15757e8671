"""Labels between options: what each way of rounding keeps, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.data.rounding import ROUNDINGS

STARS = ("1", "2", "3", "4", "5")
averages = st.lists(st.floats(1, 5, allow_subnormal=False), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("labels", "how", "expected"),
    [
        ([3.5, 2.5, 3.33, "4"], "half-up", [4, 3, 3, 4]),
        ([3.5, 2.5, 3.33, 3.67], "nearest-even", [4, 2, 3, 4]),
        (["3,5", 1, 5], "half-up", [4, 1, 5]),
    ],
)
def test_rounding(labels, how, expected):
    found = cp.round_labels(labels, STARS, how)
    np.testing.assert_array_equal(found.labels + 1, expected)
    np.testing.assert_array_equal(found.rows, range(len(labels)))
    np.testing.assert_array_equal(found.weights, 1)


@given(averages, st.sampled_from([STARS, STARS[::-1], ("1", "2", "3", "5")]))
def test_split_keeps_every_label_and_its_weight(labels, options):
    found = cp.round_labels(labels, options, "split")
    values = np.array(options, float)
    sums = np.bincount(found.rows, found.weights * values[found.labels])
    np.testing.assert_allclose(sums, labels, atol=1e-8)
    np.testing.assert_allclose(np.bincount(found.rows, found.weights), 1)
    # Of the two neighbours alone.
    away = np.abs(values[found.labels] - np.array(labels)[found.rows])
    assert (away < np.diff(np.sort(values)).max()).all()


@given(averages, st.sampled_from(ROUNDINGS))
def test_the_scale_may_run_either_way(labels, how):
    one, other = (cp.round_labels(labels, own, how) for own in (STARS, STARS[::-1]))
    for found, flipped in ((one, 4 - other.labels),):
        order = np.lexsort([found.labels, found.rows]), np.lexsort([flipped, other.rows])
        np.testing.assert_array_equal(found.labels[order[0]], flipped[order[1]])
        np.testing.assert_allclose(found.weights[order[0]], other.weights[order[1]], atol=1e-8)


def test_what_cannot_be_rounded():
    with pytest.raises(cp.InputError, match=r"1..5; found 5.5 in row 1"):
        cp.round_labels([3.5, 5.5], STARS)
    with pytest.raises(cp.InputError, match="half-up, nearest-even, split; got 'up'"):
        cp.round_labels([3.5], STARS, "up")

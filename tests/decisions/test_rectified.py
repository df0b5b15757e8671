"""Means from predictions of all texts and labels of some."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from cordial_ppl.decisions.estimates.rectified import rectified_means
from cordial_ppl.decisions.planning import score_strata, walk
from cordial_ppl.errors import InputError

RNG = np.random.default_rng(5)
F = np.sort(RNG.normal(3, 1, 200))
# Of thirty labels the slope is .60, sd .091 over 200 seeds: no draw is near the ends, 0 and 1.
Y = (0.6 * F + RNG.normal(0, 0.4, 200)).round()
ROWS = RNG.permutation(200)[:30]


def rectified_mean(*arrays, of="these", **design):
    return rectified_means(*arrays, **design)[of]


def test_it_is_the_regression_estimator_of_surveys_with_power_tuning():
    slope, _ = np.polyfit(F[ROWS], Y[ROWS], 1)
    assert 0 < slope < 1
    found = rectified_mean(F, ROWS, Y[ROWS])
    rest = Y[ROWS] - slope * F[ROWS]
    half = t.ppf(0.95, 28) * np.sqrt((1 - 30 / 200) * rest.var(ddof=2) / 30)
    mean = slope * F.mean() + rest.mean()
    np.testing.assert_allclose(found, [mean, mean - half, mean + half, slope])
    found = rectified_mean(np.zeros(200), ROWS, Y[ROWS], level=0.8)
    y, factor = Y[ROWS], t.ppf(0.9, 29) * np.sqrt((1 - 30 / 200) / 30)
    half = factor * y.std(ddof=1)
    np.testing.assert_allclose(found[:3], [y.mean(), y.mean() - half, y.mean() + half])
    assert found.weight == 0
    # With the labelled texts apart from the others, PPI++ has Cov / ((1 + n / N) Var).
    n, others = 30, np.delete(np.arange(200), ROWS)
    f, y = F[ROWS], Y[ROWS]
    tuned = np.cov(f, y)[0, 1] / ((1 + n / len(others)) * f.var(ddof=1))
    expected = tuned * F[others].mean() + (y - tuned * f).mean()
    found = rectified_mean(F, ROWS, y)
    np.testing.assert_allclose(found.weight * (1 - n / 200), tuned)
    np.testing.assert_allclose(found.mean, expected)


def test_strata_and_probabilities_by_hand():
    f = np.array([1.0, 1, 1, 1, 5, 5, 5, 5, 5, 5])
    y, rows, strata = np.array([1.0, 3, 4, 8]), np.array([0, 1, 4, 5]), np.repeat([0, 1], [4, 6])
    found = rectified_mean(0 * f, rows, y, strata=strata)
    error = np.sqrt(0.4**2 * (1 - 2 / 4) * 2 / 2 + 0.6**2 * (1 - 2 / 6) * 8 / 2)
    np.testing.assert_allclose(found.mean, 0.4 * 2 + 0.6 * 6)
    np.testing.assert_allclose(found.upper - found.mean, t.ppf(0.95, 2) * error)
    hajek = rectified_mean(0 * f, rows, y, probabilities=[0.5, 0.5, 0.25, 0.25])
    np.testing.assert_allclose(hajek.mean, (2 * 1 + 2 * 3 + 4 * 4 + 4 * 8) / 12)
    # Only the ratios of probabilities count: who stops a plan early has smaller ones.
    fewer = rectified_mean(0 * f, rows, y, probabilities=[0.2, 0.2, 0.1, 0.1])
    np.testing.assert_allclose(fewer, hajek)


def test_a_stratum_with_one_label_is_joined_with_the_next():
    strata = np.repeat([0, 1, 2, 3], 50)
    rows = np.array([0, 60, 61, 120, 121, 190])
    found = rectified_mean(F, rows, Y[rows], strata=strata)
    joined = rectified_mean(F, rows, Y[rows], strata=np.repeat([0, 0, 1, 1], 50))
    assert found == joined
    lone = np.array([0, 60])
    alone = rectified_mean(F, lone, Y[lone])
    assert rectified_mean(F, lone, Y[lone], strata=strata) == alone


def test_all_labels_one_and_equal_ones():
    found = rectified_mean(F, np.arange(200), Y, strata=score_strata(F, 20))
    np.testing.assert_allclose(found[:3], Y.mean())
    found = rectified_mean(F, [3], [4.0])
    assert found == (4.0, -np.inf, np.inf, 0.0)
    assert rectified_mean([2.0], [0], [4.0])[:3] == (4.0, 4.0, 4.0)
    # The predictions' spread stands in for that of the labels, which is unknown.
    found = rectified_mean(F, ROWS, np.full(30, 4.0))
    half = t.ppf(0.95, 29) * np.sqrt((1 - 30 / 200) / 30) * F[ROWS].std(ddof=1)
    np.testing.assert_allclose(found[:3], [4, 4 - half, 4 + half])
    assert np.isinf(rectified_mean(np.ones(200), ROWS, np.full(30, 4.0)).upper)


@given(st.integers(2, 40), st.integers(0, 2**32 - 1), st.floats(0.1, 10), st.floats(-5, 5))
def test_units_do_not_matter(n, seed, unit, origin):
    rows = np.random.default_rng(seed).permutation(200)[:n]
    strata = score_strata(F, n)
    one = rectified_mean(F, rows, Y[rows], strata=strata)
    other = rectified_mean(unit * F + origin, rows, unit * Y[rows] + origin, strata=strata)
    np.testing.assert_allclose(
        [*other[:3], other.weight], [*(unit * np.array(one[:3]) + origin), one.weight], atol=1e-7
    )


@pytest.mark.parametrize(
    "design",
    ["random", "unequal", pytest.param("planned", marks=pytest.mark.nightly)],
)
def test_intervals_hold_as_often_as_they_say(design):
    rng, size, n, held, errors = np.random.default_rng(1), 600, 24, [], []
    shares = np.linspace(0.5, 1.5, size) * n / size
    for _ in range(1500):
        # Of each population a plan holds more often than it says, or less: by sd .035.
        f = np.sort(rng.normal(size=size))
        y = 0.8 * f + rng.normal(size=size) + 0.5 * (f > 1)
        settings = {}
        if design == "random":
            rows = rng.permutation(size)[:n]
        elif design == "planned":
            walked = walk(np.arange(size), rng.random())
            rows = np.array([next(walked) for _ in range(n)])
            settings["strata"] = score_strata(f, n)
        else:
            rows = rng.permutation(np.flatnonzero(rng.random(size) < shares))
            settings["probabilities"] = shares[rows]
        found = rectified_mean(f, rows, y[rows], **settings)
        held.append(found.lower <= y.mean() <= found.upper)
        errors.append((found.mean - y.mean()) * np.sqrt(n) / y.std())
    # Over 20 seeds .90, .91 and .89, sd .010; 0, sd .017; .74, .73 and .78, sd .014.
    assert abs(np.mean(held) - 0.9) < 0.04
    assert abs(np.mean(errors)) < 0.1
    assert np.std(errors) < 0.9


@pytest.mark.parametrize("single", [False, True])
def test_groups_that_are_labelled_to_the_last_do_not_make_others_certain(single):
    """Seven groups of five, all labelled, or one of a single text, beside a large one."""
    held = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sizes = [200, 1, 40, 40] if single else [200, *[5] * 7]
        strata = np.repeat(np.arange(len(sizes)), sizes)
        y = rng.integers(0, 5, len(strata)).astype(float)
        rows = np.concatenate([np.flatnonzero(strata == s)[:5] for s in range(len(sizes))])
        shares = np.array([min(5, size) / size for size in sizes])[strata[rows]]
        ends = rectified_mean(np.zeros(len(y)), rows, y[rows], strata=strata, probabilities=shares)
        held.append(ends.lower <= y.mean() <= ends.upper)
    assert np.mean(held) > 0.82  # .894, sd .012, and .881, sd .018, over 20 seeds


def test_clusters_of_unlike_sizes_are_fewer():
    units = np.repeat(np.arange(10), [60, *[2] * 9])
    rng = np.random.default_rng(0)
    y = rng.normal(0, 1, 10)[units] + rng.normal(0, 0.1, len(units))
    chosen = np.flatnonzero(units < 8)
    ends = rectified_mean(np.zeros(len(y)), chosen, y[chosen], clusters=units)
    plain = t.ppf(0.95, 7) * np.std(y[chosen]) / np.sqrt(8)
    assert ends.upper - ends.lower > 2 * plain


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"values": [1.0, np.nan]}, "values must be an array .n. of finite numbers.* row 1"),
        ({"labels": ["good", "bad"]}, "labels must be numbers"),
        ({"labels": []}, "labels must be an array .n. of finite numbers"),
        ({"rows": [3, 3]}, "a distinct position .0..199. for each of the 2 labels"),
        ({"rows": [3, 200]}, "a distinct position .0..199. for each of the 2 labels"),
        ({"rows": [3]}, "a distinct position .0..199. for each of the 2 labels"),
        ({"rows": [0.5, 1.0]}, "a distinct position .0..199. for each of the 2 labels"),
        ({"strata": [0, 1]}, "strata must have one entry per text: expected 200; got 2"),
        ({"probabilities": [0.5, 1.5]}, "one value in .0, 1. .* got 1.5 in row 1"),
        ({"probabilities": [0.5]}, "for each of the 2 labels"),
        ({"level": 1.0}, "level must be between 0 and 1"),
    ],
)
def test_bad_input(changed, message):
    given = {"values": F, "rows": [3, 4], "labels": [1.0, 2.0]} | changed
    with pytest.raises(InputError, match=message):
        rectified_mean(**given)

"""Hard ratings: what each becomes, what is asked for, and what is turned away."""

import enum
import math
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.data.ratings import state
from cordial_ppl.data.readings import as_logits
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import CordialWarning, InputError, SettingNeeded

OPTIONS = tuple(map(str, range(7)))


class Words(enum.Enum):
    POOR = "poor"
    FAIR = "fair"
    GOOD = "good"


@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.sampled_from([int, float, str]))
def test_a_hard_rating_is_a_sample_of_one(ratings, kind):
    found = cp.readings_from_ratings([kind(k) for k in ratings], OPTIONS)
    expected = cp.readings_from_counts(np.eye(7)[ratings])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)


@pytest.mark.parametrize(
    "ratings",
    [
        [1, None, 2],
        ["1", " ", "2"],
        np.array([1, np.nan, 2]),
        np.ma.masked_array([1, 9, 2], [False, True, False]),
        [1, np.ma.masked, 2],
        np.array([1, np.ma.masked, 2], object),
        [1, pd.NA, 2],
        pd.Series([1, None, 2], index=[7, 8, 9]),
        pd.array([1, None, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
    ],
)
def test_a_text_without_a_rating_has_no_reading_and_is_counted(ratings):
    with pytest.warns(CordialWarning, match="no rating for 1 of 3 texts .row 1."):
        found = cp.readings_from_ratings(ratings, [0, 1, 2])
    assert np.isnan(found[1]).all() and found[[0, 2]].argmax(axis=1).tolist() == [1, 2]
    with pytest.raises(InputError, match="found nan in row 1"):
        as_logits(found)


@pytest.mark.parametrize(
    ("ratings", "options"),
    [
        (
            pd.Series(["good", "poor"], dtype=pd.CategoricalDtype(["poor", "fair", "good"], True)),
            None,
        ),
        (pl.Series(["good", "poor"], dtype=pl.Enum(["poor", "fair", "good"])), None),
        ([Words.GOOD, Words.POOR], Words),
        (["good", "Poor"], pl.Enum(["poor", "fair", "good"])),
        ([3, 1], ("1", "2", "3")),
    ],
)
def test_options_may_be_those_of_a_type(ratings, options):
    assert cp.readings_from_ratings(ratings, options).argmax(axis=1).tolist() == [2, 0]
    assert cp.readings_from_ratings(ratings, options).shape == (2, 3)


@pytest.mark.parametrize(
    ("ratings", "proposal"),
    [
        ([0, 6, 3], OPTIONS),
        ([2, 4.0], ("1", "2", "3", "4")),
        (["-2", "1"], ("-2", "-1", "0", "1")),
        ([1, 1.5, 2.5], ("1", "2", "3")),
        ([1, 1], ("1", "2")),
        ([70, 85, 100], ("WORST", "...", "BEST")),
        (["good", "bad"], ("WORST", "...", "BEST")),
    ],
)
def test_options_are_asked_for_and_whole_ones_proposed(ratings, proposal):
    with pytest.raises(
        SettingNeeded, match="ratings alone do not show which options the scale has"
    ) as raised:
        cp.readings_from_ratings(ratings)
    assert (raised.value.setting, raised.value.value) == ("options", proposal)


def test_averages_are_rounded_when_it_is_asked_for():
    averages = [2, 2.67, 3.5]
    with pytest.raises(InputError, match="2 of 3 between .* for example 2.67 in row 1.*Round"):
        cp.readings_from_ratings(averages, OPTIONS)
    found = cp.readings_from_ratings(averages, OPTIONS, round=True)
    np.testing.assert_array_equal(found, cp.readings_from_ratings([2, 3, 4], OPTIONS))
    split = np.exp(cp.readings_from_ratings([2.25], OPTIONS, round="split")[0])
    np.testing.assert_allclose(split, np.array([1, 1, 2.5, 1.5, 1, 1, 1]) / 9)


@pytest.mark.parametrize("options", [("1", "2", "3", "4", "5"), (0, 10, 50, 100), "low so high"])
@pytest.mark.parametrize("ends", [(0, 10), (-1.5, 2), ("100", "0")])
def test_ratings_on_another_scale_are_rescaled_and_split(options, ends):
    """The mean of what is stated is on the line from the first option's number to the last's."""
    options = tuple(options.split()) if isinstance(options, str) else options
    (worst, best), scale = map(float, ends), Scale.of(options)
    shares = np.r_[0, 1, np.random.default_rng(0).random(40)]
    ratings = worst + shares * (best - worst)
    logits = cp.readings_from_ratings(ratings, options, rating_range=ends)
    stated, kind = state(as_logits(logits))
    assert kind == "rating" and stated[:2].argmax(axis=1).tolist() == [0, len(options) - 1]
    assert all(np.ptp(np.flatnonzero(row > 1e-6)) <= 1 for row in stated)
    first, last = scale.numerals[[0, -1]]
    np.testing.assert_allclose(stated @ scale.numerals, first + shares * (last - first), atol=1e-6)
    turned = cp.readings_from_ratings(ratings, options, rating_range=ends[::-1], round="half-up")
    assert turned[:2].argmax(axis=1).tolist() == [len(options) - 1, 0]


@pytest.mark.parametrize("ends", [(0, 100), (100, 0)])
def test_a_rating_in_a_range_of_two_options_is_a_probability_in_any_batch(ends):
    """The share that is stated of a text does not depend on the texts beside it."""
    shares = np.array([*([0.7] * 9), 0.5, 0.75, 0.25, 0.85, 0.6, 0.95, 1, 0, 0.3])
    ratings = ends[0] + shares * (ends[1] - ends[0])
    logits = as_logits(cp.readings_from_ratings(ratings, ("no", "yes"), rating_range=ends))
    for rows in (slice(None), slice(None, None, -1), [0, 10, 12], *np.arange(18)[:, None]):
        np.testing.assert_allclose(state(logits[rows])[0][:, 1], shares[rows], atol=0.006)
    inner = (shares > 0.01) & (shares < 0.99)
    np.testing.assert_allclose(state(logits)[0][inner, 1], shares[inner], atol=1e-4)


@pytest.mark.filterwarnings("ignore:found no rating for")
def test_what_is_no_rating_of_a_range():
    read = partial(cp.readings_from_ratings, options=OPTIONS, rating_range=(0, 100))
    for wrong in (101, -1, "good", math.inf):
        with pytest.raises(InputError, match="numbers from 0 to 100; found .* in row 2"):
            read([None, 50, wrong, 7])
    for ends in ((), (5,), (5, 5), ("low", "high"), (0, 5, 10), "01"):
        with pytest.raises(SettingNeeded, match="two different numbers"):
            read([50], rating_range=ends)
    with pytest.raises(InputError, match="'1,000' in row 1. Use a decimal point and no thousands"):
        read(["500", "1,000"], rating_range=(0, 1000))
    assert (read(["3,125"], rating_range=(0, 10)) == read([3.125], rating_range=(0, 10))).all()
    # Weighted means are a bit above the best rating.
    assert (read([100 + 1e-12, 0.1 * 3 - 0.3]) == read([100, 0])).all()
    with pytest.raises(SettingNeeded) as raised:
        read([70, 85], options=None)
    assert (raised.value.setting, raised.value.value) == ("options", ("WORST", "...", "BEST"))


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([1, 7], "whole numbers 0..6; found 7 in row 1"),
        ([1, 9], "whole numbers 0..6; found 9 in row 1.*rating_range"),
        ([None, 7], "found 7 in row 1"),
        (["\u22121"], "must be whole numbers"),
        ([], "every rating is missing"),
        ([None], "every rating is missing"),
        (
            [[1, 2]],
            r"shape \[n\], .* found \[1, 2\]. If a text has several .* readings_from_counts",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:found no rating for")
def test_what_is_no_rating(ratings, message):
    with pytest.raises(InputError, match=message):
        cp.readings_from_ratings(ratings, OPTIONS)


def test_lazy_frames_are_collected():
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0]})
    np.testing.assert_array_equal(as_logits(frame.lazy()), as_logits(frame))
    fitted = cp.calibrators.LabelHistogram().fit(frame.lazy(), [0, 1])
    assert fitted.predict_proba(frame.lazy()).columns == ["0", "1"]
    with pytest.raises(InputError, match="expected columns a, b, in this order; got b, a"):
        fitted.predict_proba(frame.select("b", "a").lazy())


def rate(size, count=40):
    return np.random.default_rng(size).integers(0, size, count)


@pytest.mark.parametrize("size", [2, 3, 5, 11])
@pytest.mark.parametrize("shape", [lambda r: r, lambda r: 2.5 * r, np.float32])
def test_hard_readings_are_the_ratings_that_they_were_made_from(size, shape):
    """On any scale, scaled or in single precision; one text of a table as well as all of it."""
    ratings = rate(size)
    logits = as_logits(shape(cp.readings_from_ratings(ratings, range(size))))
    shares, kind = state(logits)
    assert kind == "rating" and shares.tolist() == np.eye(size)[ratings].tolist()
    shares, _ = state(as_logits(cp.readings_from_ratings(ratings[:1], range(size))))
    assert shares.tolist() == np.eye(size)[ratings[:1]].tolist()


@pytest.mark.parametrize("size", [2, 3, 5, 11])
@pytest.mark.parametrize("how", ["split", "half-up"])
def test_averages_of_samples_are_ratings_split_or_rounded(size, how):
    averages = np.clip(rate(size) + np.random.default_rng(0).integers(0, 3, 40) / 3, 0, size - 1)
    logits = as_logits(cp.readings_from_ratings(averages, range(size), round=how))
    shares, kind = state(logits)
    wanted = averages if how == "split" else np.floor(averages + 0.5)
    assert kind == "rating"
    np.testing.assert_allclose(shares @ np.arange(size), wanted, atol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 5, 11])
def test_counts_of_samples_are_shares_without_half_counts(size):
    """Of some texts fewer samples than of others are there; no other numbers suit as well."""
    rng = np.random.default_rng(size)
    totals = np.where(rng.random(60) < 0.5, 36, 40)
    counts = np.array([rng.multinomial(n, rng.dirichlet(np.ones(size))) for n in totals])
    shares, kind = state(as_logits(cp.readings_from_counts(counts)))
    assert kind == "ratings"
    np.testing.assert_allclose(shares, counts / totals[:, None], atol=1e-9)
    unanimous = as_logits(cp.readings_from_counts(20 * np.eye(size)[rate(size)]))
    assert state(unanimous)[0].tolist() == np.eye(size)[rate(size)].tolist()


@pytest.mark.parametrize("size", [2, 3, 5, 11])
@pytest.mark.parametrize("count", [2, 8, 300])
def test_graded_readings_are_no_ratings(size, count):
    probs = np.random.default_rng(size).dirichlet(np.ones(size), count)
    for readings in (probs, (probs + np.eye(size)[0]) / 2):
        shares, kind = state(as_logits(cp.readings_from_probabilities(readings)))
        assert kind == "probabilities"
        np.testing.assert_allclose(shares, readings)
    assert state(np.empty((0, size)))[0].shape == (0, size)

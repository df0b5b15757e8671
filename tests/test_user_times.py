"""When labels were given: numbers and dates of every kind, in order and with ties."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cordial_ppl as cp
from cordial_ppl.personal.history import arrange
from cordial_ppl.personal.times import as_order

DAYS = ["2024-03-01T12:00:00", "2024-02-29", "2024-03-01T12:00:00.000001", "2024-02-29"]
MOMENTS = [datetime.fromisoformat(day) for day in DAYS]
PLACES = [2, 0, 3, 0]


@pytest.mark.parametrize(
    "order",
    [
        PLACES,
        [str(place) for place in PLACES],
        DAYS,
        MOMENTS,
        [moment.replace(tzinfo=UTC) for moment in MOMENTS],
        np.array(MOMENTS, "datetime64[us]"),
        np.array(MOMENTS, "datetime64[ns]"),
        np.array(MOMENTS, "datetime64[us]") - np.datetime64("2024-01-01"),
        pd.Series(pd.to_datetime(DAYS, format="ISO8601")),
        pd.Series(pd.to_datetime(DAYS, format="ISO8601", utc=True)),
        pl.Series(MOMENTS),
    ],
    ids=lambda order: type(order).__name__,
)
def test_numbers_and_dates_are_put_in_order(order):
    found = as_order(order, 4)
    np.testing.assert_array_equal(np.argsort(found, kind="stable"), [1, 3, 0, 2])
    assert found[1] == found[3]
    history = arrange(np.zeros(4, int), found)
    np.testing.assert_array_equal(history.earlier, [0, 0, 2, 3])


def test_time_zones_are_compared_as_of_utc():
    east = timezone(timedelta(hours=5))
    order = [datetime(2024, 1, 1, 4, tzinfo=east), "2024-01-01T00:00:00Z", "2023-12-31T23:00+00:00"]
    np.testing.assert_array_equal(np.argsort(as_order(order, 3), kind="stable"), [0, 2, 1])
    assert as_order(order, 3)[0] == as_order(order, 3)[2]


def test_dates_of_python_are_midnights():
    found = as_order([date(2024, 1, 2), datetime(2024, 1, 1, 23), date(2024, 1, 1)], 3)
    np.testing.assert_array_equal(np.argsort(found), [2, 1, 0])


def test_nanoseconds_are_told_apart():
    found = as_order(np.array(["2024-01-01", "2024-01-01"], "datetime64[ns]") + [1, 0], 2)
    np.testing.assert_array_equal(arrange(np.zeros(2, int), found).rows, [1, 0])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["2024-01-01", "soon"], "or dates .* found 'soon' in row 1"),
        (["2024-01-01", None], "found None in row 1"),
        ([datetime(2024, 1, 1), 5.0], "found 5 in row 1"),
        (["1", None], "finite numbers or dates; not so in row 1"),
        ([datetime(2024, 1, 1), pd.NaT], "found NaT in row 1"),
        (["2024-01-01", "2024-01-01T00:00Z"], "a time zone for every date or for none; .* row 1"),
        (np.array(["2024-01-01", "NaT"], "datetime64[s]"), "finite numbers or dates; .* row 1"),
        ([np.inf, 1.0], "finite numbers or dates; not so in row 0"),
        ([["2024-01-01"], ["2024-01-02"]], r"for each of 2 texts; got shape \(2, 1\)"),
    ],
)
def test_what_is_neither_is_said(order, message):
    with pytest.raises(cp.InputError, match=message):
        as_order(order, 2)

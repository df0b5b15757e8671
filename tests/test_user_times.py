"""When labels were given: numbers and dates of every kind, in order and with ties."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cordial_ppl as cp
from cordial_ppl.personal.validation import as_order

DAYS = ["2024-03-01T12:00:00", "2024-02-29", "2024-03-01T12:00:00.000001", "2024-02-29"]
MOMENTS = [datetime.fromisoformat(day) for day in DAYS]
PLACES = [2, 0, 3, 0]
EAST = timezone(timedelta(hours=5))


@pytest.mark.parametrize(
    "order",
    [
        PLACES,
        [str(place) for place in PLACES],
        DAYS,
        MOMENTS,
        np.array(["2024-01-02", "2024-01-01"] * 2, "datetime64[ns]") + [2, 0, 3, 0],
        np.array(MOMENTS, "datetime64[us]") - np.datetime64("2024-01-01"),
        pd.Series(pd.to_datetime(DAYS, format="ISO8601", utc=True)),
        pl.Series(MOMENTS),
        [date(2024, 1, 2), datetime(2024, 1, 1), datetime(2024, 1, 2, 1), "2024-01-01"],
        [datetime(2024, 1, 1, 9, tzinfo=EAST), "2024-01-01T00Z", "2024-01-02T00:00Z"]
        + ["2023-12-31T23:00-01:00"],
    ],
    ids=lambda order: type(order).__name__,
)
def test_numbers_and_dates_are_put_in_order(order):
    found = as_order(order, 4)
    np.testing.assert_array_equal(np.argsort(found, kind="stable"), [1, 3, 0, 2])
    assert found[1] == found[3]


def test_nanoseconds_are_compared():
    order = as_order(np.array(["2024-01-01", "2024-01-01"], "datetime64[ns]") + [1, 0], 2)
    np.testing.assert_array_equal(np.argsort(order), [1, 0])


@pytest.mark.parametrize(
    ("order", "found"),
    [
        (["2024-01-01", "soon"], "'soon' in row 1"),
        ([1, 2, "soon"], "'soon' in row 2"),
        (["2024-01-01", None], "None in row 1"),
        ([datetime(2024, 1, 1), 5.0], "5 in row 1"),
        (["2024-01-01", "2024-01-01T00:00Z"], "'2024-01-01T00:00Z' in row 1"),
        (np.array(["2024-01-01", "NaT"], "datetime64[s]"), ".* in row 1"),
        ([np.inf, 1.0], "inf in row 0"),
    ],
)
def test_what_is_neither_is_refused(order, found):
    with pytest.raises(cp.InputError, match=f"order must be .* a time zone; found {found}"):
        as_order(order, len(order))
    with pytest.raises(cp.InputError, match=r"for each of 9 texts; got shape \[\d\]"):
        as_order(order, 9)

"""Containers: what is masked, null or NA is missing, whatever lies below it."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale

LOGITS = np.linspace(-1, 1, 15).reshape(5, 3)
LABELS = [0, 1, 2, 1, 0]
MASKED = np.ma.array(LABELS, mask=np.array([0, 0, 1, 0, 0], bool), fill_value=1)


@pytest.mark.parametrize("rows", [list, pl.DataFrame, pd.DataFrame])
def test_masked_rows_are_no_readings(rows: Any) -> None:
    masked = np.ma.array(LOGITS, mask=LOGITS == LOGITS[1, 1])
    table = list(masked) if rows is list else rows(np.where(masked.mask, np.nan, LOGITS))
    with pytest.raises(cp.InputError, match=r"found nan in row 1, column"):
        cp.RawReading().fit(table, LABELS)
    with pytest.raises(cp.InputError, match=r"found a masked cell in row 1, column 1"):
        cp.RawReading().fit(masked, LABELS)
    records = np.zeros(3, [("a", float), ("b", float)])
    with pytest.raises(cp.InputError, match=r"Pass one of its fields, or one column per field\.$"):
        cp.RawReading().fit(records, LABELS)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([1, np.nan, 2], "nan at position 1"),
        ([None, 1, 2], "None at position 0"),
        ([1, 2, 10**400], "1000.* at position 2"),
        (np.ma.masked_equal([1, 2, 3], 3), "None at position 2"),
        ([0, 1, 1j], "1j at position 2"),
        ([1, True, 3], "True at position 1"),
    ],
)
def test_what_names_no_option_is_named_itself(options: Any, found: str) -> None:
    with pytest.raises(cp.InputError, match=f"names or finite numbers; found {found}"):
        Scale.of(options, 3)


def test_masked_labels_users_weights_and_strata_are_missing() -> None:
    probs = np.full((5, 3), 1 / 3)
    with pytest.raises(cp.InputError, match="are missing in row 2"):
        cp.TemperatureScaling().fit(LOGITS, list(MASKED))
    with pytest.raises(cp.InputError, match="the user is missing in row 2"):
        cp.UserShift().fit(probs, LABELS, list(MASKED))
    with pytest.raises(cp.InputError, match="^weights must be"):
        cp.scores.accuracy(probs, LABELS, MASKED)
    with pytest.raises(cp.InputError, match="options must be a sequence of names"):
        cp.RawReading(options=[np.nan, 1, 2]).fit(LOGITS, LABELS)

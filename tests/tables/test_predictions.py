"""Predictions made elsewhere: one row a text, of the fit and in the order that are asked for."""

from typing import Any

import numpy as np
import pytest

from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError
from cordial_ppl.tables import Predictions, write_table

SCALE = Scale(("1", "2", "3"))
PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]])
FIT: dict[str, Any] = {"task": "help", "reader": "judge", "n": 20, "draw": 0}


def table(path, ids, **fields):
    """Write predictions, with the columns of the options in another order than theirs."""
    options = {f"p_{option}": PROBS[:, k] for k, option in reversed([*enumerate(SCALE.options)])}
    write_table(path, {"item_id": ids, **fields, **options})
    return Predictions(path)


def test_rows_are_texts_and_columns_are_options(tmp_path):
    found = table(tmp_path / "all.csv", ["a", "b", "c", "d"])
    for items in (["d", "a"], ["b", "d", "a", "c"]):
        probs = found.probs(items, SCALE, **FIT)
        np.testing.assert_array_equal(probs, PROBS[["abcd".index(item) for item in items]])


def test_predictions_are_those_of_the_fit(tmp_path):
    fields = {"n": ["20", "20", "40", "40"], "draw": ["0", "1", "0", "1"]}
    found = table(tmp_path / "fits.csv", ["a"] * 4, **fields)
    for row, (n, draw) in enumerate(zip(*fields.values(), strict=True)):
        fit: dict[str, Any] = {**FIT, "n": int(n), "draw": int(draw)}
        probs = found.probs(["a"], SCALE, **fit)
        np.testing.assert_array_equal(probs, PROBS[[row]])
    with pytest.raises(InputError, match="no row for 1 of 2 texts of n 20, draw 0: 'b'"):
        found.probs(["a", "b"], SCALE, **FIT)

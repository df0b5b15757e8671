"""The door: what is accepted, what it becomes, and what is turned away with its place."""

import warnings
from functools import partial
from inspect import unwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.special import softmax

import cordial_ppl as cp
from cordial_ppl.data.conversion import readings_from_counts, readings_from_probabilities
from cordial_ppl.data.readings import as_logits, label_histogram
from cordial_ppl.errors import CordialWarning, InputError

tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
    elements=st.floats(-400, 400),
)


@given(tables, st.floats(-1e3, 1e3))
@pytest.mark.filterwarnings("ignore:the logits of every text are between 0 and 1")
def test_centring_keeps_the_distribution(values, shift):
    logits = as_logits(values + shift)
    probs = softmax(values / 100, axis=1)
    np.testing.assert_allclose(readings_from_probabilities(probs), np.log(probs))
    np.testing.assert_allclose(logits.mean(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(softmax(logits, axis=1), softmax(values, axis=1), atol=1e-9)
    np.testing.assert_allclose(as_logits(logits), logits, atol=1e-9)


def test_missing_options_are_floored_and_counted_once():
    values = [[1, 2, -np.inf], [0, 1, 2], [-np.inf, -np.inf, 3], [-3.4e38, 1, 5]]
    with pytest.warns(
        CordialWarning,
        match="4 missing readings in 3 of 4 rows .first: row 0, column 2",
    ) as caught:
        logits = as_logits(values)
    assert len(caught) == 1
    np.testing.assert_allclose(logits[0] - logits[0, 0], [0, 1, 0])
    np.testing.assert_allclose(logits[1], [-1, 0, 1])
    np.testing.assert_allclose(logits[3] - logits[3, 1], [0, 0, 4])
    # The one option that was read stays the most probable.
    np.testing.assert_allclose(logits[2] - logits[2, 2], [np.log(1e-4), np.log(1e-4), 0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0, 1], [np.nan, 0]], "found nan in row 1, column 0"),
        ([[0, np.inf], [np.nan, 0]], "found inf in row 0, column 1 and 1 more"),
        ([[0, 1e38]], "found 1e[+]38 in row 0, column 1"),
        ([[0, 1], [-np.inf, -np.inf]], "every option is -inf or empty in row 1"),
        (pd.DataFrame({"logit_1": [0, 1], "logit_2": [0, None]}), "nan in row 1, column 'logit_2'"),
        (pd.DataFrame({"good": [0, 1], "bad": [0, "?"]}), "'[?]' in row 1, column 'bad'"),
        (pl.DataFrame({"a": [0.5, None], "b": [0.5, 1.0]}), "found nan in row 1, column 'a'"),
        ([[0, 1], [2]], "rows of equal length"),
        (np.array([[0, 1j]]), "must be numbers; found 0j in row 0, column 0"),
        ([0, 1], r"shape \[n, K\] .*; found \[2\]. For one text"),
        (np.zeros((0, 3)), r"n >= 1 and K >= 2; found \[0, 3\]"),
        (np.zeros((3, 1)), r"n >= 1 and K >= 2; found \[3, 1\]"),
        (None, "shape|numbers"),
    ],
)
def test_bad_logits(values, message):
    with pytest.raises(InputError, match=message):
        as_logits(values)


@given(
    arrays(np.int64, array_shapes(min_dims=2, max_dims=2, min_side=2), elements=st.integers(0, 50)),
    st.floats(1e-3, 10),
)
def test_counts_enter_as_smoothed_shares(counts, pseudo_count):
    counts[:, 0] += 1
    shares = np.exp(readings_from_counts(counts, pseudo_count))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(
        shares * (counts.sum(axis=1, keepdims=True) + pseudo_count * counts.shape[1]),
        counts + pseudo_count,
    )


@pytest.mark.parametrize(
    ("enter", "values", "message"),
    [
        *(
            (partial(unwrap(readings_from_counts), pseudo_count=a), [[1, 2]], "pseudo_count")
            for a in (0, -1, np.inf, "a")
        ),
        (
            readings_from_probabilities,
            [[0.5, 0.5], [0.5, 0.6]],
            "in row 1 do not sum to one .first sum: 1.1",
        ),
        (readings_from_probabilities, [[50, 50]], "in row 0 do not sum to one .first sum: 100"),
        (readings_from_probabilities, [[1.5, -0.5]], "found -0.5 in row 0, column 1"),
        (readings_from_probabilities, [[np.nan, 1]], "found nan in row 0, column 0"),
        (readings_from_counts, [[1, -1]], "found -1 in row 0, column 1"),
        (readings_from_counts, [[1, 0.5]], "found 0.5 in row 0, column 1"),
        (readings_from_counts, [[1, np.nan]], "found nan in row 0, column 1"),
        (readings_from_counts, [[1, 1e300]], "found 1e[+]300 in row 0, column 1"),
    ],
)
def test_bad_probabilities_and_counts(enter, values, message):
    with pytest.raises(InputError, match=message):
        enter(values)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_histogram_of_the_labels_that_count(labels, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))))
    positions = np.array(labels)
    kept = positions[mask]
    expected = [(np.sum(kept == k) + 1) / (len(kept) + 4) for k in range(4)]
    np.testing.assert_allclose(label_histogram(kept, 4), expected)
    np.testing.assert_allclose(label_histogram(np.where(mask, positions, -1), 4), expected)


@pytest.mark.parametrize("mask", [-1e4, -65504.0, -1e9, -1e12, float(np.finfo(np.float32).min)])
def test_masks_are_missing_options(mask):
    logits = np.array([[0.0, 1.0, -60.0], [2.0, mask, 60.0]])
    with pytest.warns(CordialWarning, match="1 missing reading in 1 of 2 rows"):
        masked = as_logits(logits)
    with pytest.warns(CordialWarning):
        missing = as_logits(np.where(logits == mask, -np.inf, logits))
    np.testing.assert_array_equal(masked, missing)


def test_probabilities_in_the_place_of_logits_are_warned_of():
    probs = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    with pytest.warns(CordialWarning, match="If they are probabilities"):
        as_logits(probs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (np.log(probs), probs[:7], 2 * probs, probs - 0.01):
            as_logits(other)


def test_a_hard_answer_is_not_one_unread(recwarn: pytest.WarningsRecorder) -> None:
    cp.readings_from_probabilities(np.eye(2)[[0, 1, 1, 0]])
    assert not recwarn.list
    with pytest.raises(cp.InputError, match="every option is below -1e9"):
        cp.RawReading().fit([[-1e30, -2e30], [0.0, 1.0]], [0, 1])


@pytest.mark.parametrize("convert", [cp.readings_from_counts, cp.readings_from_probabilities])
def test_a_row_of_zeros_is_a_text_without_a_reading(convert):
    """As a row of NaN is, but with a warning that counts such rows and names them."""
    values = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [np.nan] * 3, [1.0, 0.0, 0.0]])
    with pytest.warns(CordialWarning, match="1 of 4 .*row 1"):
        found = convert(values)
    np.testing.assert_array_equal(found, convert(np.where(values.any(1)[:, None], values, np.nan)))
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, False]


@pytest.mark.parametrize("convert", [cp.readings_from_counts, cp.readings_from_probabilities])
def test_columns_that_are_converted_are_in_order(convert):
    frame = pd.DataFrame(np.eye(3), columns=["p_1", "p_3", "p_2"])
    with pytest.raises(InputError, match="expected columns p_1, p_2, p_3, in this order"):
        convert(frame)
    np.testing.assert_array_equal(
        convert(frame.set_axis(["a", "c", "b"], axis=1)), convert(np.eye(3))
    )


def test_a_probability_of_zero_is_a_small_one(recwarn):
    """Not as large as the others of its row, and no reading that is missing."""
    halves, hard, mixed = cp.readings_from_probabilities(
        [[0, 0, 0.5, 0.5, 0], [0, 0, 1, 0, 0], [0.95, 0.001, 0.049, 0, 0]]
    )
    assert not recwarn.list
    np.testing.assert_allclose(np.exp(halves), [0.005, 0.005, 0.5, 0.5, 0.005])
    np.testing.assert_allclose(np.exp(hard), [1e-4, 1e-4, 1, 1e-4, 1e-4])
    np.testing.assert_allclose(np.exp(mixed), [0.95, 0.001, 0.049, 0.001, 0.001])

"""The scale: labels in, positions out, and messages that say what to do."""

import pickle
import unicodedata

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordial_ppl.errors import InputError
from cordial_ppl.scale import Scale, SettingNeeded

WORDS = Scale(("bad", "fair", "good"))


texts = st.text(st.characters(exclude_characters="\0"))  # NumPy drops a trailing null
words = texts.map(lambda text: f"a {text}".strip())


def composed(name):
    return unicodedata.normalize("NFC", name)


@given(st.lists(words, min_size=2, max_size=12, unique_by=composed))
def test_names_round_trip(names):
    scale = Scale(tuple(names))
    assert scale.decode(scale.encode(names)) == names
    np.testing.assert_array_equal(scale.encode(names[::-1]), np.arange(len(names))[::-1])


@pytest.mark.parametrize("size", [2, 5, 11, 12])
@pytest.mark.parametrize("kind", [int, float, str, lambda i: f"{i}.0", np.float32])
def test_default_labels_of_every_kind_are_positions(size, kind):
    labels = [kind(i) for i in range(size)]
    np.testing.assert_array_equal(Scale.default(size).encode(labels), np.arange(size))


def test_numbers_are_positions_where_names_are_words():
    np.testing.assert_array_equal(WORDS.encode(["good", " bad ", "1"]), [2, 0, 1])
    np.testing.assert_array_equal(WORDS.encode([2, 0.0, True]), [2, 0, 1])


@pytest.mark.parametrize(
    "labels",
    [
        [2, 0, 1],
        np.array([2, 0, 1], np.uint8),
        jnp.array([2, 0, 1]),
        pd.Series([2, 0, 1], index=[7, 8, 9]),
        pl.Series([2, 0, 1]),
        pd.Series(["good", "bad", "fair"], dtype="category"),
        pl.Series(["good", "bad", "fair"]),
    ],
)
def test_containers(labels):
    codes = WORDS.encode(labels)
    assert codes.dtype == np.int64
    np.testing.assert_array_equal(codes, [2, 0, 1])


def test_one_based_labels_get_the_remedy():
    labels = np.ones(20)
    labels[[3, 17]] = 5
    with pytest.raises(InputError) as raised:
        Scale.default(5).encode(labels)
    assert str(raised.value) == (
        "labels must be whole numbers 0..4; found 5 in rows 3 and 17. "
        "If your scale starts at 1, name the options: options=('1','2','3','4','5')."
    )


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 5], "whole numbers 0..4; found 5 in row 1.$"),
        ([0, 2.5], "found 2.5 in row 1"),
        ([7, 8, 9, 10, 11], "found 7 in row 0, 8 in row 1, 9 in row 2 and 2 more"),
        ([6] * 9, "found 6 in rows 0, 1, 2 and 6 more"),
        ([0, np.inf], "found inf in row 1"),
        ([0, np.nan], "must not be missing.*row 1"),
        ([0, None], "must not be missing.*row 1"),
        (["0", ""], "must not be missing.*row 1"),
        (pd.array([0, None], dtype="Int64"), "must not be missing.*row 1"),
        ([], "no labels"),
        ([[0], [1]], r"shape \[n\]"),
        ([[0], [1, 2]], r"one name or number each; found \[0\] in row 0"),
        ([1, [2]], r"one name or number each; found \[2\] in row 1"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(InputError, match=message):
        Scale.default(5).encode(labels)


def test_the_remedy_can_be_said_otherwise():
    with pytest.raises(SettingNeeded) as raised:
        Scale.default(3).encode([1, 3])
    error = raised.value
    assert (error.setting, error.value) == ("options", ("1", "2", "3"))
    assert str(error) == f"{error.problem} {error.advice}: options=('1','2','3')."
    assert error.problem.endswith("found 3 in row 1.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("options", "label", "gap"),
    [
        (("1", "2", "4"), 3, True),
        (("4", "2", "1"), "3.0", True),
        (("1", "2", "4"), 5, False),
        (("1", "2", "4"), 2.5, False),
        (("0.5", "2", "4"), 3, False),
        (("bad", "good", "1000000000000"), 3, False),
    ],
)
def test_a_gap_between_the_options_is_named(options, label, gap):
    with pytest.raises(InputError) as raised:
        Scale(options).encode([label])
    assert ("a gap at 3: is an option missing there?" in str(raised.value)) == gap


def test_accents_may_be_composed_or_not():
    scale = Scale(("caf\u00e9", "th\u00e9"))
    np.testing.assert_array_equal(scale.encode(["cafe\u0301", "th\u00e9"]), [0, 1])
    with pytest.raises(InputError, match="distinct"):
        Scale(("caf\u00e9", "cafe\u0301"))


def test_bad_labels_among_named_options():
    with pytest.raises(InputError, match="whole numbers 1..5; found 0 in row 1"):
        Scale(("1", "2", "3", "4", "5")).encode([1, 0, 4])
    with pytest.raises(InputError, match="'bad', 'fair', 'good'.*positions 0..2.*'Good' in line 5"):
        WORDS.encode(["bad", "Good"], where=lambda i: f"line {i + 4}")


@pytest.mark.parametrize("options", [(), ("a",), ("a", "a"), ("a", " "), ("1", "1.0"), ("a", "a ")])
def test_bad_options(options):
    with pytest.raises(InputError):
        Scale(options)


def test_options_are_counted_against_the_readings():
    assert Scale.of(None, 3) == Scale(("0", "1", "2"))
    assert Scale.of([1, 2, 3], 3) == Scale.of(range(1, 4), 3) == Scale(("1", "2", "3"))
    assert Scale.of(WORDS, 3) is WORDS
    with pytest.raises(InputError, match="sequence of names; found 'abc'"):
        Scale.of("abc", 3)
    with pytest.raises(InputError, match="4 columns but 3 options"):
        Scale.of(WORDS.options, 4)


@pytest.mark.parametrize("indices", [[-1], [3]])
def test_positions_off_the_scale(indices):
    with pytest.raises(InputError, match="positions must be 0..2"):
        WORDS.decode(indices)


def test_a_gap_between_far_options_is_found_at_once():
    with pytest.raises(InputError, match="a gap at 7"):
        Scale(("1", "5", str(10**15))).encode(["7"])

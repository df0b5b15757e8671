"""The scale: labels in, positions out, its limits, and messages that say what to do."""

import pickle
import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.errors import InputError, SettingNeeded

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


@pytest.mark.parametrize("kind", [list, np.array, lambda cells: np.array(cells, object)])
def test_true_is_an_option_of_that_name_or_1_beside_0(kind):
    for options in (("true", "false"), ("False", "True"), (True, False), ("0", "1"), (1, 0)):
        found = Scale.of(options).decode(Scale.of(options).encode(kind([True, False, True])))
        expected = ["true", "false", "true"] if "1" not in map(str, options) else ["1", "0", "1"]
        assert [one.casefold() for one in found] == expected
    for options in (("yes", "no"), ("no", "yes"), "12345"):
        with pytest.raises(InputError, match="found True in row 0"):
            Scale.of(tuple(options)).counted([True]).encode(kind([True]))


@pytest.mark.parametrize(
    ("options", "labels", "codes"),
    [
        (("1", "2", "3+"), [2, 1.0, "3+"], [1, 0, 2]),
        (("1", "2", "3+"), [1, 0], "'3\\+'; found 0 in row 1"),
        (("1", "2", "3+"), [1, 3], "'3\\+'; found 3 in row 1"),
        (("0", "1", "2+"), [2, 1, 0], [2, 1, 0]),
        (("N/A or 1", "2", "3"), [2, 3], [1, 2]),
        (("N/A or 1", "2", "3"), [1, 2, 3], "'3'; found 1 in row 0"),
        (("1 (worst)", "2", "3 (best)"), [1, 2], "found 1 in row 0"),
        ((True, False), [1, 0], [0, 1]),
    ],
)
def test_a_number_is_no_position_where_another_option_has_its_name(options, labels, codes):
    scale = Scale.of(options)
    for read in (scale.encode, scale.locate):
        if isinstance(codes, list):
            assert read(labels).tolist() == codes
        else:
            with pytest.raises(InputError, match=codes):
                read(labels)


def test_ratings_are_counted_as_options_that_are_numbers_say():
    for options, ratings in (
        (("2", "3", "4+"), [2, 3]),
        (("0", "1", "2+"), [1, 2]),
        (("1", "2", "3+"), [1, 2]),
    ):
        codes = cp.readings_from_ratings(ratings, options=options).argmax(axis=1)
        assert codes.tolist() == [
            options.index(str(r)) if str(r) in options else 2 for r in ratings
        ]
    with pytest.warns(cp.CordialWarning, match="numbers from 1 .'N/A or 1'. to 3"):
        assert cp.readings_from_ratings([1, 2], ("N/A or 1", "2", "3")).argmax(1).tolist() == [0, 1]


@pytest.mark.parametrize(
    "options",
    [
        (True, False),
        (False, True),
        np.array([True, False]),
        pd.CategoricalDtype([True, False], ordered=True),
    ],
)
def test_predictions_of_booleans_are_booleans(options):
    first = next(iter(getattr(options, "categories", options)))
    logits, labels = np.tile([[2.0, 0.0], [0.0, 1.0]], (4, 1)), [first, not first] * 4
    fitted = cp.TemperatureScaling(Scale.of(options)).fit(logits, labels)
    assert fitted.classes_.tolist() == labels[:2] and fitted.predict(logits).tolist() == labels
    assert cp.scores.neg_log_loss(fitted, logits, labels) > -0.5
    assert Scale.of(("True", "False")).classes.tolist() == ["True", "False"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([5, 2.5, 9], "found 5 in row 0, 2.5 in row 1, 9 in row 2"),
        ([0, 5], "whole numbers 0..4; found 5 in row 1.$"),
        ([7, 8, 9, 10, 11], "found 7 in row 0, 8 in row 1, 9 in row 2, and 2 others"),
        (["Score: 1", "2/5"], "Use `cordial read` to extract numbers from text.$"),
        ([6] * 9, "found 6 in rows 0, 1, 2 and 6 more"),
        ([0, np.inf], "found inf in row 1"),
        ([0, np.nan], "are missing in row 1"),
        ([0, None], "are missing in row 1"),
        (["0", ""], "are missing in row 1"),
        (pd.array([0, None], dtype="Int64"), "are missing in row 1"),
        ([], "labels must have at least one entry; found none"),
        ([[0], [1]], r"shape \[n\]"),
        ([[0], [1, 2]], r"one name or number per entry; found \[0\] in row 0"),
        ([1, [2]], r"one name or number per entry; found \[2\] in row 1"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(InputError, match=message):
        Scale.default(5).encode(labels)


def test_options_that_are_not_split_are_shown():
    with pytest.raises(InputError, match="two or more options, such as 1,2,3; got '0..100'"):
        Scale(("0..100",))


def test_labels_from_one_up_get_the_remedy():
    labels = np.ones(20)
    labels[[3, 17]] = 5
    with pytest.raises(SettingNeeded) as raised:
        Scale.default(5).encode(labels)
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):
        assert (error.setting, error.value) == ("options", ("1", "2", "3", "4", "5"))
        assert "5 in rows 3 and 17" in str(error) and "('1','2','3','4','5')" in str(error)


def test_words_are_told_by_more_than_capitals_and_blanks():
    words = Scale(("very bad", "so so", "Good", "good"))
    assert words.encode(["VERY  bad", "So so", "Good", "good"]).tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="'GOOD' in row 0"):
        words.encode(["GOOD"])


def test_accents_may_be_composed_or_not():
    scale = Scale(("caf\u00e9", "th\u00e9"))
    np.testing.assert_array_equal(scale.encode(["cafe\u0301", "th\u00e9"]), [0, 1])
    with pytest.raises(InputError, match="distinct"):
        Scale(("caf\u00e9", "cafe\u0301"))


def test_options_are_counted_against_the_readings():
    assert Scale.of(None, 3) == Scale(("0", "1", "2"))
    assert Scale.of([1, 2, 3], 3) == Scale.of(range(1, 4), 3) == Scale(("1", "2", "3"))
    assert Scale.of(WORDS, 3) is WORDS
    assert Scale.of([1, 1e300], 2).classes.tolist() == [1.0, 1e300]
    for options, size, message in (
        ("abc", 3, "names or finite numbers; found 'abc'"),
        (WORDS.options, 4, "4 columns but 3 options"),
        ([], 0, "two or more options"),
        (["a"], 1, "two or more options"),
        (["a", " "], 2, "an empty name"),
        (["1", "1.0"], 2, "'1' occurs twice"),
        (["a", "a "], 2, "'a' occurs twice"),
    ):
        with pytest.raises(InputError, match=message):
            Scale.of(options, size)
    with pytest.raises(InputError, match="positions must be 0..2"):
        WORDS.decode([-1])
    with pytest.raises(
        SettingNeeded, match=r"1..5; found 0 in row 1.*options=\('0','1','2','3','4'"
    ):
        Scale.of(range(1, 6), 5).encode([1, 0, 4])
    with pytest.raises(
        InputError, match="'bad', 'fair', 'good'.*positions 0..2.*'Goood' in line 5"
    ):
        WORDS.encode(["bad", "Goood"], where=lambda i: f"line {i + 4}")


def test_a_scale_has_201_options_at_most() -> None:
    assert Scale.default(201).size == 201
    many = np.full((3, 10_000), 1 / 10_000)
    for use in (
        lambda: cp.RawReading().fit(many, [0, 1, 2]),
        lambda: cp.readings_from_probabilities(many),
        lambda: cp.readings_from_counts(np.ceil(many)),
    ):
        with pytest.raises(cp.InputError, match="at most 201 options; found 10,000"):
            use()


def test_options_that_floats_do_not_hold_are_refused() -> None:
    with pytest.raises(cp.InputError, match="must be below 2\\^53"):
        Scale.of([2**63, 2**63 + 1])
    exact = Scale.of([2**63, 2**64])
    assert exact.encode([2**64, 2**63]).tolist() == [1, 0]
    with pytest.raises(cp.InputError, match="must be among the options"):
        exact.encode(["9223372036854775809"])


@pytest.mark.nightly
def test_a_long_scale_is_warned_of() -> None:
    settings = cp.Cordial().settings
    settings.check(np.zeros((3, 14)), {})
    with pytest.warns(cp.CordialWarning, match="three times as long.* options, for example 11"):
        settings.check(np.zeros((3, 15)), {})


@pytest.mark.parametrize("options", [[1, 3, 2], ["5", "-1", "0"]])
def test_numbers_that_neither_rise_nor_fall_are_warned_of(options, recwarn):
    Scale.of(options)
    assert ["not in order" in str(each.message) for each in recwarn.list] == [True]
    for ordered in (sorted(map(int, options)), ["worst", "1", "0"]):
        assert Scale.of(ordered).size == 3 and len(recwarn.list) == 1

"""From tokens and their alternatives to one number an option: by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_of_reviews import reading, tokens

from cordial_ppl.errors import InputError
from cordial_ppl.logs.evidence import Scores
from cordial_ppl.logs.protocols import read_value

log = math.log
STARS, TEN = "1,2,3,4,5", ",".join(map(str, range(1, 11)))


def likely(*tops, ended=False):
    """Tokens from probabilities."""
    logs = ({token: float(np.log(p)) for token, p in top.items()} for top in tops)
    return tokens(*logs, ended=ended)


def probabilities(options, evidence, **settings):
    return np.exp(reading(options, evidence, **settings).values)


def test_variants_of_an_option_add_up_and_missing_ones_get_the_rest():
    top = {"4": 0.5, " 4": 0.1, "Four": 0.05, "**4": 0.05, "5": 0.2, "The": 0.1}
    one = reading(STARS, likely(top))
    np.testing.assert_allclose(np.exp(one.values[3:]), [0.7, 0.2])
    # Less than the least that was returned: the options leave a tenth to the three.
    np.testing.assert_allclose(np.exp(one.values[:3]), 0.1 / 3)
    assert one.share == pytest.approx(0.9)
    assert not one.doubts
    lone = reading(STARS, likely({"4": 0.6}))
    assert lone.doubts == {"lone"}
    np.testing.assert_allclose(np.exp(lone.values), [0.1, 0.1, 0.1, 0.6, 0.1])
    np.testing.assert_allclose(probabilities(STARS, likely({"4": 1.0}))[[0, 3]], [1e-4 / 4, 1])
    # A smaller log-probability that was returned says more.
    assert probabilities(STARS, likely({"4": 0.6, "The": 1e-3}))[0] == pytest.approx(1e-3)


def test_the_answer_is_read_and_not_the_reasoning():
    reasoning = [{word: 1.0} for word in ("Of", " ", "3", " points", " ", "2", " hold", ".")]
    answer = {"4": 0.6, "5": 0.3, "2": 0.1}
    said = likely(*reasoning, {" Score": 1.0}, {":": 1.0}, {" ": 1.0}, answer, {"\n": 1.0})
    np.testing.assert_allclose(probabilities(STARS, said)[[1, 3, 4]], [0.1, 0.6, 0.3])
    by_hand = likely({"2": 0.9, "3": 0.1}, {" but": 1.0}, {" ": 1.0}, {"4": 0.7, "1": 0.3})
    first = probabilities(STARS, by_hand, before="^")
    np.testing.assert_allclose(first[[1, 2]], [0.9, 0.1])


def test_a_number_of_several_tokens_is_followed():
    one = reading(TEN, likely({"1": 0.6, "9": 0.3, "2": 0.1}, {"0": 0.7, ".": 0.2, "5": 0.1}))
    # "15" is no option: neither 1 nor 10 has that probability.
    np.testing.assert_allclose(np.exp(one.values[[0, 1, 8, 9]]), [0.6 * 0.3 - 0.06, 0.1, 0.3, 0.42])
    assert not one.doubts and one.share == pytest.approx(0.94)
    halves = reading(
        "3,3.5,4,4.5,5",
        tokens(
            {"4": -0.05, "3": -3.0, "5": -4.0},
            {".": -0.05, "<e>": -3.0},
            {"5": -0.01, "0": -5.0, "7": -7.0},
        ),
    )
    ended = -0.05 + log(1 - math.exp(-0.05))
    other = -0.1 + log(1 - math.exp(-0.01) - math.exp(-7.0))
    expected = [-3 - log(2), -3 - log(2), np.logaddexp(ended, other), -0.11, -4.0]
    np.testing.assert_allclose(halves.values, expected)


def test_an_answer_that_may_go_on_is_none():
    top = {"1": 0.9, "2": 0.08, "3": 0.01}
    ended = reading(TEN, likely(top, ended=True))
    assert np.exp(ended.values[0]) == pytest.approx(0.9) and np.exp(ended.values[9]) <= 0.01
    # Cut off after "1", it may have become "10", unless that is a token of its own.
    assert reading(TEN, likely(top)) is None
    assert reading(TEN, likely(top | {"10": 0.01})).values.argmax() == 0
    # As an alternative it is shared by what it begins.
    other = reading(TEN, likely({"8": 0.6, "1": 0.2}))
    np.testing.assert_allclose(np.exp(other.values[[0, 9]]), 0.1)
    assert reading("very bad,very good", likely({"very": 0.9})) is None


def test_words_of_several_tokens_are_followed():
    very = likely({"very": 0.9, "bad": 0.1}, {" good": 0.7, " bad": 0.2, " much": 0.1})
    one = reading("very bad,bad,good,very good", very)
    np.testing.assert_allclose(np.exp(one.values[[0, 1, 3]]), [0.18, 0.1, 0.63])
    values = probabilities("unfair,fair", likely({"un": 0.9, "fair": 0.1}, {"fair": 1.0}))
    np.testing.assert_allclose(values, [0.9, 0.1])


@pytest.mark.parametrize(
    ("options", "chosen", "other"),
    [("1,4,5", "4", "On"), ("1,4,5", "5", "F"), ("A,B", "B", " a"), ("a,b", "b", " A")],
)
def test_words_that_are_no_options_do_not_speak_for_them(options, chosen, other):
    one = reading(options, tokens({chosen: -0.6, other: -1.2}))
    assert one.doubts == {"lone"}


OPTIONS = ["4", "4.5", "10", "-1", "good", "B"]


@given(
    st.sampled_from(OPTIONS),
    st.sampled_from(["", "Score: ", "**", "\n", "<think>1, 2</think>"]),
    st.sampled_from(["", "\n", ".", "**", "\n\nIt has 3 flaws"]),
    st.lists(st.integers(1, 4), min_size=60, max_size=60),
)
def test_an_option_is_taken_however_it_is_cut_into_tokens(option, before, after, lengths):
    text, scores, tops, start = before + option + after, {}, [], 0
    for number, length in enumerate(lengths):
        if piece := text[start : start + length]:
            scores[start] = -0.01 * (number + 1)
            tops.append({piece: scores[start], "#": -7.0})
        start += length
    one = reading(",".join(OPTIONS), tokens(*tops, ended=True))
    k = OPTIONS.index(option)
    assert one.values.argmax() == k
    # No option is more probable than its tokens together.
    own = [score for place, score in scores.items() if place < len(before + option)]
    assert one.values[k] >= sum(own) - log(2) - 1e-9


@pytest.mark.parametrize(
    ("options", "top", "expected"),
    [
        ("A,B,C", {"b": log(0.5), "B": log(0.3), "A": log(0.1)}, {1: 0.8, 0: 0.1}),
        ("A,B,C", {"b": log(0.6), "a": log(0.35)}, {1: 0.6, 0: 0.35}),
        (
            "A,B",
            {" a": log(0.97), " b": log(0.02), " A": log(0.001), " B": log(0.004)},
            {0: 0.971, 1: 0.024},
        ),
    ],
)
def test_a_small_letter_that_is_all_of_the_answer(options, top, expected):
    values = probabilities(options, tokens(top))
    for option, share in expected.items():
        assert values[option] == pytest.approx(share)
    np.testing.assert_allclose(values, probabilities(options, tokens(top, {"\n": 0.0})))


def test_what_a_server_did_not_have_is_absent():
    listed = {"4": log(0.7), "5": log(0.2), "1": -9999.0, "2": -math.inf}
    one = reading(STARS, read_value(listed, "x"))
    np.testing.assert_allclose(np.exp(one.values), [0.1 / 3] * 3 + [0.7, 0.2])


def test_samples_with_log_probabilities_are_averaged():
    reasoned = [{"So": 1.0}, {" score": 1.0}, {":": 1.0}]
    first = likely(*reasoned, {"4": 0.8, "5": 0.2})
    second = likely(*reasoned, {"5": 0.6, "4": 0.4})
    lost = likely({"I": 0.5}, {" pass": 0.5})
    mixed = reading(STARS, [*first, *second, *lost])
    np.testing.assert_allclose(np.exp(mixed.values[3:]), [0.6, 0.4])
    assert mixed.doubts == {"unread"} and mixed.share == pytest.approx(1.0)
    assert reading(STARS, lost) is None


def test_scores_go_by_name():
    names = [" 1", " 2", " 3", " 4", " 5", " four"]
    one = reading(STARS, Scores("logprob", [-4.0, -3.0, -2.0, -1.0, -9999.0, -1.0], names))
    np.testing.assert_allclose(one.values, [-4, -3, -2, -1 + log(2), -4])
    assert np.isnan(one.share)
    # A probability of 0 is what rounding made of a small one: half of the last digit.
    one = reading(STARS, Scores("p", [0.15, 0.25, 0.3, 0.3, 0.0], ["5", "4", "3", "2", "1"]))
    np.testing.assert_allclose(one.values, np.array([0.005, 0.3, 0.3, 0.25, 0.15]) / 1.005)
    levels = Scores("p", [0.9, 0.1], ["calm", "now"], ["0", "1"])
    for options in ("calm,now", "0,1"):
        np.testing.assert_allclose(reading(options, levels).values, [0.9, 0.1])
    for options in ("12", "abcde"):
        assert reading(STARS, Scores("p", [0.5] * len(options), list(options))) is None
    with pytest.raises(InputError, match="NaN"):
        reading(STARS, Scores("p", [math.nan] * 5, list("12345")))

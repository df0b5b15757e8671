"""Options of several tokens, followed along those that were chosen: by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_of_reviews import finder, tokens

from cordial_ppl.logs.matching import read_evidence

log = math.log


def read(options, *tops, ended=False):
    found = read_evidence(tokens(*tops, ended=ended), finder(options))
    assert found is not None
    return found


JOINED = [
    ("poor,well-written", [{"well": -0.2, "poor": -2.0}, {"-": -0.01}, {"written": -0.01}]),
    ("very bad,bad", [{"very": -0.2, "bad": -2.0}, {" ": -0.01}, {"bad": -0.01}]),
    ("3 - Good,No", [{"3": -0.2, "No": -2.0}, {" -": -0.01}, {" Good": -0.01}]),
    ("Don't know,No", [{"Don": -0.2, "No": -2.0}, {"’t": -0.01}, {" know": -0.01}]),
    ("4,5", [{"F": -0.2, "5": -2.0}, {"our": -0.02}]),
    ("good,bad", [{"**": -9.0}, {"go": -0.2, "bad": -2.0}, {"od": -0.02}, {"**": -0.1}]),
]


@pytest.mark.parametrize(("options", "positions"), JOINED)
def test_the_chosen_path_is_summed(options, positions):
    found = read(options, *positions)
    assert np.isclose(found.values, -0.22).sum() == 1
    assert not found.guessed


def test_decimals():
    found = read(
        "3,3.5,4,4.5,5",
        {"4": -0.05, "3": -3.0, "5": -4.0},
        {".": -0.05, "<e>": -3.0},
        {"5": -0.01, "0": -5.0, "7": -7.0},
    )
    ended = -0.05 + log(1 - math.exp(-0.05))
    other = -0.1 + log(1 - math.exp(-0.01) - math.exp(-7.0))
    expected = [-3 - log(2), -3 - log(2), np.logaddexp(ended, other), -0.11, -4.0]
    np.testing.assert_allclose(found.values, expected)
    assert found.guessed == [0, 1]


@pytest.mark.parametrize("chosen", ["1", "8"])
def test_options_that_begin_alike_share_equally(chosen):
    ten = ",".join(map(str, range(1, 11)))
    found = read(ten, {chosen: -0.5, **{token: -1.5 for token in "18" if token != chosen}})
    one = -0.5 if chosen == "1" else -1.5
    np.testing.assert_allclose(found.values[[0, 9]], one - log(2))
    assert found.guessed == [0, 9]
    assert found.share == pytest.approx(math.exp(-0.5) + math.exp(-1.5))


@pytest.mark.parametrize(
    ("options", "chosen", "other"),
    [("1,4,5", "4", "On"), ("1,4,5", "5", "F"), ("A,B", "B", " a"), ("a,b", "b", " A")],
)
def test_words_that_are_no_options_do_not_speak_for_them(options, chosen, other):
    found = read(options, {chosen: -0.6, other: -1.2})
    assert found.lone and not found.guessed


OPTIONS = ["4", "4.5", "10", "-1", "very good", "so-so", "Don't know", "not_so", "2 - Fair", "B"]
ENDS = ["", "\n", ".", "**", "\n\nIt has 3 flaws"]


@given(
    st.sampled_from(OPTIONS),
    st.sampled_from(["", "Score: ", "**", "\n", "<think>1, 2</think>"]),
    st.sampled_from(ENDS),
    st.lists(st.integers(1, 4), min_size=60, max_size=60),
)
def test_an_option_is_found_however_it_is_cut_into_tokens(option, before, after, lengths):
    text, scores, tops, start = before + option + after, {}, [], 0
    for number, length in enumerate(lengths):
        if piece := text[start : start + length]:
            scores[start] = -0.01 * (number + 1)
            tops.append({piece: scores[start], "#": -7.0})
        start += length
    found = read(",".join(OPTIONS), *tops)
    k = OPTIONS.index(option)
    assert k not in found.floored
    assert found.values.argmax() == k
    # No option is more probable than its tokens together.
    own = [score for place, score in scores.items() if place < len(before + option)]
    assert found.values[k] >= sum(own) - log(2) - 1e-9


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
    values = np.exp(read(options, top).values)
    for option, share in expected.items():
        assert values[option] == pytest.approx(share)
    followed = np.exp(read(options, top, {"\n": 0.0}).values)
    np.testing.assert_allclose(values, followed)


def test_a_blank_token_and_a_token_that_begins_with_a_blank():
    first = {" ": log(0.5), " 4": log(0.3), " 5": log(0.2)}
    found = read("4,5", first, {"5": log(0.9), "4": log(0.1)})
    np.testing.assert_allclose(np.exp(found.values), [0.3 + 0.05, 0.2 + 0.45])


def test_an_answer_that_ended_begins_no_other():
    ten, top = ",".join(map(str, range(1, 11))), {"1": log(0.9), "2": log(0.08), "3": log(0.01)}
    ended, cut = read(ten, top, ended=True), read(ten, top)
    assert np.exp(ended.values[0]) == pytest.approx(0.9)
    assert np.exp(ended.values[9]) <= 0.01 and not ended.guessed
    np.testing.assert_allclose(np.exp(cut.values[[0, 9]]), 0.45)
    found = read(ten, {"Score:": 0.0}, {" 1": -3.0, **top}, ended=True)
    assert not found.guessed
    assert np.exp(found.values[0]) == pytest.approx(0.9 + np.exp(-3.0))

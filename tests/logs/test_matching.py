"""From tokens, scores and answers to one number an option."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_of_reviews import finder, tokens

from cordial_ppl.errors import InputError
from cordial_ppl.logs.answers import as_pattern
from cordial_ppl.logs.evidence import Answer, Scores, make_position
from cordial_ppl.logs.matching import read_evidence

STARS = finder("1,2,3,4,5")
TEN = finder("1,2,3,4,5,6,7,8,9,10")


def likely(*tops):
    """Tokens from probabilities."""
    return tokens(*({token: float(np.log(p)) for token, p in top.items()} for top in tops))


def reading(evidence, finder=STARS):
    found = read_evidence(evidence, finder)
    assert found is not None
    return found


def probabilities(evidence, finder=STARS):
    return np.exp(reading(evidence, finder).values)


def test_variants_of_an_option_add_up():
    found = reading(likely({"4": 0.5, " 4": 0.1, "Four": 0.05, "**4": 0.05, "5": 0.2, "The": 0.1}))
    np.testing.assert_allclose(np.exp(found.values[3:]), [0.7, 0.2])
    assert [text for text, _ in found.parts[3]] == ["4", " 4", "Four", "**4"]
    assert found.floored == [0, 1, 2]
    # Less than the least that was returned: the options leave a tenth to the three.
    np.testing.assert_allclose(np.exp(found.values[:3]), 0.1 / 3)
    assert found.share == pytest.approx(0.9)
    assert not found.guessed and not found.lone


def test_the_answer_is_read_and_not_the_reasoning():
    reasoning = [{word: 1.0} for word in ("Of", " ", "3", " points", " ", "2", " hold", ".")]
    answer = {"4": 0.6, "5": 0.3, "2": 0.1}
    found = likely(*reasoning, {" Score": 1.0}, {":": 1.0}, {" ": 1.0}, answer, {"\n": 1.0})
    np.testing.assert_allclose(probabilities(found)[[1, 3, 4]], [0.1, 0.6, 0.3])
    by_hand = likely({"2": 0.9, "3": 0.1}, {" but": 1.0}, {" ": 1.0}, {"4": 0.7, "1": 0.3})
    first = probabilities(by_hand, finder("1,2,3,4,5", before=as_pattern("^")))
    np.testing.assert_allclose(first[[1, 2]], [0.9, 0.1])


def test_an_option_of_several_tokens_is_followed():
    found = reading(likely({"1": 0.6, "9": 0.3, "2": 0.1}, {"0": 0.7, ".": 0.2, "5": 0.1}), TEN)
    # "15" is no option: neither 1 nor 10 has that probability.
    np.testing.assert_allclose(np.exp(found.values[[0, 1, 8, 9]]), [0.6 * 0.2, 0.1, 0.3, 0.42])
    assert not found.guessed
    assert found.share == pytest.approx(0.94)


def test_what_a_server_did_not_have_is_absent():
    listed = [("4", math.log(0.7)), ("5", math.log(0.2)), ("1", -9999.0), ("2", -math.inf)]
    position = make_position("4", None, listed)
    found = reading([Answer("", [position])])
    assert found.floored == [0, 1, 2]
    np.testing.assert_allclose(np.exp(found.values), [0.1 / 3] * 3 + [0.7, 0.2])
    np.testing.assert_allclose(np.exp(found.values).sum(), 1.0)


def test_a_lone_option_leaves_the_others_the_rest():
    found = reading(likely({"4": 0.6}))
    assert found.lone
    np.testing.assert_allclose(np.exp(found.values), [0.1, 0.1, 0.1, 0.6, 0.1])
    sure = reading(likely({"4": 1.0}))
    np.testing.assert_allclose(np.exp(sure.values)[[0, 3]], [1e-4 / 4, 1.0])
    # A smaller log-probability that was returned says more.
    least = reading(likely({"4": 0.6, "The": 1e-3}))
    np.testing.assert_allclose(np.exp(least.values)[0], 1e-3)


def test_samples_with_log_probabilities_are_averaged():
    reasoned = [{"So": 1.0}, {" score": 1.0}, {":": 1.0}]
    first = likely(*reasoned, {"4": 0.8, "5": 0.2})
    second = likely(*reasoned, {"5": 0.6, "4": 0.4})
    lost = likely({"I": 0.5}, {" pass": 0.5})
    found = reading([*first, *second, *lost])
    np.testing.assert_allclose(np.exp(found.values[3:]), [0.6, 0.4])
    assert (found.unread, found.share) == (1, pytest.approx(1.0))
    assert found.floored == [0, 1, 2]
    total = np.logaddexp.reduce([score for _, score in found.parts[3]])
    assert total == pytest.approx(found.values[3])
    assert read_evidence(lost, STARS) is None


def test_scores_go_by_name_or_by_order():
    names = [" 1", " 2", " 3", " 4", " 5", " four"]
    found = reading(Scores("logprob", [-4.0, -3.0, -2.0, -1.0, -9999.0, -1.0], names))
    np.testing.assert_allclose(found.values, [-4, -3, -2, -1 + np.log(2), -4])
    assert found.floored == [4] and np.isnan(found.share)
    found = reading(Scores("p", [0.1, 0.2, 0.3, 0.4, 0.0], ["5", "4", "3", "2", "1"]))
    np.testing.assert_array_equal(found.values, [0.0, 0.4, 0.3, 0.2, 0.1])
    assert (found.kind, found.floored) == ("p", [])
    logits = reading(Scores("logit", [1.0, 2.0, -np.inf, -9999.0, 0.5]))
    np.testing.assert_array_equal(logits.values, [1.0, 2.0, 0.5, 0.5, 0.5])
    assert logits.floored == [2, 3]
    assert read_evidence(Scores("logit", [-np.inf] * 5), STARS) is None


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (Scores("p", [0.5, 0.5]), "expected scores of the options 1, 2, 3, 4, 5; found 2"),
        (Scores("p", [0.2] * 5, list("abcde")), "found 5, of a, b, c, d, e.*--task NAME"),
        (Scores("p", [0.2] * 6, list("123456")), "found 6, of 1, 2, 3, 4, 5, 6"),
        (Scores("logit", [0, 0, np.nan, 0, 0]), "the logit of '3' must be a number; found nan"),
        (Scores("logit", [0, 0, 0, 0, np.inf]), "the logit of '5' must be a number; found inf"),
        (Scores("logprob", [0, 0, 0, 0, 0.5]), "the logprob of '5' must be 0 or below; found 0.5"),
        (Scores("n", [1, -1, 0, 0, 0]), "the n of '2' must be 0 or above; found -1"),
    ],
)
def test_scores_that_are_none(scores, message):
    with pytest.raises(InputError, match=message):
        read_evidence(scores, STARS)


def test_tokens_of_one_text_add_up_and_doubled_ones_do_not():
    found = make_position("4", -1.0, [("4", -1.0), ("\ufffd", -2.0), ("\ufffd", -3.0), ("5", None)])
    assert found.top == {"4": -1.0, "\ufffd": pytest.approx(np.logaddexp(-2.0, -3.0))}


def masses():
    """Log-probabilities of the five digits and of another token, summing to less than one."""
    weights = st.lists(st.floats(0.01, 1.0), min_size=6, max_size=6)
    return weights.map(
        lambda own: dict(zip([*"12345", "The"], np.log(own) - np.log(7), strict=True))
    )


def values(top):
    top = {token: float(score) for token, score in top.items()}
    return reading(tokens(top)).values


@given(masses(), st.permutations(range(6)))
def test_the_order_of_tokens_changes_nothing(top, order):
    listed = list(top.items())
    np.testing.assert_allclose(values(dict(listed[k] for k in order)), values(top))


@given(masses(), st.sampled_from("12345"), st.floats(0.01, 0.99))
def test_splitting_a_mass_over_two_spellings_changes_nothing(top, option, part):
    split = top | {
        option: top[option] + np.log(part),
        f" **{option}**": top[option] + np.log1p(-part),
    }
    np.testing.assert_allclose(values(split), values(top))


@given(masses(), st.floats(-20.0, 0.0))
def test_a_constant_on_all_masses_is_a_constant_on_all_options(top, constant):
    moved = {token: score + constant for token, score in top.items()}
    np.testing.assert_allclose(values(moved), values(top) + constant)


@given(masses(), st.sets(st.sampled_from("12345"), max_size=3))
def test_options_that_are_left_out_get_the_least_of_the_rest(top, gone):
    kept = {token: float(score) for token, score in top.items() if token not in gone}
    found = reading(tokens(kept))
    assert found.floored == sorted(int(token) - 1 for token in gone)
    for k in range(5):
        expected = min(kept.values()) if k in found.floored else top[str(k + 1)]
        assert found.values[k] == pytest.approx(expected)

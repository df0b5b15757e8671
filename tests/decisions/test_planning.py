"""Plans: which texts to label, in which order, and with which probability."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.decisions.planning import plan, score_strata

LOGITS = np.random.default_rng(0).normal(size=(60, 5))
SCORES = np.exp(LOGITS) @ np.arange(5) / np.exp(LOGITS).sum(axis=1)


@st.composite
def cases(draw):
    """Readings with ties, groups or none, some labels, a number of texts and a seed."""
    size = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = rng.normal(size=(size, 3)).round(draw(st.integers(0, 8))) + [0, 1e-3, 0]
    logits[:2] = [[9, 0, 0], [0, 0, 9]]
    groups = rng.integers(0, 4, size) if draw(st.booleans()) else None
    labelled = rng.permutation(size)[: draw(st.integers(0, size - 1))]
    n = draw(st.integers(1, size - len(labelled)))
    return logits, n, {"groups": groups, "labelled": labelled, "seed": draw(st.integers(0, 99))}


@given(cases())
def test_texts_are_different_and_have_no_label(case):
    logits, n, settings = case
    rows, stratum, probability = plan(logits, n, **settings)
    assert len(set(rows.tolist())) == len(stratum) == len(probability) == n
    assert not set(rows.tolist()) & set(settings["labelled"].tolist())
    assert stratum.min() >= 0 and (probability > 0).all() and (probability <= 1).all()
    # Each label stands for 1 / probability texts: those of its group without one.
    codes = np.zeros(len(logits), int) if settings["groups"] is None else settings["groups"]
    free = np.delete(codes, settings["labelled"])
    expected = np.isin(free, codes[rows]).sum()
    np.testing.assert_allclose((1 / probability).sum(), expected)


@given(cases(), st.data())
def test_a_plan_begins_with_that_of_fewer_and_goes_on_where_labels_end(case, data):
    logits, n, settings = case
    whole, fewer = plan(logits, n, **settings).rows, data.draw(st.integers(1, n))
    np.testing.assert_array_equal(plan(logits, fewer, **settings).rows, whole[:fewer])
    settings["labelled"] = None
    whole, done = plan(logits, n, **settings).rows, data.draw(st.integers(0, n - 1))
    rest = plan(logits, n - done, **settings | {"labelled": whole[:done]}).rows
    np.testing.assert_array_equal(rest, whole[done:])


@given(cases())
def test_groups_get_as_many_labels_each(case):
    logits, n, settings = case
    groups = np.arange(len(logits)) % 3
    rows = plan(logits, n, **settings | {"groups": groups}).rows
    had = np.bincount(groups[settings["labelled"]], minlength=3)
    counts = had + np.bincount(groups[rows], minlength=3)
    room = counts < np.bincount(groups, minlength=3)
    for group in np.flatnonzero(room):
        # A group with texts left has at most one label fewer than any that was given one.
        given_one = counts[counts > had]
        assert not given_one.size or counts[group] >= given_one.max() - 1


@given(st.permutations(range(60)), st.integers(1, 60), st.booleans())
def test_the_order_of_the_table_does_not_matter(order, n, grouped):
    order, groups = np.array(order), np.array(list("aabc") * 15)
    one = plan(LOGITS, n, groups=groups if grouped else None)
    other = plan(LOGITS[order], n, groups=groups[order] if grouped else None)
    np.testing.assert_array_equal(order[other.rows], one.rows)
    np.testing.assert_array_equal(other.stratum, one.stratum)
    np.testing.assert_array_equal(other.probability, one.probability)


@pytest.mark.parametrize(
    ("grouped", "draws"),
    [(True, 150), *(pytest.param(each, 500, marks=pytest.mark.nightly) for each in (False, True))],
)
def test_texts_are_chosen_with_the_probability_that_is_said(grouped, draws):
    logits = 2 * np.eye(5)[LOGITS.argmax(axis=1)] if grouped else LOGITS
    groups = np.repeat(["a", "b", "c"], [30, 20, 10]) if grouped else None
    chosen, said = np.zeros(60), np.full(60, np.nan)
    for seed in range(draws):
        rows, _, probability = plan(logits, 12, groups=groups, seed=seed)
        chosen[rows] += 1
        said[rows] = probability
    expected = np.repeat([4 / 30, 0.2, 0.4], [30, 20, 10]) if grouped else 0.2
    np.testing.assert_allclose(said, expected)
    # Simple random choice would have this error in each text.
    assert (np.abs(chosen / draws - said) < 4.5 * np.sqrt(said * (1 - said) / draws)).all()


def test_beginnings_and_strata_are_stretches_of_the_sorted_readings():
    """Of any first texts, a stretch of the sorted readings has its share, give or take 2.5."""
    places, ends = np.argsort(np.argsort(SCORES)), np.linspace(0, 1, 121)
    for seed in range(20):
        ranks = (places[plan(LOGITS, 30, seed=seed).rows] + 0.5) / 60
        for m in range(1, 31):
            reached = np.searchsorted(np.sort(ranks[:m]), ends)
            assert np.abs(reached - m * ends).max() < 2.5
    strata = score_strata(SCORES, 20)
    assert np.bincount(strata).tolist() == [15] * 4
    assert (np.diff(strata[np.argsort(SCORES)]) >= 0).all()
    tied = score_strata(np.repeat([1.0, 2.0, 3.0], [50, 3, 7]), 60)
    assert [len(set(tied[part])) for part in (slice(50), slice(50, 53), slice(53, 60))] == [1, 1, 1]
    assert set(score_strata(SCORES, 9)) == {0}
    # With a gap between options the order of expected scores is another.
    logits = np.log([[0.4, 0.3, 0.3], [0.3, 0.5, 0.2], [0.1, 0.8, 0.1], [0.34, 0.33, 0.33]])
    assert set(plan(logits, 4, options=("1", "2", "30")).rows) == {0, 1, 2, 3}
    one, other = (plan(logits, 4, options=names).rows for names in (None, ("1", "2", "30")))
    assert not np.array_equal(one, other)


def test_what_is_warned_of():
    same = np.tile([0.0, 0.0, 3.0], (40, 1))
    with pytest.warns(cp.CordialWarning, match="top choice is '2' for 100% of the texts"):
        cp.plan(same, 5)
    same[:, 0] = np.linspace(-6, 2.9, 40)
    assert len(cp.plan(same, 5).rows) == 5
    with pytest.warns(cp.CordialWarning) as caught:
        chosen = cp.plan(LOGITS, 5, clusters=np.arange(60) // 10)
    assert len(chosen.rows) == 10
    assert "10 texts" in str(caught[0].message) and "1 cluster" in str(caught[1].message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 61}, "from 1 to 60 .the number of texts.; got 61"),
        ({"n": 58, "labelled": [1, 2, 3]}, "1 to 57 .the number of texts .* got 58"),
        ({"n": 0}, "got 0"),
        ({"groups": ["a"] * 59}, "one name for each of 60 texts; got 59"),
        ({"groups": ["a"] * 59 + [None]}, "groups are missing in row 59"),
        ({"labelled": [60]}, r"positions of texts .0..59.; got \[60\]"),
        ({"labelled": [-1]}, "got .-1"),
        ({"labelled": ["t1"]}, "got .'t1'"),
        ({"labelled": np.ones(60, bool)}, "positions of texts"),
        ({"options": ("1", "2")}, "5 columns but 2 options"),
        ({"seed": -1}, "seed must be a whole number from 0 to 4294967295; got -1"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(cp.InputError, match=message):
        cp.plan(LOGITS, **{"n": 5} | settings)


@pytest.mark.parametrize("noun", ["groups", "clusters"])
def test_names_of_groups_and_clusters_follow_the_index_of_the_readings(noun):
    frame = pd.DataFrame(LOGITS, index=[f"t{row}" for row in range(60)])
    names = pd.Series(np.arange(60) % 30, index=frame.index, name=noun)

    def choose(readings, cells):
        settings: dict[str, Any] = {noun: cells}
        return cp.plan(readings, 20, **settings).rows

    shuffled = names.sample(frac=1, random_state=0)
    np.testing.assert_array_equal(choose(frame, shuffled), choose(LOGITS, names.to_numpy()))
    with pytest.raises(cp.InputError, match=f"{noun} and readings have different indexes"):
        choose(frame, names.reset_index(drop=True))

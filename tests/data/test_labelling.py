"""Weights of labels, and several labels of one text: identities from the door to the prediction."""

from functools import partial
from typing import Any

import numpy as np
import pandas
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, TEXTS, small
from hypothesis import given
from hypothesis import strategies as st

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.data.labelling import (
    LARGEST,
    as_texts,
    as_weights,
    by_text,
    list_labels,
)
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.verdict import Advice
from cordial_ppl.stack.fit import deal_folds
from cordial_ppl.stack.stacking import assign_folds

WEIGHTS = np.random.default_rng(0).integers(1, 4, 20).astype(float)
TIMES = WEIGHTS.astype(int)


NEAR = 1e-5
"""No draw is accepted or rejected: fits of equal likelihoods differ by rounding alone."""


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=60), st.integers(0, 99))
def test_no_text_is_in_two_folds(texts, seed):
    own = np.array(texts)
    count = len(own)
    made = Labelled(np.zeros((count, 2)), np.zeros(count, np.int64), {}, texts=own)
    folds = deal_folds(made, seed)
    pairs = set(zip(texts, folds.tolist(), strict=True))
    sizes = np.bincount([fold for _, fold in pairs])
    assert len(pairs) == made.count == len(set(texts)) and (np.ptp(sizes) <= 1 or count < 4)
    np.testing.assert_array_equal(made.ranks[made.first], np.arange(made.count))
    alone = Labelled(made.logits, made.labels)
    expected = assign_folds(count, 4, np.random.default_rng(seed))
    np.testing.assert_array_equal(deal_folds(alone, seed), expected)


@pytest.mark.float32
@pytest.mark.parametrize("make", [partial(small, inference="mode"), cp.LogitStack])
def test_a_weight_is_so_many_labels(make):
    # Twelve texts prove less of a channel than all of their labels would.
    rows = np.repeat(np.arange(12), TIMES[:12])
    one: Any = make().fit(LOGITS[:12], LABELS[:12], sample_weight=WEIGHTS[:12], texts=range(12))
    many: Any = make().fit(LOGITS[rows], LABELS[rows], sample_weight=np.ones(len(rows)), texts=rows)
    np.testing.assert_array_equal(one.fit_.folds, many.fit_.folds[many.fit_.text_labels.first])
    seen = one.fit_.labelled
    counts = np.bincount(seen.labels, seen.weights, minlength=5)
    np.testing.assert_allclose(counts, np.bincount(LABELS[rows], minlength=5))
    assert one.weights_ == pytest.approx(many.weights_, abs=NEAR)
    np.testing.assert_allclose(one.predict_proba(TEST), many.predict_proba(TEST), atol=NEAR)
    np.testing.assert_allclose(one.fit_.expected, many.fit_.expected, atol=NEAR)


def test_a_verdict_weighs_texts():
    weights = np.sqrt(np.arange(1.0, 41.0))
    labels = TEXTS.labels[:40]
    one: Any = cp.LogitStack().fit(TEXTS.logits[:40], labels, sample_weight=weights)
    right, values = one.fit_.out_of_fold.argmax(axis=1) == labels, one.fit_.scale.values
    medians = (one.fit_.out_of_fold.cumsum(axis=1) < 0.5).sum(axis=1)
    off = np.abs(values[medians] - values[labels])
    verdict: Any = answers.verdict(one.fit_)
    found = verdict.calibrated
    assert found.accuracy == pytest.approx(weights @ right / weights.sum())
    assert found.distance == pytest.approx(weights @ off / weights.sum())
    assert found.accuracy != pytest.approx(right.mean())


def test_what_weighs_nothing_is_not_there(stack):
    more = np.concatenate([LOGITS, LOGITS[::-1]])
    weights = np.repeat([1.0, 0.0], 20)
    found: Any = small().fit(more, np.concatenate([LABELS, LABELS]), sample_weight=weights)
    np.testing.assert_array_equal(found.predict_proba(TEST), stack.predict_proba(TEST))
    np.testing.assert_array_equal(found.fit_.out_of_fold, stack.fit_.out_of_fold)
    assert len(found.fit_.labelled.labels) == 20


def test_a_table_of_annotators_is_its_labels_one_by_one():
    table = np.array([[0, 1, 1], [4, None, 3], [2, 2, None], [1, 0, np.nan]] * 3, dtype=object)
    logits = TEXTS.logits[:12]
    table[5, 1] = -1
    there = np.array([[cell in (0, 1, 2, 3, 4) for cell in row] for row in table])
    rows, columns = np.nonzero(there)
    labels = table[rows, columns].astype(int)
    found: Any = cp.LogitStack().fit(logits, table)
    expected = cp.LogitStack().fit(logits[rows], labels, texts=rows)
    np.testing.assert_array_equal(found.predict_proba(TEST), expected.predict_proba(TEST))
    np.testing.assert_array_equal(found.fit_.labelled.texts, -1 - rows)
    np.testing.assert_allclose(found.fit_.labelled.weights, 1 / np.bincount(rows)[rows])
    verdict: Any = answers.verdict(found.fit_)
    assert found.fit_.expected.labels == verdict.labels == 12
    assert found.fit_.labelled.weights.sum() == pytest.approx(12)
    frame = pandas.DataFrame(table, columns=["a", "b", "c"]).where(there)
    again = cp.LogitStack().fit(logits, frame)
    np.testing.assert_array_equal(again.predict_proba(TEST), expected.predict_proba(TEST))
    # A weight of a text is shared by its labels; one of each label is its own.
    weights = np.linspace(0.5, 2, 12)
    found = cp.LogitStack().fit(logits, table, sample_weight=weights)
    np.testing.assert_allclose(
        by_text(labels, 5, found.fit_.labelled.weights, rows).weights, weights
    )
    # Also where rows have a text in common.
    twice = cp.LogitStack().fit(logits, table, sample_weight=weights, texts=np.arange(12) // 2)
    np.testing.assert_allclose(twice.fit_.labelled.weights, found.fit_.labelled.weights)
    each = np.random.default_rng(0).uniform(1, 2, table.shape)
    found = cp.LogitStack().fit(logits, table, sample_weight=each)
    np.testing.assert_array_equal(found.fit_.labelled.weights, each[rows, columns])
    named = pandas.DataFrame(each, columns=["a", "b", "c"])
    again = cp.LogitStack().fit(logits, frame, sample_weight=named)
    np.testing.assert_array_equal(again.predict_proba(TEST), found.predict_proba(TEST))
    renamed = named.rename(columns="weight_{}".format)
    again = cp.LogitStack().fit(logits, frame, sample_weight=renamed)
    np.testing.assert_array_equal(again.predict_proba(TEST), found.predict_proba(TEST))
    with pytest.raises(cp.InputError, match="sample_weight: expected columns a, b, c.* got c, b"):
        cp.LogitStack().fit(logits, frame, sample_weight=named[["c", "b", "a"]])


def test_halves_of_a_label_are_a_soft_label():
    """3.5 stars: half to each; the histogram and the likelihood take it as it is."""
    half = cp.calibrators.LabelHistogram(STARS).fit(
        LOGITS[[0, 0]], [3, 4], sample_weight=[0.5, 0.5]
    )
    np.testing.assert_allclose(half.predict_proba(TEST)[0] * 6, [1, 1, 1.5, 1.5, 1])


def test_minus_one_may_be_an_option():
    scale = Scale(("-1", "0", "1"))
    codes, rows, columns = list_labels([[-1, 0], [1, None]], scale)
    assert codes.tolist() == [0, 1, 2] and rows.tolist() == [0, 0, 1]
    assert columns.tolist() == [0, 1, 0]


def test_an_array_in_the_cell_of_a_label_is_no_option():
    cells = np.array([[0, 1], [1, None]], object)
    cells[1, 1] = np.array([0, -1])
    with pytest.raises(cp.InputError, match="row 1, column 1"):
        list_labels(cells, Scale(("0", "1")))


def test_texts_are_known_by_their_names_in_any_call():
    names = as_texts(["a", "b", "a"], 3)
    assert names[0] == names[2] != names[1] and (names >= 0).all()
    np.testing.assert_array_equal(as_texts(["b"], 1), names[1:2])
    # Tables have ids as text: a number is the same id, and so is another Unicode form.
    np.testing.assert_array_equal(as_texts([7, 2**70], 2), as_texts(["7", str(2**70)], 2))
    np.testing.assert_array_equal(as_texts(["e\u0301"], 1), as_texts(["\u00e9"], 1))
    np.testing.assert_array_equal(as_texts(None, 3), [-1, -2, -3])


@pytest.mark.literal
def test_every_decision_counts_texts():
    """Each label of twenty texts three times over says no more than once."""
    rows = np.repeat(np.arange(20), 3)
    once: Any = small(inference="laplace").fit(LOGITS, LABELS)
    thrice: Any = small(inference="laplace").fit(LOGITS[rows], LABELS[rows], texts=rows)
    np.testing.assert_allclose(once.predict_proba(TEST), thrice.predict_proba(TEST), atol=NEAR)
    verdicts: Any = [answers.verdict(fitted.fit_) for fitted in (once, thrice)]
    found, other = verdicts
    assert found.advice == other.advice and found.labels == other.labels == 20
    np.testing.assert_allclose(found.gain, other.gain, atol=NEAR)
    ahead, further = (own.forecast(TEXTS.logits) for own in (once, thrice))
    assert ahead.labels == further.labels and ahead.counts == further.counts
    np.testing.assert_allclose(ahead.loss, further.loss, atol=NEAR)
    assert ahead.residual == pytest.approx(further.residual, abs=NEAR)
    left, right = (
        own.estimate(TEXTS.logits, places, draws=64).overall
        for own, places in ((once, np.arange(20)), (thrice, rows))
    )
    assert left.labels == right.labels == 20
    # Rounding may resample another draw: at most .006 off, mean .001, sd .002 over 20 seeds.
    np.testing.assert_allclose(left.mean, right.mean, atol=0.02)
    by_text_alone = thrice.estimate(TEXTS.logits, np.arange(20), draws=64)
    assert by_text_alone.overall.mean == right.mean
    groups = {"who": [f"g{row % 2}" for row in range(20)]}
    tripled = {"who": [groups["who"][row] for row in rows]}
    assert [b.column for b in answers.find_bias(once.fit_, groups)] == [
        b.column for b in answers.find_bias(thrice.fit_, tripled)
    ]
    np.testing.assert_array_equal(thrice.fit_.sketch, once.fit_.sketch)
    one, other = (answers.reader_of(fitted.fit_) for fitted in (once, thrice))
    assert one and other and other.texts == one.texts
    assert other.points == pytest.approx(one.points)


def test_accuracy_by_weight(stack):
    weights, right = np.arange(40.0), stack.predict(TEST) == 0
    found = stack.score(TEST, np.zeros(40, int), sample_weight=weights)
    assert found == pytest.approx(weights @ right / weights.sum())
    # Of several annotators: the labels of a text share its weight.
    table = np.column_stack([np.zeros(40, int), np.tile([-1, 1], 20)])
    shares = np.where(table < 0, 0, 1 / (table >= 0).sum(axis=1, keepdims=True))
    right = stack.predict(TEST)[:, None] == table
    assert stack.score(TEST, table) == pytest.approx((shares * right).sum() / 40)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sample_weight": [1.0]}, r"sample_weight must have one entry for each of 20 .* \[1\]"),
        ({"sample_weight": [-1.0] + [1.0] * 19}, "between 0 and 10,000.*-1 in row 0"),
        ({"sample_weight": 2.0}, r"one entry for each of 20 .*got shape \[\]"),
        ({"sample_weight": [1e9] * 20}, "between 0 and 10,000.*1e\\+09 in row 0"),
        ({"sample_weight": [np.nan] * 20}, "nan in row 0"),
        ({"sample_weight": np.zeros(20)}, "sample_weight must contain .*only zeros"),
        ({"sample_weight": ["a"] * 20}, "sample_weight must be numbers"),
        ({"sample_weight": np.ones((20, 2))}, r"one entry for each of 20 .*got shape \[20, 2\]"),
        ({"texts": range(-1, 19)}, "a whole-number text id must be 0 or above; found -1"),
        ({"texts": [1, 2]}, "text names must have one entry for each of 20"),
        ({"texts": [None, *"abcdefghijklmnopqrs"]}, "found None in row 0"),
        ({"texts": np.ones(20) / 2}, "names or whole numbers; found 0.5 in row 0"),
        ({"labels": [[0, None]] * 19 + [[None, -1]]}, "row 19 has no label"),
        ({"labels": [[0, 1]] * 19 + [[1, 9]]}, "found 9 in row 19, column 1"),
        ({"labels": [[0, 1]] * 19 + [[1]]}, r"shape \[n\], or \[n, annotators\]"),
        ({"labels": [[0, 1]] * 19}, "got 20 rows of logits but 19 rows of labels"),
        ({"labels": np.zeros((20, 2, 2))}, r"labels must have the shape \[n\]"),
    ],
)
def test_weights_texts_and_tables_that_cannot_be_used(settings, message):
    with pytest.raises(cp.InputError, match=message):
        cp.LogitStack().fit(LOGITS, **({"labels": LABELS} | settings))


def test_few_texts_that_weigh_much_are_few():
    weights = np.where(np.arange(20) < 2, 100.0, 0.01)
    logits, labels = TEXTS.logits[:40], TEXTS.labels[:40]
    kept = np.concatenate([weights, weights])
    even: Any = small().fit(logits, labels)
    found: Any = small().fit(logits, labels, sample_weight=kept)
    assert by_text(labels, 5, kept).effective == pytest.approx(4, abs=0.1)
    verdicts: Any = [answers.verdict(fitted.fit_) for fitted in (even, found)]
    assert [verdict.labels for verdict in verdicts] == [40, 4]
    assert [verdict.advice for verdict in verdicts] == [Advice.USE, Advice.LABEL]
    pool = TEXTS.logits
    assert even.forecast(pool).steps and not found.forecast(pool).steps


@pytest.mark.parametrize("first", [3.5, np.float32(3.5), "3.5"])
def test_a_label_between_options_says_what_rounds_it(first):
    for options, lowest in ((range(1, 6), 1), (tuple("12345"), 1), (None, 0)):
        with pytest.raises(cp.InputError, match=r"found '?3.5'? in row 0.*round_labels"):
            labels = [first, *(LABELS[1:] + lowest).tolist()]
            cp.LogitStack(options=options).fit(LOGITS, labels)


# Whether so narrow a posterior is trusted is luck; that it is finite is not.
@pytest.mark.filterwarnings("ignore:the posterior of channel 'mixture' .k-hat")
def test_no_weight_is_larger_than_can_be_counted():
    assert as_weights(None, np.array([3, 3, 1])).tolist() == [0.5, 0.5, 1.0]
    found = small().fit(LOGITS, LABELS, sample_weight=np.full(20, LARGEST))
    assert np.isfinite(found.predict_proba(LOGITS)).all()


@pytest.mark.parametrize("size", [2, 5])
def test_one_hot_rows_are_not_labels_of_annotators(size):
    scale, positions = Scale.default(size), np.arange(6) % size
    with pytest.raises(cp.InputError, match="one-hot"):
        list_labels(np.eye(size)[positions], scale)
    # Two texts may have such labels by chance, and others are no rows of it.
    assert len(list_labels(np.eye(size)[:2], scale)[0]) == 2 * size
    assert len(list_labels(np.ones((6, size)), scale)[0]) == 6 * size

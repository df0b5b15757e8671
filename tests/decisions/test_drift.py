"""Drift: readings of one kind raise no alarm, however few or many; those of another kind do."""

import json

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEST, TEXTS, small
from hypothesis import given, settings
from hypothesis import strategies as st
from review_tables import LABELLED, fast, read, write_tables

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions import answers, drift
from cordial_ppl.decisions.drift import RATE, Drift, compare
from cordial_ppl.stack.sketch import check_sketch, merge, sketch
from cordial_ppl.tables import write_table

FIVE = Scale(STARS)


def differ(fit, new, scale=FIVE) -> Drift:
    found = compare(fit, new, scale)
    assert found is not None
    return found


def test_shares_of_texts_differ_beyond_chance_alone():
    """One alarm in a thousand at most, and one where of 40 labelled texts none, now half, is."""
    rng = np.random.default_rng(0)
    pairs = [rng.random(240) < share for share in np.linspace(0.05, 0.95, 19) for _ in range(50)]
    # Of 950 pairs more than five raise an alarm once in a thousand times.
    assert sum(drift.differ(each[:40], each[40:]) for each in pairs) <= 5
    for few in (20, 40):
        assert drift.differ(np.zeros(few, bool), np.arange(200) % 2 == 0)
    assert not drift.differ(np.zeros(5, bool), np.arange(200) % 5 == 0)


def soft(texts, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    middle = rng.normal(2 + shift, 1, (texts, 1))
    return -((np.arange(5) - middle) ** 2) + rng.normal(0, 0.5, (texts, 5))


def hard(texts, probs=(0.1, 0.1, 0.2, 0.4, 0.2), seed=0):
    rated = np.random.default_rng(seed).choice(5, texts, p=probs)
    return cp.readings_from_counts(np.eye(5)[rated])


@settings(max_examples=settings().max_examples // 2)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([2, 3, 7, 101]),
    cuts=st.lists(st.integers(0, 300), max_size=3),
)
def test_parts_of_a_table_add_up(seed, size, cuts):
    logits = np.random.default_rng(seed).normal(size=(300, size)) * 3
    found = sketch(logits)
    parts = np.split(logits, sorted(cuts))
    np.testing.assert_array_equal(merge([sketch(part) for part in parts]), found)
    check_sketch(found, size)
    assert found[1].sum() == 300
    same = differ(found, found, Scale.default(size))
    assert same.p == 1 and same.share == same.distance == 0
    assert same.texts == (300, 300) and not same.alarm


def test_figures_are_what_they_are_called():
    scale = Scale(("1", "2", "3"))
    first, second = np.eye(3)[[0, 0, 1, 2]] * 40, np.eye(3)[[0, 2, 2, 2, 2]] * 40
    found = differ(sketch(first), sketch(second), scale)
    np.testing.assert_allclose(found.options, [[0.5, 0.25, 0.25], [0.2, 0.0, 0.8]])
    assert found.share == pytest.approx(0.55) and found.texts == (4, 5)
    assert found.means == pytest.approx((1.75, 2.6)) and found.scores == pytest.approx((1.75, 2.6))
    assert found.distance == pytest.approx(0.85)
    few = found._replace(p=0.001, share=0.01, distance=0.05, scores=(1.234, 2.0))
    assert not few.alarm and few._replace(distance=0.5).alarm
    said = few._replace(share=0.55).describe(scale)
    assert "p = 0.001" in said and "the share of '3' from 25% to 80%" in said
    assert json.loads(json.dumps(found.to_dict()))["alarm"] is False
    # As of any other reading, and not a mean that half counts draw to the middle.
    low, high = hard(500, (0.8, 0.1, 0.1, 0, 0)), hard(500, (0, 0, 0.1, 0.1, 0.8), seed=1)
    found = differ(sketch(low), sketch(high))
    assert found.scores == pytest.approx(found.means)
    rated = [each.argmax(axis=1).mean() + 1 for each in (low, high)]
    assert found.scores == pytest.approx(rated)
    assert found.distance == pytest.approx(rated[1] - rated[0])


@pytest.mark.parametrize(
    ("make", "few", "many"),
    [
        (hard, 300, 200),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (
                *((soft, 20, 20), (hard, 20, 20), (soft, 20, 1000)),
                *((hard, 20, 1000), (soft, 300, 200)),
            )
        ),
    ],
)
def test_p_values_keep_their_error_rate(make, few, many, monkeypatch):
    """Of 300 tables the share with p up to a level is the level, within four standard errors."""
    monkeypatch.setattr(drift, "PERMUTATIONS", 199)
    times, rates = 300, np.array([0.05, 0.2, 0.5])
    found = np.array(
        [
            differ(sketch(texts[:few]), sketch(texts[few:])).p
            for texts in (make(few + many, seed=seed) for seed in range(times))
        ]
    )
    shares = (found[:, None] <= rates).mean(axis=0)
    assert (np.abs(shares - rates) <= 4 * np.sqrt(rates * (1 - rates) / times)).all()


def test_another_reader_raises_the_alarm_and_a_trivial_difference_does_not():
    for few in (20, 300):
        found = differ(sketch(soft(few)), sketch(soft(10_000, shift=1.5, seed=1)))
        assert found.alarm and found.p <= RATE and found.scores[1] > found.scores[0]
    # Only the score differs: each option is as frequent as before.
    sharp = sketch(np.where(np.arange(5) == 2, 30.0, 0.0) + np.zeros((200, 1)))
    flat = sketch(np.where(np.arange(5) == 2, 1.0, 0.9 * (np.arange(5) > 2)) + np.zeros((200, 1)))
    found = differ(sharp, flat)
    assert found.share == 0 and found.distance > 0.4 and found.alarm
    probs = np.array([0.1, 0.1, 0.2, 0.4, 0.2])
    first, second = hard(200_000, probs), hard(300_000, probs + [0.01, 0, 0, -0.01, 0], seed=1)
    found = differ(sketch(first), sketch(second))
    assert found.p <= RATE and 0.005 < found.share < 0.02 and not found.alarm


def test_labelled_texts_among_those_that_are_predicted_raise_no_alarm():
    texts = soft(1000)
    alarms = [
        differ(sketch(texts[rows]), sketch(texts)).p <= RATE
        for rows in (np.random.default_rng(seed).permutation(1000)[:20] for seed in range(300))
    ]
    assert np.mean(alarms) <= RATE + 3 * (RATE / 300) ** 0.5


def test_tables_of_no_text_and_of_billions(monkeypatch):
    nothing = sketch(np.empty((0, 5)))
    assert compare(sketch(TEST), nothing, FIVE) is None
    assert compare(nothing, sketch(TEST), FIVE) is None
    found = sketch(soft(2000))
    huge = np.stack([found[0], found[1] * 10**7])
    for pair in ((found, huge), (huge, found), (huge, huge)):
        assert differ(*pair).p > 0.5
    other = sketch(soft(20, shift=3.0))
    assert differ(other, huge).alarm
    # Of the rarest cells nothing is left.
    monkeypatch.setattr(drift, "LARGEST", 200)
    assert (found[1] * 200 / 2000 < 0.5).any() and differ(huge, huge).p == 1
    monkeypatch.setattr(drift, "LARGEST", 1000)
    assert differ(other, huge).alarm


def test_a_calibrator_knows_the_readings_of_its_fit():
    alone = small().fit(LOGITS, LABELS)
    np.testing.assert_array_equal(
        alone.fit_.sketch, sketch(LOGITS - LOGITS.mean(axis=1, keepdims=True))
    )
    found, turned = (
        answers.check_readings(alone.fit_, logits) for logits in (TEXTS.logits, -TEXTS.logits)
    )
    assert found and not found.alarm and found.texts == (20, 300)
    assert turned and turned.alarm
    whole = cp.LogitStack().fit(LOGITS, LABELS, corpus=TEXTS.logits)
    found = answers.check_readings(whole.fit_, TEXTS.logits)
    assert found and found.p == 1 and found.texts == (300, 300)
    np.testing.assert_array_equal(
        whole.predict_proba(TEST), cp.LogitStack().fit(LOGITS, LABELS).predict_proba(TEST)
    )
    found = answers.check_readings(cp.RawReading().fit(LOGITS).fit_, TEXTS.logits)
    assert found and found.texts == (20, 300)
    for corpus in (TEXTS.logits[:, :4], [[np.nan, 0, 0, 0, 0]]):
        with pytest.raises(cp.InputError):
            cp.LogitStack().fit(LOGITS, LABELS, corpus=corpus)


def test_the_commands_warn(cordial, tmp_path):
    readings, labels = write_tables(tmp_path)
    cordial(*fast("fit", readings, labels, "-o", "j.cordial"))
    assert cp.load("j.cordial").fit_.sketch[1].sum() > LABELLED
    cells = read(readings)
    names = [name for name in cells if name.startswith("logit_")]
    turned = dict(zip(names, [cells[name] for name in names[::-1]], strict=True))
    write_table("other.csv", {**cells, **turned})
    result = cordial("predict", "j.cordial", "other.csv", "-o", "o.csv", "--json")
    found = json.loads(result.stdout)["drift"]
    assert found["alarm"] and found["p"] <= RATE and found["share"] > drift.LEAST
    assert "other.csv" in result.stderr and "j.cordial" in result.stderr

"""The same judge raises few alarms however often one looks; another one is noticed, and how."""

import json
from itertools import product

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, TEST

import cordial_ppl as cp
from cordial_ppl.data.scale import Scale
from cordial_ppl.decisions.monitoring import log_evidence, monitor

FIVE = Scale.default(5)


def sampled(probs, looks, samples=3, seed=0):
    """Shares of sampled ratings, [n, looks, K]."""
    rng = np.random.default_rng(seed)
    draws = [rng.multinomial(samples, probs) / samples for _ in range(looks)]
    return np.stack(draws, axis=1)


def texts(count, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(5), count)


def watch(stated, level=0.95):
    return monitor(stated @ FIVE.values, stated, FIVE, level)


@pytest.mark.parametrize("column, sides", [(1, (1, -1)), (2, (1,))])
def test_evidence_is_one_on_the_mean_of_all_orders(column, sides):
    """Exactly, of any values, ties and texts that a look lacks among them."""
    values = np.array([[0.0, 1.0, 5.0], [2.0, 2.0, -1.0], [0.3, 0.1, np.nan]])[:, : column + 1]
    orders = []
    for text in values:
        kept = np.flatnonzero(np.isfinite(text))
        moves = [np.roll(text[kept], shift) for shift in range(len(kept))]
        fill = np.full((len(moves), values.shape[1]), np.nan)
        # The reading that is asked about is there.
        fill[:, values.shape[1] - len(kept) :] = moves
        orders.append(fill)
    each = [np.exp(log_evidence(np.stack(rows), column, sides)) for rows in product(*orders)]
    assert np.mean(each) == pytest.approx(1, rel=1e-12)
    assert np.ptp(each) > 0.1


@pytest.mark.nightly
def test_noise_raises_no_alarm_in_a_hundred_looks():
    """Neither that of three samples, nor of one; with looks at some of the texts only."""
    alarms = 0
    for seed, samples in product(range(15), (1, 3)):
        stated = sampled(texts(30, seed), 101, samples, seed)
        stated[:5, 50] = np.nan
        alarms += watch(stated).first is not None
    assert alarms <= 2  # .05, sd .21 over 20 seeds


def test_shifts_and_single_texts_that_move_are_noticed():
    probs = texts(50)
    lower = np.roll(probs, -1, axis=1)
    lower[:, 0] += lower[:, -1]
    lower[:, -1] = 0
    shift = float(((lower - probs) @ FIVE.values).mean())
    made = watch(np.stack([probs, lower], axis=1))
    assert made.answer == "no" and made.shift.mean == pytest.approx(shift)
    assert made.shift.lower < shift < made.shift.upper < 0
    assert f"shifted by {shift:+.2f}" in made.describe(FIVE)
    assert not made.noise and made.moved > abs(shift) and json.dumps(made.to_dict())
    # A mean that stays hides them: of two readings nobody knows how far noise goes.
    probs, other = texts(100), texts(100, seed=1)
    other = np.concatenate([other, other[:, ::-1]])
    first = np.concatenate([probs, probs[:, ::-1]])
    stated = np.stack([first, 0.99 * first + 0.002, other], axis=1)
    assert not watch(stated[:, 1:]).alarm
    made = watch(stated)
    assert made.answer == "no" and abs(made.shift.mean) < 1e-2 and made.moved > 0.5
    assert made.noise and f"moved by {made.moved:.2f}" in made.describe(FIVE)
    # And so is the first reading, from which all later ones differ alike.
    assert watch(stated[:, [2, 0, 1]]).answer == "no"


def test_the_same_readings_those_that_are_back_and_those_without_relation():
    probs = texts(300)
    made = watch(np.stack([probs, np.random.default_rng(1).permutation(probs)], axis=1))
    assert made.answer == "cannot say" and made.more is None and abs(made.order) < 0.2
    assert "Rate all texts again" in made.describe(FIVE)
    first = texts(50)
    lower, again = 0.5 * first + 0.5 * np.eye(5)[0], 0.999 * first + 0.0002
    made = watch(np.stack([first, lower, again], axis=1))
    assert made.answer == "yes" and made.first == 1 and not made.alarm
    assert "look 1 showed" in made.describe(FIVE)
    same = watch(np.repeat(texts(20)[:, None], 3, axis=1))
    assert same.answer == "yes" and same.shift == (0, 0, 0) and same.moved == 0
    assert same.order == pytest.approx(1) and "maybe from a cache" in same.describe(FIVE)


def test_copies_of_a_reading_are_no_readings_of_their_own():
    """A cache would make any fresh reading far from readings that are alike."""
    first, second, fresh = np.moveaxis(sampled(texts(100), 3, 1), 1, 0)
    with pytest.warns(cp.CordialWarning, match="copies, .* cache .look 1 equals the first read"):
        made = watch(np.stack([first, first, fresh], axis=1))
    assert not made.alarm and not made.noise
    with pytest.warns(cp.CordialWarning, match="look 2 equals look 1"):
        made = watch(np.stack([first, fresh, fresh], axis=1))
    assert not made.alarm
    assert watch(np.stack([first, second, fresh], axis=1)).noise
    # Of a look that lacks texts, the copy that has them counts.
    part = np.where(np.arange(100)[:, None] < 50, fresh, np.nan)
    with pytest.warns(cp.CordialWarning, match="look 3 equals look 2"):
        made = watch(np.stack([first, second, part, fresh], axis=1))
    assert np.isfinite(made.evidence) and not made.alarm


def test_few_texts_cannot_tell_and_trifles_do_not_matter():
    made = watch(sampled(texts(12), 3, 20))
    assert made.answer == "cannot say" and made.more and made.more > 12
    assert f"about {made.more} more texts" in made.describe(FIVE)
    for few in (1, 3):
        made = watch(sampled(texts(few), 2, 20))
        assert made.more is None and "at least 20 texts" in made.describe(FIVE)
    probs = texts(200)
    slightly = 0.99 * probs + 0.01 * np.eye(5)[0]
    made = watch(np.stack([probs, slightly], axis=1))
    assert made.alarm and made.answer == "yes" and made.shift.upper < 0


@pytest.fixture(scope="module")
def fit():
    return cp.TemperatureScaling().fit(LOGITS, LABELS).fit_


def test_texts_are_found_by_name_and_new_ones_told_apart(fit):
    names = [f"t{row}" for row in range(40)]
    made = cp.monitor(fit, TEST, TEST)
    assert made.answer == "yes" and made.texts == 40 and made.others is None
    turned = cp.monitor(fit, TEST, TEST[::-1], texts=[names, names[::-1]])
    assert turned.answer == "yes" and turned.shift == (0, 0, 0)
    low = np.tile([9.0, 0, 0, 0, 0], (30, 1))
    others = [*names, *(f"new {row}" for row in range(30))]
    made = cp.monitor(fit, TEST, np.concatenate([TEST, low]), texts=[names, others])
    assert made.answer == "yes" and made.texts == 40
    assert made.others is not None and made.others.alarm and made.others.texts == (40, 30)
    with pytest.warns(cp.CordialWarning, match="lacks 10 of the 40 first texts"):
        assert cp.monitor(fit, TEST, TEST[10:], texts=[names, names[10:]]).texts == 30
    assert "30 new texts" in repr(made) == made.describe(fit.scale) and json.dumps(made.to_dict())


@pytest.mark.parametrize(
    "readings, settings, message",
    [
        ([TEST], {}, "at least two points in time; got 1"),
        ([TEST, TEST], {"level": 2}, "level"),
        ([TEST[:1], TEST[:1]], {"texts": [["a"], ["b"]]}, "look 1 .* shares no text"),
        ([TEST[:2], TEST[:2]], {"texts": [["a", "b"], ["a", "a"]]}, "look 1 contains the same"),
        ([TEST[:2], TEST[:2]], {"texts": [["a", "b"], ["a"]]}, "2 texts; got 1"),
        ([TEST, TEST], {"texts": ["ab"]}, "2 entries, one per look; got 1"),
        ([TEST, TEST[:, :3]], {}, "5 columns; found 3"),
        ([TEST, TEST[:9]], {}, "40 and 9 rows"),
        ([TEST, TEST], {"texts": 3}, "texts must be a list"),
        ([TEST, None], {}, "logits"),
    ],
)
def test_bad_input_has_one_message(fit, readings, settings, message):
    with pytest.raises(cp.InputError, match=message):
        cp.monitor(fit, *readings, **settings)


JUDGE = cp.RawReading().fit(TEST, np.arange(len(TEST)) % 5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda fit: cp.check_readings(fit, TEST),
        lambda fit: cp.check_labels(fit, TEST, np.arange(len(TEST)) % 5),
        lambda fit: cp.predict_draws(fit, TEST),
        lambda fit: cp.describe(fit),
        lambda fit: cp.find_bias(fit, {}),
        lambda fit: cp.monitor(fit, TEST, TEST),
        lambda fit: cp.verdict(fit),
    ],
)
def test_an_estimator_stands_for_its_fit_and_anything_else_is_refused(ask):
    ask(JUDGE)
    with pytest.raises(cp.NotFittedError, match="Call fit"):
        ask(cp.TemperatureScaling())
    for wrong in (3, None, {}):
        with pytest.raises(cp.InputError, match="its fit_ attribute.*; got "):
            ask(wrong)


def test_a_judge_that_leaves_texts_unread_is_not_the_same(stack):
    """However much it repeats itself on the others."""
    before = np.concatenate([TEST] * 3)
    after = np.where(np.arange(len(before))[:, None] % 3, before, np.nan)
    assert cp.monitor(stack, before, before).answer == "yes"
    with pytest.warns(cp.CordialWarning, match="33%"):
        found = cp.monitor(stack, before, after)
    assert found.answer == "cannot say" and found.to_dict()["unread_changed"] and found.more is None
    assert "without a reading" in str(found).splitlines()[0]

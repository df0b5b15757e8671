"""Decisions by cost and by agreement: what is decided, who is asked, and what is refused."""

import re

import numpy as np
import pytest

import cordial_ppl as cp
from cordial_ppl.evaluation.synthetic import reviews

TEXTS, LABELLED = 200, 40
MADE = reviews(TEXTS, seed=1)
STARS = MADE.options
LABELS = np.array(STARS)[MADE.labels]
ROWS = np.random.default_rng(0).permutation(TEXTS)[:LABELLED]
PASSING = np.array([0, 0, 0, 1, 1], bool)

# With some seeds a posterior is doubtful: that is for tests of diagnostics.
pytestmark = pytest.mark.filterwarnings("ignore:the posteriors? of channel")


@pytest.fixture(scope="module")
def fitted():
    return cp.Cordial(STARS, seed=0).fit(MADE.logits[ROWS], LABELS[ROWS])


def test_the_cheapest_decision_is_made(fitted):
    costs = {"false_pass": 5, "false_fail": 1, "person": 0.4}
    made = fitted.decide(MADE.logits, ROWS, passing=["4", "5"], **costs)
    passed = fitted.predict_proba(MADE.logits) @ PASSING
    passed[ROWS] = PASSING[MADE.labels[ROWS]]
    expected = np.stack([passed, 5 * (1 - passed), np.full(TEXTS, 0.4)])
    assert made.decision.tolist() == [["fail", "pass", "person"][k] for k in expected.argmin(0)]
    np.testing.assert_allclose(made.cost, expected.min(axis=0), atol=1e-12)
    wrong = np.where(expected[0] < expected[1], passed, 1 - passed)
    np.testing.assert_allclose(made.p_wrong, wrong, atol=1e-12)
    left = ~made.labelled
    people, cost, agreement = made.ways["as decided"]
    assert people == np.mean(made.decision[left] == "person")
    assert cost == pytest.approx(made.cost[left].mean())
    assert agreement == pytest.approx(1 - wrong[left & (made.decision != "person")].mean())
    best = made.curve["cost"].min()
    assert cost <= best + 1e-12 and best < made.ways["calibrated alone"][1]
    assert made.ways["people alone"][1] == 0.4 and made.agree is None
    judged = PASSING[MADE.logits.argmax(axis=1)]
    by_judge = np.where(judged, 5 * (1 - passed), passed)[left]
    assert made.ways["judge alone"][1] == pytest.approx(by_judge.mean())
    # Out of fold the same rule decides.
    ahead = fitted.fit_.out_of_fold @ PASSING
    sure = np.minimum(ahead, 5 * (1 - ahead)) <= 0.4
    right = (ahead > 5 * (1 - ahead)) == PASSING[MADE.labels[ROWS]]
    assert made.checked.tolist() == [sure.sum(), np.sum(right & sure)] and 0 < sure.sum() < LABELLED


def test_answers_show_what_was_decided_and_planned(fitted):
    made = fitted.decide(MADE.logits, ROWS, passing=["4", "5"], person=0.4)
    assert repr(made) == made.text() and f"{made.checked[0]:.0f} of {LABELLED} texts" in repr(made)
    assert all(f"{name!r} {number}" in repr(made) for name, number in made.counts.items())
    assert "Check on" not in made.text(chosen=True)
    corpus = fitted.estimate(MADE.logits, ROWS)
    assert repr(corpus) == str(corpus) == corpus.text()
    chosen = cp.plan(MADE.logits, 30)
    assert re.findall("[0-9]+", repr(chosen)) == [*map(str, (30, *chosen.rows[:20], 10))]
    judged = cp.verdict(fitted)
    assert judged and repr(judged) == judged.text


def test_gain_and_band_are_those_of_the_mixture(fitted):
    probs, weights = cp.predict_draws(fitted.fit_, MADE.logits, 128)
    made = fitted.decide(MADE.logits, passing=["4", "5"], person=10)
    passed = probs @ PASSING
    least = weights @ np.minimum(passed, 1 - passed).mean(axis=1)
    gap = made.ways["as decided"][1] - least
    assert made.gain == pytest.approx(0.6 * gap * 20 / (LABELLED + 20), rel=1e-4) and gap > 0
    made = fitted.decide(MADE.logits, within=0, agree=0.9)
    probs, weights = cp.predict_draws(fitted.fit_, MADE.logits, 128)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(weights), 4000, p=weights / weights.sum())
    low, high = made.curve["low"][-1], made.curve["high"][-1]
    action = fitted.predict_proba(MADE.logits).argmax(axis=1)
    agreed = probs[drawn][:, np.arange(TEXTS), action]
    shares = (rng.random(agreed.shape) < agreed).mean(axis=1)
    # Off by .002 and .004, sd .003 and .002 over 20 seeds.
    assert (low, high) == pytest.approx(np.quantile(shares, [0.05, 0.95]), abs=0.015)
    assert (made.curve["low"] >= 0).all() and (made.curve["kept"] <= 1).all()


def test_labels_that_come_back_stand_for_all_texts(fitted):
    made = fitted.decide(MADE.logits, ROWS, passing=["4", "5"], person=0.2, audit=0.1)
    seen = ~np.isnan(made.probability)
    assert np.sum(1 / made.probability[seen]) == pytest.approx(TEXTS)
    sure = made.labelled | (made.decision == "person")
    assert (made.probability[sure] == 1).all() and made.asked.sum() == seen.sum() - LABELLED
    assert 0 < np.sum(seen & ~sure) == np.ceil(0.1 * np.sum(~sure))
    none = fitted.decide(MADE.logits, ROWS, passing=["4", "5"], person=0.2, audit=0)
    assert np.isnan(none.probability[~sure]).all()


def test_as_few_as_keep_the_agreement_are_asked(fitted):
    # Half of what is wrong may stay: 64 texts are asked about, sd 15 over 20 seeds.
    agree = (1 + fitted.predict_proba(MADE.logits).max(axis=1).mean()) / 2
    made = fitted.decide(MADE.logits, ROWS, within=0, agree=agree, level=0.8)
    asked = made.decision == "person"
    assert 0 < asked.sum() < TEXTS - LABELLED and made.kept >= 0.8
    left = ~made.labelled
    assert made.p_wrong[left & ~asked].max() <= made.p_wrong[asked].min()
    probs, weights = cp.predict_draws(fitted.fit_, MADE.logits[left & ~asked])
    right = np.array(STARS)[:, None] == made.decision[left & ~asked]
    hits = np.random.default_rng(1).random(probs.shape[:2]) < np.sum(probs * right.T, axis=2)
    # Off by .002, sd .027 over 20 seeds.
    assert weights @ (hits.mean(axis=1) >= agree) == pytest.approx(made.kept, abs=0.1)
    # As many of the labelled texts in proportion, the surest, are the check.
    of, agreeing = made.checked
    assert of == round(np.mean(~asked[left]) * LABELLED)
    ahead = fitted.fit_.out_of_fold
    surest = np.argsort(-ahead.max(axis=1), kind="stable")[: int(of)]
    assert agreeing == np.sum(
        ahead.argmax(axis=1) == MADE.labels[ROWS], where=np.isin(range(LABELLED), surest)
    )
    assert np.isnan(made.cost).all() and np.isnan(made.ways["people alone"][1])
    fewer = fitted.decide(MADE.logits, ROWS, within=1, agree=agree, level=0.8)
    assert np.sum(fewer.decision == "person") < asked.sum()


def test_an_agreement_that_cannot_be_kept_leaves_all_to_people(fitted):
    # Of such flat readings no label is sure: the likeliest has .60, sd .08 over 20 seeds.
    made = fitted.decide(0.1 * MADE.logits, within=0, agree=1.0, level=0.99)
    assert np.isnan(made.kept) and (made.decision[~made.labelled] == "person").all()
    made = fitted.decide(MADE.logits[ROWS], range(LABELLED), within=0, person=0.1)
    assert made.decision.tolist() == LABELS[ROWS].tolist() and not made.asked.any()
    alike = cp.LogitStack(STARS).fit(MADE.logits[:9], ["3"] * 9)
    drawless = cp.LogitStack(STARS).fit(MADE.logits[ROWS], LABELS[ROWS])
    for calibrator, message in ((alike, "every label is '3'"), (drawless, "need posterior draws")):
        with pytest.raises(cp.InputError, match=message):
            calibrator.decide(MADE.logits, passing=["4", "5"], person=1)


def test_passing_options_are_named_as_labels_are():
    ends, verdicts = MADE.logits[:, [0, 4]], np.where(PASSING[MADE.labels], "Pass", "Fail")
    judge = cp.Cordial(("Fail", "Pass"), seed=0).fit(ends[ROWS], verdicts[ROWS])
    named = [judge.decide(ends, passing=name, person=9) for name in ("Pass", " pass", ["PASS"])]
    assert all((each.decision == named[0].decision).all() for each in named)
    with pytest.raises(cp.InputError, match="got 'passed'"):
        judge.decide(ends, passing="passed", person=9)


def test_readings_that_are_alike_are_decided_alike_out_of_fold():
    """Folds predict a little more of them, or less, and are no other rule."""
    rated = cp.readings_from_ratings([STARS[k] for k in MADE.logits.argmax(axis=1)], STARS)
    fitted = cp.Cordial(STARS, seed=0).fit(rated[ROWS], LABELS[ROWS])
    made = fitted.decide(rated, ROWS, passing=["4", "5"], person=0.6)
    assert not np.any(made.decision == "person") and made.checked[0] == LABELLED


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"person": -1}, "person .* -1"),
        ({"person": 1, "false_pass": -2}, "false_pass .* -2"),
        ({"person": 1e308}, "person"),
        ({"person": 1, "passing": ["9"]}, "'9'"),
        ({"person": 1, "passing": STARS}, "not all"),
        ({"person": 1, "within": 1}, "passing and within"),
        ({"person": 1, "passing": None}, "within=1"),
        ({"passing": None, "within": 4, "person": 1}, "within .* 4"),
        ({"passing": None, "within": 1, "false_pass": 2, "person": 1}, "false_pass and within"),
        ({}, "agree=0.9"),
        ({"agree": 0.9, "person": 1}, "agree and person"),
        ({"agree": 90}, "agree .* 90"),
        ({"agree": 0.9, "audit": 2}, "audit .* 2"),
        ({"agree": 0.9, "level": 1}, "level"),
    ],
)
def test_bad_settings(fitted, settings, named):
    with pytest.raises(cp.InputError, match=named):
        fitted.decide(MADE.logits, ROWS, **{"passing": ["4", "5"]} | settings)

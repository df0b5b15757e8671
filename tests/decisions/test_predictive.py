"""Checks of new labels: p values are uniform under the model, small where readers changed."""

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from few_labels import LABELS, LOGITS, STARS, TEXTS
from scipy.stats import kstest

import cordial_ppl as cp
from cordial_ppl.data.labelled import Labelled
from cordial_ppl.decisions import answers
from cordial_ppl.decisions.predictive import RATE, SIMULATIONS, check_labels, simulate, weigh
from cordial_ppl.stack.members import predict_each

NEW = TEXTS.logits[100:130] - TEXTS.logits[100:130].mean(axis=1, keepdims=True)


def sets(stack, count, texts=NEW, seed=0):
    members, shares = stack.fit_.mixture(texts)
    given = Labelled(texts, np.zeros(len(texts), np.int64), {})
    return np.stack([*simulate(members, shares[0], given, count, np.random.default_rng(seed))])


def test_simulated_labels_follow_the_predictive_distribution_and_go_together(stack):
    """What few labels leave open moves all labels of a set, as the spread of its means says."""
    drawn, probs = sets(stack, 20_000), stack.predict_proba(NEW)
    found = np.stack([(drawn == option).mean(axis=0) for option in range(5)], axis=1)
    np.testing.assert_allclose(found, probs, rtol=0, atol=4 * (0.25 / 20_000) ** 0.5)
    alone = (probs @ np.arange(5) ** 2 - (probs @ np.arange(5)) ** 2).sum()
    # A ratio of 2.6, its logarithm .94 and sd .22, over 20 seeds.
    assert drawn.sum(axis=1).var() > 1.2 * alone


def test_draws_are_taken_by_their_weights(monkeypatch):
    """Two draws, each of which is sure of its option."""
    sure = np.tile(np.eye(4)[:2, None], (1, 3, 1))
    monkeypatch.setattr("cordial_ppl.decisions.predictive.predict_each", lambda *_: sure)
    texts = Labelled(np.zeros((3, 4)), np.zeros(3, np.int64), {})
    members = [(SimpleNamespace(prediction_weights=np.array([0.9, 0.1])), texts.logits)]
    sets = simulate(members, np.ones(1), texts, 5000, np.random.default_rng(0))
    drawn = np.stack([*sets])
    assert (drawn == drawn[:, :1]).all() and set(drawn[:, 0].tolist()) == {0, 1}
    assert drawn.mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.nightly
def test_p_values_are_uniform_under_the_model(stack):
    found = [
        check_labels(stack.fit_, Labelled(NEW, labels, {})).p
        for labels in np.random.default_rng(3).permutation(sets(stack, 300, seed=2))
    ]
    assert kstest(found, "uniform").pvalue > 0.0027  # of three standard deviations
    assert np.mean(np.array(found) <= RATE) <= RATE + 3 * (RATE / 300) ** 0.5


def test_evidence_is_one_on_the_mean_of_all_labels(stack):
    """Of two texts, by the joint distribution in which they share a draw."""
    # So flat that hardly any probability is raised to the least that counts: off by 3e-5 at most.
    members, (shares,) = stack.fit_.mixture(0.1 * NEW[:2])
    found = joint = 0.0
    for labels in product(range(5), repeat=2):
        probability = sum(
            share
            * (fit.prediction_weights @ predict_each(fit, seen, {})[:, [0, 1], labels].prod(1))
            for (fit, seen), share in zip(members, shares, strict=True)
        )
        joint += probability
        found += probability * weigh(members, shares, {}, np.eye(5)[[*labels]])
    assert joint == pytest.approx(1, rel=1e-6) and found == pytest.approx(1, rel=1e-4)


def test_figures_are_what_they_are_called(stack):
    # The likeliest labels, for those of people raise a false alarm once in a hundred times.
    logits, probs = TEXTS.logits[100:130], stack.predict_proba(NEW)
    labels = probs.argmax(axis=1)
    found = answers.check_labels(stack.fit_, logits, labels)
    assert found.loss == pytest.approx(cp.scores.log_loss(probs, labels)) and found.labels == 30
    drawn = sets(stack, SIMULATIONS)
    simulated = -np.log(probs[np.arange(30), drawn]).mean(axis=1)
    assert found.expected == pytest.approx(simulated.mean())
    assert found[3:5] == pytest.approx(np.quantile(simulated, [0.05, 0.95]))
    assert found.p == pytest.approx((1 + np.sum(simulated >= found.loss - 1e-9)) / 2000)
    assert found.lower < found.expected < found.upper
    assert not found.alarm
    assert answers.check_labels(stack.fit_, logits, labels) == found
    assert json.loads(json.dumps(found.to_dict()))["p"] == found.p


def test_a_reader_that_turned_round_is_found(stack):
    rows = slice(100, 130)
    found = answers.check_labels(stack.fit_, TEXTS.logits[rows, ::-1], TEXTS.labels[rows])
    assert found.alarm and found.loss > found.upper
    one = answers.check_labels(stack.fit_, TEXTS.logits[100:101], TEXTS.labels[100:101])
    assert one.labels == 1 and 0 < one.p <= 1
    rows = slice(100, 160)
    same = answers.check_labels(stack.fit_, TEXTS.logits[rows], TEXTS.labels[rows])
    other = answers.check_labels(stack.fit_, TEXTS.logits[rows], 4 - TEXTS.labels[rows])
    # Powers of ten over 20 seeds: .3, sd .7, and 48, sd 8.
    assert same.evidence < 1e3 < 1e20 < other.evidence


def test_a_text_is_one_observation(stack):
    """However many have labelled it; its labels count by their weights."""
    rows, labels = np.arange(100, 130), TEXTS.labels[100:130]
    once = answers.check_labels(stack.fit_, TEXTS.logits[rows], labels)
    twice = answers.check_labels(stack.fit_, TEXTS.logits[rows], np.column_stack([labels, labels]))
    assert twice.labels == 30 and twice.text == once.text
    np.testing.assert_allclose(twice[:5], once[:5])
    weights, other = np.linspace(0, 2, 60), np.minimum(labels + 1, 4)
    both, given = np.tile(rows, 2), np.concatenate([labels, other])
    found = answers.check_labels(
        stack.fit_, TEXTS.logits[both], given, sample_weight=weights, texts=both
    )
    losses = cp.scores.log_loss(stack.predict_proba(TEXTS.logits[both]), given, per_text=True)
    assert found.loss == pytest.approx(weights @ losses / weights.sum())
    assert found.labels == 30 and found.lower < found.expected < found.upper
    for fitted in (cp.TemperatureScaling(STARS), cp.RawReading(STARS)):
        fitted.fit(LOGITS, [STARS[k] for k in LABELS])
        names = [STARS[k] for k in TEXTS.labels[100:120]]
        found = answers.check_labels(fitted.fit_, TEXTS.logits[100:120], names)
        assert 0 < found.p <= 1 and found.labels == 20
        with pytest.raises(cp.InputError, match="whole numbers 1..5"):
            answers.check_labels(fitted.fit_, TEXTS.logits[100:120], ["6"] * 20)
    with pytest.raises(cp.NotFittedError):
        answers.check_labels(cp.Cordial().fit_, LOGITS, LABELS)


def test_words_follow_the_evidence(stack):
    """Labels may weigh against the calibrator where their mean loss is high only by chance."""
    check = cp.check_labels(stack, LOGITS[:30], LABELS[:30])._replace(p=0.2, evidence=1.0)
    assert "about as well" in check.text and "worse" in check._replace(evidence=30.0).text

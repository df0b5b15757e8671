"""Fusion of several readers: what it predicts, what may be missing, and what it refuses."""

from typing import Any

import numpy as np
import pandas
import pytest
from few_labels import (
    LABELS,
    STARS,
    TEXTS,
    THREE,
    THREE_TEST,
    assert_probabilities,
    lengthy,
    three_readers,
)
from few_labels import READERS as NAMES
from rivals import LogitFusion, average_reading, leave_out_joint
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

import cordial_ppl as cp
from cordial_ppl.channels.forms import location_readers
from cordial_ppl.data.labelled import Labelled, without_labels
from cordial_ppl.data.readings import as_logits
from cordial_ppl.decisions import answers
from cordial_ppl.estimators.fusion.panel import pool, trust_readers
from cordial_ppl.inference.case import Case
from cordial_ppl.inference.fitting import fit_cases
from cordial_ppl.inference.target import build_target
from cordial_ppl.scores import log_loss
from cordial_ppl.stack.entering import enter, predict
from cordial_ppl.stack.fit import deal_folds

# The noise happens to fall as labels rise.
pytestmark = pytest.mark.filterwarnings("ignore:labels fall as:cordial_ppl.errors.CordialWarning")


@pytest.fixture(scope="module")
def gappy():
    """Readings of which some by two of the readers are missing."""
    logits = THREE.copy()
    logits[::10, 1] = np.nan
    logits[::7, 2] = np.nan
    return logits


@pytest.fixture(scope="module")
def fusion(gappy):
    return cp.Fusion(readers=NAMES, inference="mode").fit(gappy, LABELS)


def test_probabilities_weights_and_losses(fusion, gappy):
    probs = fusion.predict_proba(THREE_TEST)
    assert_probabilities(probs, 40, 5)
    assert tuple(fusion.weights_) == (*NAMES, "average reading", "joint channel")
    for shares in (fusion.weights_, fusion.shares_):
        assert np.isclose(sum(shares.values()), 1)
    # .60 more, sd .08 over 20 seeds.
    assert fusion.shares_["plain"] > fusion.shares_["noise"] + 0.2
    losses = {name: fusion.fit_.fits[name].expected.cordial for name in NAMES}
    assert fusion.best_reader_ == min(losses, key=losses.__getitem__)
    assert fusion.fit_.expected.labels == 20 and fusion.fit_.fits["lower"].expected.labels == 18
    # .52 better, sd .12 over 20 seeds.
    many, truth = three_readers(as_logits(TEXTS.logits[100:]), 1), TEXTS.labels[100:]
    raw = cp.RawReading().fit(average_reading(THREE)).predict_proba(average_reading(many))
    assert log_loss(fusion.predict_proba(many), truth) < log_loss(raw, truth)
    assert_probabilities(fusion.fit_.out_of_fold, 20, 5)
    assert fusion.fit_.expected.cordial == pytest.approx(log_loss(fusion.fit_.out_of_fold, LABELS))
    low, high = fusion.predict_interval(gappy)
    mean = fusion.predict_mean(gappy)
    assert (0 <= low).all() and (low <= mean).all() and (mean <= high).all() and (high <= 4).all()
    assert all(name in fusion.summary() for name in fusion.weights_)


def test_the_average_trusts_what_agrees_or_predicts_as_well():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 60)
    told = np.eye(5)[truth] * 4 + rng.normal(size=(60, 5))
    logits = np.stack([told, told + rng.normal(size=told.shape), told[rng.permutation(60)]], 1)
    logits -= logits.mean(axis=2, keepdims=True)
    good, fair, none = (np.exp(t * logits[:, r]) for r, t in ((0, 1.0), (1, 0.8), (2, 0.0)))
    held_out = np.stack([p / p.sum(axis=1, keepdims=True) for p in (good, fair, none)], -1)
    present = np.ones((60, 3), bool)
    trust = trust_readers(Labelled(logits, truth), held_out, present)
    assert trust[0] == 1 and trust[1] > 0.9 and trust[2] < 0.01
    few = trust_readers(Labelled(logits[:7], truth[:7]), held_out[:7], present[:7])
    np.testing.assert_array_equal(few, np.ones(3))
    gaps = np.where(rng.random((60, 3, 1)) < 0.2, np.nan, logits)
    gaps[:, 0] = logits[:, 0]
    same = np.nanmean(gaps / np.arange(1, 4)[None, :, None], axis=1) * 2
    np.testing.assert_allclose(pool(gaps, np.arange(1.0, 4), np.ones(3)), same)


def test_the_average_distrusts_a_reader_whose_scale_is_reversed():
    """Its ratings have the opposite order, more surely so with more labels."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 60)
    means = truth + 0.5 * rng.normal(size=60), truth + 0.7 * rng.normal(size=60)
    means += (4 - truth + 0.9 * rng.normal(size=60),)
    logits = -1.2 * (np.arange(5) - np.stack(means, axis=1)[:, :, None]) ** 2
    for n in (30, 60):
        fusion = cp.Fusion(range(5), inference="mode").fit(logits[:n], truth[:n])
        # .004 and .001.
        assert fusion.fit_.trust[2] < 0.02 and (fusion.fit_.trust[:2] == 1).all()


def mix(fit, logits):
    return predict(fit, without_labels(logits - logits.mean(axis=1, keepdims=True), {}))[0]


def test_it_is_the_mixture_of_its_members(fusion):
    """A missing reading is left out of its text alone, whatever the other readers weigh."""
    logits = THREE_TEST.copy()
    logits[3, 0] = np.nan
    read = np.nan_to_num(logits)
    parts = [mix(fusion.fit_.fits[name], read[:, r]) for r, name in enumerate(NAMES)]
    pooled = pool(logits, fusion.fit_.spreads, fusion.fit_.trust)
    parts.append(mix(fusion.fit_.members["average reading"], pooled))
    parts.append(fusion.fit_.members["joint channel"].predict(logits, {})[0])
    weights = np.tile(list(fusion.weights_.values()), (40, 1))
    weights[3, 0] = 0
    expected = np.einsum("nm,mnk->nk", weights / weights.sum(axis=1, keepdims=True), parts)
    np.testing.assert_allclose(fusion.predict_proba(logits), expected, rtol=0, atol=1e-6)
    found = cp.Fusion(inference="mode").fit(THREE[:, :1], LABELS)
    assert found.weights_ == found.shares_ == {"reader 0": 1.0}
    alone = found.fit_.fits[found.best_reader_]
    np.testing.assert_allclose(
        found.predict_proba(THREE_TEST[:, :1]), mix(alone, THREE_TEST[:, 0]), atol=1e-12
    )
    assert found.fit_.expected[::2] == pytest.approx(alone.expected[::2])


def test_the_order_of_readers_changes_only_random_numbers(monkeypatch):
    """With the same folds, each reader keeps its stack."""
    monkeypatch.setattr("cordial_ppl.stack.fit.deal_folds", lambda texts, _: deal_folds(texts, 0))
    first = LogitFusion(readers=NAMES).fit(THREE, LABELS)
    other = LogitFusion(readers=NAMES[::-1]).fit(THREE[:, ::-1], LABELS)
    for name in NAMES:
        assert other.weights_[name] == pytest.approx(first.weights_[name], abs=1e-6)
    found = other.predict_proba(THREE_TEST[:, ::-1])
    np.testing.assert_allclose(found, first.predict_proba(THREE_TEST), rtol=0, atol=1e-6)


def test_a_saved_fusion_predicts_the_same(fusion, tmp_path):
    fusion.save(tmp_path / "f.cordial")
    found = cp.load(tmp_path / "f.cordial")
    assert isinstance(found, cp.Fusion) and found.readers_ == NAMES
    assert found.shares_ == fusion.shares_
    expected = fusion.predict_proba(THREE_TEST)
    np.testing.assert_array_equal(found.predict_proba(THREE_TEST), expected)
    assert found.summary() == fusion.summary()
    assert fusion.summary().endswith(str(answers.verdict(fusion.fit_)))
    with pytest.raises(cp.InputError, match="only a Fusion can be saved"):
        LogitFusion().save(tmp_path / "h.cordial")


def test_a_mapping_names_the_readers(fusion, gappy):
    by_name = {name: gappy[:, r] for r, name in enumerate(NAMES)}
    found = cp.Fusion(STARS, inference="mode").fit(by_name, [STARS[z] for z in LABELS])
    assert found.readers_ == NAMES and found.weights_ == fusion.weights_
    other = {name: THREE_TEST[:, r] for r, name in reversed(list(enumerate(NAMES)))}
    expected = fusion.predict_proba(THREE_TEST)
    np.testing.assert_array_equal(found.predict_proba(other), expected)
    alone = np.where(np.arange(3)[:, None] == 0, THREE_TEST, np.nan)
    found = fusion.predict_proba({"plain": THREE_TEST[:, 0]})
    np.testing.assert_array_equal(found, fusion.predict_proba(alone))


def frames(logits, **columns):
    """A data frame of each reader; its columns are "logit_1" ... if they are not given."""
    index, usual = pandas.RangeIndex(100, 100 + len(logits)), [f"logit_{k}" for k in range(1, 6)]
    return {
        name: pandas.DataFrame(logits[:, r], index, columns.get(name, usual))
        for r, name in enumerate(NAMES)
    }


def test_data_frames_clones_and_folds():
    fusion = LogitFusion(readers=list(NAMES), seed=3).fit(THREE, LABELS)
    again: Any = clone(fusion)
    assert again.get_params() == fusion.get_params() and not hasattr(again, "fits_")
    assert repr(again) == "LogitFusion(readers=['plain', 'lower', 'noise'], seed=3)"
    twice, labels = np.tile(THREE, (2, 1, 1)), np.tile(LABELS, 2)
    halves = cross_val_predict(again, twice, labels, cv=KFold(2))
    np.testing.assert_array_equal(halves, np.tile(fusion.predict(THREE), 2))
    named = frames(THREE_TEST)
    expected = pandas.DataFrame(fusion.predict_proba(THREE_TEST), named["plain"].index)
    pandas.testing.assert_frame_equal(fusion.predict_proba(named), expected)
    assert fusion.predict_interval(named)[0].name == "mean_low" and fusion.n_features_in_ == 5
    # One data frame among arrays has the index too.
    mixed: dict[str, Any] = {**frames(THREE), "plain": THREE[:, 0]}
    series = pandas.Series(LABELS, mixed["noise"].index).iloc[::-1]
    found = LogitFusion(readers=list(NAMES), seed=3).fit(mixed, series)
    np.testing.assert_array_equal(found.predict_proba(THREE_TEST), fusion.predict_proba(THREE_TEST))


@pytest.mark.parametrize(
    ("options", "reader", "order"), [(STARS, "noise", "21345"), (None, "lower", "54321")]
)
def test_columns_of_readers_have_one_order(options, reader, order):
    wrong = {reader: [f"logit_{k}" for k in order]}
    message = f"reader '{reader}'.* logit_1, logit_2, logit_3, logit_4, logit_5"
    labels = LABELS if options is None else [options[z] for z in LABELS]
    with pytest.raises(cp.InputError, match=message):
        LogitFusion(options).fit(frames(THREE, **wrong), labels)
    fusion = LogitFusion(options).fit(frames(THREE), labels)
    with pytest.raises(cp.InputError, match=message):
        fusion.predict({reader: frames(THREE_TEST, **wrong)[reader]})


def test_few_labels_and_none_in_common_leave_the_weights_of_the_prior():
    found = LogitFusion().fit(THREE[:5], range(5))
    expected = {"reader 0": 1, "reader 1": 1, "reader 2": 1, "average reading": 12}
    assert found.weights_ == pytest.approx({name: n / 15 for name, n in expected.items()})
    flat = dict.fromkeys(found.weights_, 1.0)
    alike = LogitFusion(weight_counts=flat).fit(THREE[:5], range(5))
    assert set(alike.weights_.values()) == {0.25}
    assert found.fit_.out_of_fold is None and np.isnan(found.fit_.expected.cordial)
    some = THREE.copy()
    some[5:, 0] = np.nan
    assert "excluding reader 0" in LogitFusion().fit(some, LABELS).summary()
    apart = THREE[:, :2].copy()
    apart[:10, 0] = np.nan
    apart[10:, 1] = np.nan
    with pytest.warns(cp.CordialWarning, match="'a' and 'b' have no labelled texts in common"):
        found = LogitFusion(readers=("a", "b"), average=False).fit(apart, LABELS)
    assert min(found.weights_.values()) > 0


def test_a_text_that_nobody_has_read_is_predicted_by_the_labels_of_such(tmp_path):
    logits, gone = THREE.copy(), np.arange(20) % 4 == 0
    logits[gone] = np.nan
    fusion = LogitFusion().fit(logits, LABELS)
    alone = LogitFusion().fit(logits[~gone], LABELS[~gone])
    probs = fusion.predict_proba(logits)
    np.testing.assert_array_equal(probs[~gone], alone.predict_proba(logits[~gone]))
    histogram = (np.bincount(LABELS[~gone], minlength=5) + 1) / 20
    expected = (np.bincount(LABELS[gone], minlength=5) + 2 * histogram) / 7
    np.testing.assert_allclose(probs[gone], np.tile(expected, (5, 1)))
    full = cp.Fusion(inference="mode").fit(logits, LABELS)
    full.save(tmp_path / "f.cordial")
    found = cp.load(tmp_path / "f.cordial")
    np.testing.assert_array_equal(found.predict_proba(logits), full.predict_proba(logits))


def test_priors_reach_the_joint_channel():
    given = {"offset": (2.0, 1e-3), "temperature": (1.0, 1e-3)}
    fusion = cp.Fusion(prior=given, channels=["scalar"], inference="mode").fit(THREE, LABELS)
    posteriors: Any = fusion.fit_.fits["reader 0"].posteriors
    found: Any = fusion.fit_.members["joint channel"]
    assert "scalar" in posteriors
    assert posteriors["mixture"].mean()["offset"] == pytest.approx(2.0, abs=0.01)
    assert found.mean()["offset"] == pytest.approx(2.0, abs=0.01)
    np.testing.assert_allclose(found.mean()["temperature"], np.exp(1.0), rtol=0.01)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::cordial_ppl.CordialWarning")
def test_the_papers_fusion_is_its_literal_parts():
    """Stacks of the literal method, a second with the same counts, and the joint channel."""
    fusion: Any = clone(cp.Fusion.paper(readers=NAMES, seed=4))
    fusion.fit(THREE, LABELS)
    *seeds, own = np.random.SeedSequence(4).generate_state(4).tolist()
    stacks = [cp.Cordial.paper(seed=s).fit(THREE[:, r], LABELS) for r, s in enumerate(seeds)]
    folds = np.random.default_rng(4).permutation(np.arange(20) % 4)
    case = Case(Labelled(THREE, LABELS), folds, (own, 0))
    target = build_target(cp.channels.Channel("joint", location_readers), 5, (), 3)
    joint: Any = fit_cases(target, [case], method="laplace")[0]
    parts = [*(stack.fit_.out_of_fold for stack in stacks), joint.held_out]
    likely = np.maximum([part[np.arange(20), LABELS] for part in parts], 1e-4).T
    weights = np.full(4, 1 / 4)
    for _ in range(20_000):
        shares = weights * likely / (likely @ weights)[:, None]
        weights = (shares.sum(axis=0) + 1) / (20 + 4)
    assert tuple(fusion.weights_) == (*NAMES, "joint channel")
    np.testing.assert_allclose(list(fusion.weights_.values()), weights, rtol=0, atol=1e-4)
    parts = [stack.predict_proba(THREE_TEST[:, r]) for r, stack in enumerate(stacks)]
    parts.append(joint.fitted.predict_proba(THREE_TEST))
    expected = np.einsum("m,mnk->nk", list(fusion.weights_.values()), parts)
    np.testing.assert_allclose(fusion.predict_proba(THREE_TEST), expected, rtol=0, atol=1e-6)
    few = cp.Fusion.paper(weights="flat").fit(THREE[:5], LABELS[:5])
    assert set(few.weights_.values()) == {0.25} and few.settings.weight_counts["odds"] == 0
    assert fusion.settings.weight_counts["odds"] == 1


def test_the_joint_channel_can_be_left_out_of_a_fit():
    """The stacks and folds are the same, so nothing has to be fitted again."""

    class Apart(cp.Fusion):
        def _members(self, readers):
            return readers

    settings = {"readers": NAMES, "inference": "mode", "weight_counts": 1.0, "average": False}
    whole, alone = (kind(**settings).fit(THREE, LABELS) for kind in (cp.Fusion, Apart))
    found = leave_out_joint(whole.fit_)
    assert found.weights == pytest.approx(alone.weights_, abs=1e-9)
    probs, _ = predict(found, enter(found, THREE_TEST))
    np.testing.assert_allclose(probs, alone.predict_proba(THREE_TEST), rtol=0, atol=1e-9)
    few = leave_out_joint(cp.Fusion(**settings).fit(THREE[:5], LABELS[:5]).fit_)
    assert set(few.weights.values()) == {1 / 3}


@pytest.mark.nightly
def test_arviz_sees_every_member(fusion):
    tree: Any = fusion.to_datatree()
    assert set(tree.children) == set(fusion.fit_.members)
    stack = set(tree["plain"].children) - {"posterior", "prior"}
    assert stack == set(fusion.stacks_["plain"].posteriors_)
    names = tree["joint channel"]["posterior"]["temperature"].coords["reader"].values
    assert tuple(names) == NAMES
    assert tree["lower"]["mixture"]["log_likelihood"].sizes["text"] == 18


@pytest.mark.parametrize(
    ("settings", "logits", "message"),
    [
        ({}, THREE[:, 0], r"\[n, R, K\]; found \[20, 5\]"),
        ({}, [["a"]], "must be numbers"),
        ({}, np.full((20, 3, 5), np.nan), "no text has a reading"),
        ({}, np.where(np.arange(5) == 2, np.nan, THREE), "nan in row 0 of 'plain', column 2"),
        ({}, THREE[:, :2], "3 judges .plain, lower, noise.; found 2"),
        ({}, {"plain": THREE[:, 0], "other": THREE[:, 1]}, "got plain, other"),
        (
            {},
            {"plain": THREE[:, 0], "lower": THREE[1:, 1]},
            "the same shape .* 'plain', .* 'lower'",
        ),
        ({}, {"plain": 1, "lower": 2, "noise": 3}, r"\[n, K\]; got \[\] of 'plain'"),
        ({}, {}, "plain, lower, noise; got none"),
        ({"readers": ("a", "a", "b")}, THREE, "Rename 'a'"),
        ({"readers": ("a", "b", "joint channel")}, THREE, "Rename 'joint channel'"),
        ({"readers": "abc"}, THREE, "readers must be a list"),
        ({"weight_counts": {"c": 1.0}}, THREE, "'c'"),
        ({"prior": {"magic": (0.0, 1.0)}}, THREE, "magic"),
    ],
)
def test_what_is_refused(settings, logits, message):
    with pytest.raises(cp.InputError, match=message):
        cp.Fusion(**{"readers": NAMES, **settings}).fit(logits, LABELS)


def test_nothing_before_the_fit_and_nothing_of_another_shape(fusion, tmp_path):
    new = cp.Fusion()
    for ask in (new.summary, lambda: new.predict_proba(THREE), lambda: new.save(tmp_path / "h")):
        with pytest.raises(cp.NotFittedError, match="Fusion"):
            ask()
    with pytest.raises(cp.InputError, match="5 columns; found 4"):
        fusion.predict_proba(THREE_TEST[:, :, :4])


def test_a_weight_is_so_many_labels_for_a_fusion(tmp_path):
    times = np.random.default_rng(0).integers(1, 3, 20)
    rows = np.repeat(np.arange(20), times)
    settings = {"readers": NAMES, "inference": "mode"}
    weighed = cp.Fusion(**settings).fit(THREE, LABELS, sample_weight=times, texts=np.arange(20))
    copies = cp.Fusion(**settings).fit(
        THREE[rows], LABELS[rows], sample_weight=np.ones(len(rows)), texts=rows
    )
    expected = copies.predict_proba(THREE_TEST)
    np.testing.assert_allclose(weighed.predict_proba(THREE_TEST), expected, rtol=0, atol=0.02)
    assert weighed.fit_.expected.labels == copies.fit_.expected.labels == 20
    copies.save(tmp_path / "f.cordial")
    found = cp.load(tmp_path / "f.cordial")
    np.testing.assert_array_equal(found.fit_.labelled.ranks, rows)
    assert answers.verdict(found.fit_) == answers.verdict(copies.fit_)


def test_counts_of_a_corpus_are_kept_by_calibrators_of_one_reader_alone():
    logits, labels = np.random.default_rng(0).normal(size=(12, 3)), np.arange(6) % 3
    single = cp.TemperatureScaling().fit(logits[:6], labels, corpus=logits)
    assert single.fit_.sketch[1].sum() == 12 and single.weights_ == {"temperature": 1.0}
    with pytest.raises(cp.InputError, match="corpus"):
        cp.Fusion().fit(logits[:6, None], labels, corpus=logits[:, None])


def test_a_misspelt_covariate_is_named():
    channel = cp.channels.Channel("lengthy", lengthy)
    given = {"length": np.linspace(-1, 1, 20), "lenght": np.ones(20)}
    with pytest.warns(cp.CordialWarning, match="ignored 1 covariate: 'lenght'.* only 'length'"):
        fitted = cp.Fusion(channels=[channel], inference="mode").fit(THREE, LABELS, given)
    assert fitted.fit_.covariates == ("length",)


def test_a_text_with_many_labels_spreads_readings_as_one_with_few():
    several = np.array([[label, label if row < 3 else -1] for row, label in enumerate(LABELS)])
    once, twice = (LogitFusion(seed=3).fit(THREE, labels).fit_ for labels in (LABELS, several))
    np.testing.assert_array_equal(once.spreads, twice.spreads)
